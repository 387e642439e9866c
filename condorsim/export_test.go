package condorsim

import (
	"context"

	"github.com/condor-backfill/condor-backfill/negotiator"
)

// RunOn is Run on a pool of the test's own.
func RunOn(ctx context.Context, w *Workload, c negotiator.Config, pool negotiator.Pool, sinks ...negotiator.Sink,
) (*Result, error) {
	return run(ctx, w, c, pool, sinks...)
}

// Audited returns the audit of a workload as a sink, for reports that a test makes.
func Audited(w *Workload) (sink negotiator.Sink, closeBooks func() error) {
	outcomes := make([]Outcome, len(w.Jobs))
	r := &Result{Workload: w, Outcomes: outcomes}
	books := newAudit(w, outcomes, negotiator.DefaultEstimate, 0)
	return both{books, r}, books.close
}

type both [2]negotiator.Sink

func (b both) Cycle(r *negotiator.Report) error {
	if err := b[0].Cycle(r); err != nil {
		return err
	}
	return b[1].Cycle(r)
}

// Ends returns how many ends of runs the pool knows, also of those that came to nothing.
func (p *SimulatedPool) Ends() int { return len(p.ends) + len(p.over) }
