package ask

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// readSpan reads a length of time: seconds, or such as 1h30m, or 2d.
func readSpan(text string) (int64, error) {
	wrong := fmt.Errorf("%q: must be a length of time above 0, such as 90m, 2h or 3600", text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1 || n > backfill.MaxTime {
			return 0, wrong
		}
		return n, nil
	}
	days := int64(0)
	if before, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseInt(before, 10, 32)
		if err != nil || n < 0 {
			return 0, wrong
		}
		days, text = n*24*60*60, cmp.Or(rest, "0s")
	}
	length, err := time.ParseDuration(text)
	if err != nil || length < 0 || days == 0 && length < time.Second {
		return 0, wrong
	}
	return days + int64(length/time.Second), nil
}

// readInstant reads an instant: "" is now, +2h is from now, and 18:00 the next time that the clock
// shows it, besides what the clock reads.
func readInstant(text string, now backfill.Time, clock instant.Clock) (int64, error) {
	if text == "" {
		return int64(now), nil
	}
	if later, ok := strings.CutPrefix(text, "+"); ok {
		length, err := readSpan(later)
		if err == nil && length > furthest {
			err = errors.New("must be within ten years from now")
		}
		return int64(now) + length, err
	}
	if isClock(text) && clock.Dated {
		return clock.Next(text, int64(now))
	}
	at, err := clock.Read(text)
	if err != nil {
		return 0, fmt.Errorf("%w; or such as +2h", err)
	}
	if at-max(int64(now), clock.Last) > furthest {
		return 0, fmt.Errorf("was read as %s: must be within ten years from now", clock.Text(at))
	}
	return at, nil
}

// furthest is how far ahead of now, or of a trace's end, instants can be that are asked about.
const furthest = 10 * 366 * 24 * 60 * 60
