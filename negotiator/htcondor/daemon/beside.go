package daemon

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// fill starts jobs on slots that overlap with others, with what the plan has just left idle. It returns
// what the negotiator must be told of them in the next cycle, which follows at once.
func (c *cycles) fill(ctx context.Context) (started negotiator.Delta, err error) {
	c.d.cycle.Lock()
	defer c.d.cycle.Unlock()
	facts := c.pool.Last()
	if len(facts.Overlapping) == 0 || c.d.o.Observe {
		return started, nil
	}
	now := c.d.n.State().Now()
	started.Now = now
	filled := c.d.n.Fill(facts.Overlapping, heldOf(c.d.n.Settled().Jobs))
	for _, m := range filled {
		started.Found = append(started.Found, negotiator.Running{Job: m.Job, Placement: m.Placement, Start: now})
	}
	c.now = Cycle{
		Began: time.Now(), Slots: facts.Slots, Schedds: facts.Schedds, Submitters: facts.Submitters, Unplanned: facts.Unplanned,
	}
	return started, c.act(ctx, filled)
}

// heldOf returns the jobs that no slot of the plan can run. One that waits for a limit to be raised is none
// of them.
func heldOf(jobs []negotiator.JobCheckpoint) (held []backfill.JobID) {
	for _, j := range jobs {
		if j.Held != "" && j.Unknown == "" && !backfill.OverLimit(j.Held) {
			held = append(held, j.Job.ID)
		}
	}
	return held
}

// rousingPart says how seldom it is asked for whom machines should be woken: that takes at most such
// a part of the time, however many are said to sleep.
const rousingPart = 20

// rouse has machines woken for the jobs that wait although they could start there. A plan has no
// place for a job on a machine that sleeps, and promises nothing that rests on one.
func (c *cycles) rouse(ctx context.Context, r *decided) error {
	asleep := c.pool.Last().Asleep
	if len(asleep) == 0 {
		return nil
	}
	before := time.Now()
	if before.Before(c.rouseAt) {
		r.roused = c.roused
		return nil
	}
	r.roused = c.d.n.Rouse(asleep, heldOf(r.plan.Jobs))
	c.roused = r.roused
	took := time.Since(before)
	c.rouseAt = before.Add(rousingPart * took)
	err := c.pool.Rouse(ctx, r.roused)
	c.now.Act += time.Since(before)
	return err
}
