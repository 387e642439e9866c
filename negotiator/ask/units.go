package ask

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// readSlots reads further slots, such as cpus=64,memory=256GiB,count=4.
func readSlots(text string) (s whatif.Slots, err error) {
	s = whatif.Slots{Count: 1, Amounts: map[string]int64{}}
	var said []string
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok:
			err = fmt.Errorf("%q: must be such as cpus=64", part)
		case slices.Contains(said, name):
			err = fmt.Errorf("%s: may be said once", name)
		case name == "like":
			s.Like = value
		case name == "count":
			s.Count, err = strconv.Atoi(value)
		default:
			s.Amounts[name], err = readAmount(name, value)
		}
		if err != nil {
			return s, fmt.Errorf("--with %s: %w", text, err)
		}
		said = append(said, name)
	}
	return s, nil
}

// amount is a number with a unit, if any.
var amountText = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])(?:i?B)?)?$`)

// readAmount reads an amount of a resource: memory in MiB and disk in KiB, unless a unit says otherwise.
// A part of one of these counts as a whole; of all else there are no parts.
func readAmount(resource, text string) (int64, error) {
	parts := amountText.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%s %q: must be a number, for memory and disk with a unit such as 64GiB", resource, text)
	}
	base := map[string]int{"memory": 1, "disk": 0}
	shift, sized := base[resource]
	n, err := strconv.ParseFloat(parts[1], 64)
	unit := strings.ToUpper(parts[2])
	switch {
	case err != nil:
		return 0, err
	case unit != "" && !sized:
		return 0, fmt.Errorf("%s %q: must be a number without a unit", resource, text)
	case n != math.Trunc(n) && !sized:
		return 0, fmt.Errorf("%s %q: must be a whole number", resource, text)
	case unit != "":
		n *= math.Pow(1024, float64(strings.Index("KMGT", unit)-shift))
	}
	if n = math.Ceil(n); n > backfill.MaxInputAmount {
		return 0, fmt.Errorf("%s %q: must be at most %d", resource, text, int64(backfill.MaxInputAmount))
	}
	return int64(n), nil
}

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
		return int64(now) + length, err
	}
	if isClock(text) && clock.Dated {
		return clock.Next(text, int64(now))
	}
	at, err := clock.Read(text)
	if err != nil {
		err = fmt.Errorf("%w; or such as +2h", err)
	}
	return at, err
}
