package claims

import (
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Most starts that fail do so in their first second: the schedd ignores the match, the startd refuses
// the claim, or the job runs and comes back at once. Nobody tells the negotiator. It learns the last
// from the job's count of shadows, and the others from the startd's private ad: a claim that was
// handed over, that the ad neither offers nor lists among those of its dynamic slots, is over for
// good; one that it still offers after a while was never asked for.

// failure is how a start has failed before its flight, the job under way, was overdue.
type failure uint8

const (
	none     failure = iota
	refused          // the claim is over, and the job was idle afterwards
	cameBack         // the job has run, and is idle again
	ignored          // the startd was not asked for the claim
)

// looksAfter is when looks at the pool follow the last match that was handed over, at the latest.
// The first two come in any case, so that a job that ends at once is seen soon; the others come
// while jobs are on their way.
var looksAfter = []time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}

// unasked is how long after a match was handed over its startd is not asked yet: startds advertise
// what became of a claim within a second.
const unasked = time.Second

// unheeded is how long after a schedd has told its queue, some time after a match, it must have asked
// the startd for the claim: as it answers, it has read the match. Schedds do so within a second.
const unheeded = 2 * time.Second

// forgiven is how long after a failed start of a job another one may be found to have failed before
// it is overdue: a job that fails again and again is tried as often as the patience allows.
const forgiven = 5 * time.Minute

// judgeEarly finds the flights, the jobs under way, that have failed before they are overdue.
func (c *State) judgeEarly() {
	for _, f := range c.flights {
		f.failed = none
		if f.over != nil {
			c.judgeTakeover(f)
			continue
		}
		s := c.belief.Schedd(f.job.Key.Schedd)
		if s == nil || !isTold(f) || f.job.Group.Runs() {
			continue
		}
		if f.heard.Before(f.moved) && s.Since.Sub(f.moved) >= unasked {
			f.heard = c.belief.Snapshot().Ended
		}
		switch early := c.mayFailEarly(f); {
		case early && f.job.Group.Shadows > f.shadows:
			f.failed = cameBack
		case early && !f.gone.IsZero() && !s.Since.Before(f.gone):
			f.failed = refused
		case f.gone.IsZero() && !f.unused.IsZero() && !s.Since.Before(f.unused) && f.job.Group.Shadows == f.shadows:
			f.failed = ignored
		}
	}
}

// isTold tells whether the schedd of a flight, a job under way, has been told all. Of a gang, a job
// of several chunks, the schedd collects slots for as long as it takes.
func isTold(f *flight) bool {
	return f.sent() && !f.telling && len(f.claims) > 0 && !f.job.Group.Spec.Parallel
}

// mayFailEarly tells whether a flight, a job under way, may be given up before it is overdue. It
// may not if the job has failed a short time ago, or starts fail on its slot: such failures must
// take time.
func (c *State) mayFailEarly(f *flight) bool {
	_, before := c.failures[f.job.Key]
	for _, at := range f.job.Places {
		for who, s := range c.suspects[at.Slot] {
			before = before || who.is(f.job) && s.failures > 1
		}
	}
	return isTold(f) && !before
}

// doubtful returns the flights, the jobs under way, whose startds are to be asked whether their
// claims are over: the last look saw the jobs idle, some time after they were handed over.
func (c *State) doubtful() []*flight {
	if c.s.Observe {
		return nil
	}
	var all []*flight
	for _, f := range c.flights {
		s := c.belief.Schedd(f.job.Key.Schedd)
		if s != nil && f.over == nil && f.gone.IsZero() && f.unused.IsZero() && s.Since.Sub(f.moved) >= unasked &&
			!f.job.Group.Runs() && !c.overdue(f) && isTold(f) {
			all = append(all, f)
		}
	}
	return all
}

// InDoubt tells whether there are starts of which [Doubt.Over] or [Doubt.Unused] may be told.
func (c *State) InDoubt() bool { return len(c.doubtful()) > 0 }

// Doubt is a start whose claims may be over.
type Doubt struct {
	Places []track.Place
	Claims []string // secrets

	state  *State
	flight *flight
}

// Doubts lists the starts that may have failed: whether their claims are over, their startds know.
func (c *State) Doubts() (all []Doubt) {
	for _, f := range c.doubtful() {
		all = append(all, Doubt{f.job.Places, f.claims, c, f})
	}
	return all
}

// Over notes that all claims of a start are over, as a startd said that was asked at a time. The
// next look at the pool tells whether the start has failed, if the result is true.
func (d Doubt) Over(asked time.Time) (look bool) {
	d.flight.gone = asked
	return d.state.mayFailEarly(d.flight)
}

// Unused notes that the startd still offered all claims of a start when it was asked. If the result
// is true, the schedd has had time enough to ask for them, and the next look at the pool tells
// whether the start has failed.
func (d Doubt) Unused(asked time.Time) (look bool) {
	if f := d.flight; f.heard.Before(f.moved) || asked.Sub(f.heard) < unheeded {
		return false
	}
	d.flight.unused = asked
	return true
}

// forgetFailures forgets the failed starts of long ago, and those of jobs that are gone.
func (c *State) forgetFailures() {
	began := c.belief.Snapshot().Began
	for key, at := range c.failures {
		if began.Sub(at) > forgiven || c.belief.JobOf(key) == nil {
			delete(c.failures, key)
		}
	}
}
