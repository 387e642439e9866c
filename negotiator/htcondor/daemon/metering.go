package daemon

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/meter"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// meter tells the meter of a cycle, and of the schedule as it is then.
func (c *cycles) meter(r decided, last *outlook.Outlook) {
	d, now := c.d, c.now
	phases := []meter.Phase{
		{Name: meter.PhaseFetch, Took: now.Fetch},
		{Name: meter.PhaseMatch, Took: now.Match},
		{Name: meter.PhasePlan, Took: now.Plan},
		{Name: meter.PhaseAct, Took: now.Act},
		{Name: meter.PhasePublish, Took: now.Publish},
		{Name: meter.PhaseRest, Took: now.Rest},
	}
	told := meter.Cycle{
		Report: r.Report, Observes: d.o.Observe, Phases: phases, Groups: d.quotas, Starts: d.lastStarts,
	}
	if d.collected.Load() { // else nobody would let the copy go
		told.State = last.State
	}
	d.meter.Cycle(told)
}

// lastStarts returns the starts that the last play has found.
func (d *Daemon) lastStarts() func(backfill.JobID) (backfill.Time, bool) {
	starts := d.foreseen.Load().starts.all
	return func(id backfill.JobID) (backfill.Time, bool) {
		begins, known := starts[id]
		return begins.at, known && begins.at < backfill.Forever
	}
}

// quotas returns the quotas of accounting groups.
func (d *Daemon) quotas() (groups []meter.Group) {
	for _, q := range d.o.Accountant.Quotas() {
		groups = append(groups, meter.Group{Name: q.Group, Quota: q.Weight})
	}
	return groups
}
