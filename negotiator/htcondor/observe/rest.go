package observe

import (
	"errors"
	"os"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// brokeredPause is how long a schedd is left alone that was never reached because it is behind a
// broker (CCB): another try would only delay each look.
const brokeredPause = 5 * time.Minute

// A schedd whose answer failed after longer than a look waits is left alone for restAfterFailure
// times as long as that took, but for maxRest at most: an answer that does not end would take a
// processor otherwise. The silence at its end does not count, since waiting takes nothing: a schedd
// that hung for a while is read as soon as it answers.
const (
	restAfterFailure = 3
	maxRest          = 5 * time.Minute
)

// answer waits for a schedd's answer until the channel is closed; answered is false if none has
// come by then. A schedd that once was too late is no longer waited for: its answer is only taken
// if it is there. That changes when an answer has taken it less than hold.
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
			s.Late, s.lags = true, true
			return r, false
		}
	}
	s.Late, s.lags = false, s.lags && r.took >= hold
	return r, true
}

// accept notes whether a schedd answered, and tells whether the answer is of use: no error, and of
// the jobs that are asked for now. It may lack attributes that are asked for since, as does what it
// replaces.
func (o *Observer) accept(s *schedd, r reading) bool {
	switch {
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
	busy := r.took
	if errors.Is(r.err, os.ErrDeadlineExceeded) {
		busy -= o.s.Security.Silence()
	}
	if errors.Is(r.err, cedar.ErrBrokered) && s.Since.IsZero() {
		s.asleep = o.now().Add(brokeredPause)
	} else if r.err != nil && busy > o.s.Hold {
		s.asleep = o.now().Add(min(restAfterFailure*busy, maxRest))
	}
	return r.err == nil && r.jobs == o.wantedJobs()
}

