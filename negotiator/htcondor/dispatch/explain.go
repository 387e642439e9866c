package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
)

// Explain tells schedds why jobs wait, see [claims.State.Reasons]. Users see it in condor_q
// -better-analyze as the reason for the last match failure. All schedds are told at once. What a
// slow schedd could not be told within Hold is left out, and it is told nothing for a while. The
// error is that of ctx.
func (d *Dispatcher) Explain(ctx context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error {
	now := d.now()
	mute := func(schedd string) bool { return now.Before(d.line(schedd).mute) }
	d.tell(ctx, now, d.claims.Reasons(now, ids, why, mute))
	return ctx.Err()
}

// tell tells all schedds the reasons, within Hold.
func (d *Dispatcher) tell(ctx context.Context, now time.Time, bySchedd map[string]map[string][]claims.Reason) {
	wait, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	var all sync.WaitGroup
	names := slices.Sorted(maps.Keys(bySchedd))
	type outcome struct {
		conversation
		told []claims.Reason
		err  error
	}
	outcomes := make([]outcome, len(names))
	for i, name := range names {
		o := &outcomes[i]
		o.conversation = d.conversation(name)
		all.Go(func() { o.told, o.err = o.reject(wait, bySchedd[name]) })
	}
	all.Wait()
	for i, o := range outcomes {
		d.rejected += len(o.told)
		for _, r := range o.told {
			d.s.Notes.rejected(r, o.with.Address)
		}
		if o.err != nil {
			d.line(names[i]).mute = now.Add(claims.TellEvery)
			d.log.Warn("a schedd could not be told why its jobs wait", "schedd", names[i], "error", o.err)
		}
	}
}
