package rehearsal

import (
	"context"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// lookAhead plays the schedule after a cycle ahead: when and where the waiting jobs will start, if all
// jobs run for as long as they are taken to and nobody else arrives.
func lookAhead(
	ctx context.Context, twins *outlook.Twins, o *outlook.Outlook, b ahead.Bounds,
) (map[backfill.JobID]ahead.Beginning, error) {
	return twins.Starts(ctx, o, b, nil)
}

// shortly returns a function for the live view, which looks ahead after each cycle, but not far: a
// picture must not hold the next cycle up.
func shortly(ctx context.Context, twins *outlook.Twins) func(*negotiator.Report) map[backfill.JobID]ahead.Beginning {
	const rounds = 1000
	return func(r *negotiator.Report) map[backfill.JobID]ahead.Beginning {
		starts, _ := lookAhead(ctx, twins, outlook.New(r.Negotiator()), ahead.Bounds{Rounds: rounds}) // without: the planned starts
		return starts
	}
}
