package observe

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// A schedd whose answer failed after longer than a look waits is left alone for restAfterFailure
// times as long as that took, but for maxRest at most: an answer that does not end would take a
// processor otherwise. The silence at its end does not count, since waiting takes nothing: a schedd
// that hung for a while is read as soon as it answers. One that says more than there is room for is
// left alone for restAfterExcess, and twice as long each further time.
const (
	restAfterFailure = 3
	restAfterExcess  = 30 * time.Second
	maxRest          = 5 * time.Minute
)

// One that failed at once more than freeFailures times in a row is left alone for restAfterRefusal,
// and twice as long each further time, about a minute at most: a daemon that restarts is asked soon.
const (
	freeFailures     = 5
	restAfterRefusal = 4 * time.Second
	mostRefusals     = 4
)

// A queue that takes freeText bytes is read in each look. Each further textPerSecond bytes let the
// schedd rest for a second, since reading them takes a part of that of a processor.
const (
	freeText      = 16 << 20
	textPerSecond = 16 << 20
)

// mostText is how many bytes an answer may have of which so many bytes of memory may be kept: twice
// the text that fits there. What is left out has to be skipped, but not without end.
func mostText(memory int) int64 { return 2 * int64(memory) / copiesOfText }

// errNoRoom says that an answer takes too much memory, even without all that can be left out.
var errNoRoom = errors.New("that is all the room there is")

// mostDoubts bounds, as a power of two, how many quick answers in a row a schedd must give until
// looks wait for it again.
const mostDoubts = 6

// answer waits for a schedd's answer until the channel is closed; answered is false if none has
// come by then. A schedd that once was too late is no longer waited for: its answer is only taken
// if it is there. That changes when an answer has taken it less than hold; when it was late several
// times, twice as many answers in a row each time.
func (s *schedd) answer(up <-chan struct{}, hold time.Duration) (r reading, answered bool) {
	select {
	case r = <-s.reading:
	default:
		if s.lags {
			s.Late = true
			return r, false
		}
		select {
		case r = <-s.reading:
		case <-up:
			s.Late, s.lags, s.quick = true, true, 0
			s.doubts = min(s.doubts+1, mostDoubts)
			return r, false
		}
	}
	if s.quick++; r.took >= hold {
		s.quick = 0
	}
	s.Late, s.lags = false, s.lags && s.quick < 1<<max(0, s.doubts-1)
	return r, true
}

// accept notes whether a schedd answered, and tells whether the answer is of use: no error, and of
// the jobs that are asked for now. It may lack attributes that are asked for since, as does what it
// replaces.
func (o *Observer) accept(s *schedd, r reading) bool {
	switch {
	case beyond(r.err):
		o.log.Warn("a schedd says more of its queue than there is room for, and is asked less often; what is known of "+
			"its jobs stands", "schedd", s.Name, "times", s.excesses+1, "error", r.err)
	case r.err != nil && s.Failed == nil:
		o.log.Warn("a schedd does not tell its queue; what is known of its jobs stands",
			"schedd", s.Name, "error", r.err)
	case r.err == nil && s.Failed != nil:
		o.log.Info("a schedd tells its queue again", "schedd", s.Name)
	}
	if s.Failed == nil {
		s.failing = o.now()
	}
	s.Failed, s.answered = r.err, s.answered || r.err == nil
	if r.err == nil {
		s.excesses, s.failures = 0, 0
	} else if rest := o.restOf(s, r); rest > 0 {
		s.asleep = o.now().Add(rest)
		s.Failed = fmt.Errorf("%w; it is left alone for %v", r.err, rest.Round(time.Second))
	}
	s.text += r.text
	return r.err == nil && r.jobs == o.wantedJobs()
}

// restOf returns for how long a schedd is left alone whose answer failed.
func (o *Observer) restOf(s *schedd, r reading) time.Duration {
	busy := r.took
	if errors.Is(r.err, os.ErrDeadlineExceeded) {
		busy -= o.s.Security.Silence()
	}
	rest := time.Duration(0)
	if beyond(r.err) {
		rest = restAfterExcess << min(s.excesses, mostDoubts)
		s.excesses++
	}
	if s.failures++; r.took > o.s.Hold {
		s.failures = 0
	}
	if again := s.failures - freeFailures; again > 0 {
		rest = max(rest, restAfterRefusal<<min(again-1, mostRefusals))
	}
	if busy > o.s.Hold {
		rest = max(rest, restAfterFailure*busy)
	}
	return min(rest, maxRest)
}

// beyond reports whether an answer failed because it says too much.
func beyond(err error) bool { return errors.Is(err, cedar.ErrTooMuch) || errors.Is(err, errNoRoom) }

// charge has a schedd rest for what it said in this look. All that it says in one look is asked
// for: what it said first may have shown that more attributes are needed.
func (s *schedd) charge(now time.Time) {
	if long := s.text - freeText; long > 0 {
		s.rest = (time.Duration(long) * time.Second / textPerSecond).Round(time.Second)
		if until := now.Add(s.rest); until.After(s.asleep) {
			s.asleep = until
		}
	}
	s.text = 0
}
