package meter

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Sink tells a Meter of the cycles of a pool in this process, such as a simulated one. It is a
// [negotiator.Sink].
type Sink struct {
	Meter *Meter
	// State returns what [Cycle.State] says, of the cycle that has just ended: whoever makes an
	// outlook at each cycle anyway should give the function that copies its state. Nil: the Sink
	// copies the state at each cycle.
	State func(*negotiator.Report) func() *backfill.State
	// Starts is that of a [Cycle].
	Starts func() func(backfill.JobID) (backfill.Time, bool)
}

// Cycle implements [negotiator.Sink].
func (s *Sink) Cycle(r *negotiator.Report) error {
	if r.Quiet {
		return nil
	}
	c := Cycle{Report: r, Starts: s.Starts}
	if s.State != nil {
		c.State = s.State(r)
	} else {
		state := r.State.Clone()
		c.State = func() *backfill.State { return state }
	}
	s.Meter.Cycle(c)
	return nil
}
