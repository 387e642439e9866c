package backfilltest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Promise is what some policies promise beyond what is asked of all. It is held
// against the state after each round.
type Promise func(*checker)

// PromisesOf lists what a linked-in policy promises.
func PromisesOf(policy string) []Promise {
	return map[string][]Promise{
		"fcfs":         {NoneOvertaken, HeadOnTime},
		"first-fit":    {NoneFits},
		"best-fit":     {NoneFits},
		"easy":         {NoneFits, HeadOnTime},
		"bb":           {NoneFits, HeadOnTime},
		"ibb":          {HeadOnTime},
		"conservative": {TightOnOneSlot},
		"pc":           {Tight},
		"dc":           {Filled},
		"maui":         {NoneFits, HeadOnTime}, // as it comes
	}[policy]
}

// NoneOvertaken promises that no job starts while one before it in the queue's
// order waits.
func NoneOvertaken(c *checker) {
	queue := c.queue()
	if len(queue) == 0 {
		return
	}
	for _, s := range c.decision.Started {
		i := slices.IndexFunc(c.snap.Jobs, func(j backfill.JobState) bool { return j.Job.ID == s.Job.ID })
		require.Negative(c.t, before(c.snap.Jobs[i], queue[0]), "job %d starts and job %d waits", s.Job.ID, queue[0].Job.ID)
	}
}

// NoneFits promises to conserve work: no waiting job could start now, through its
// estimate, beside what runs and what is reserved.
func NoneFits(c *checker) {
	c.noneFits(c.queue(), c.idle(true), c.snap.Now)
}

// noneFits requires that no job could start then, its own place taken out.
func (c *checker) noneFits(jobs []backfill.JobState, g *grid, start backfill.Time) {
	for _, j := range jobs {
		g.take(j, -1)
		require.False(c.t, g.fits(j.Job, start), "job %d could start at %d (now %d)", j.Job.ID, start, c.snap.Now)
		g.take(j, 1)
	}
}

// HeadOnTime promises that a job which comes to the head of the queue is planned
// for, and never starts later than it was planned to then, as long as estimates are right, nothing
// fails and the order stays: EASY's promise.
func HeadOnTime(c *checker) {
	if !c.driver.Exact {
		return
	}
	for _, s := range c.decision.Started {
		if latest, ok := c.headPlan[s.Job.ID]; ok {
			require.LessOrEqual(c.t, c.decision.Now, latest, "job %d starts later than planned", s.Job.ID)
		}
	}
	if queue := c.queue(); len(queue) > 0 {
		first := queue[0]
		require.NotNil(c.t, first.Placement, "job %d at the head of the queue has no reservation", first.Job.ID)
		if _, known := c.headPlan[first.Job.ID]; !known {
			c.headPlan[first.Job.ID] = first.Start
		}
		require.LessOrEqual(c.t, first.Start, c.headPlan[first.Job.ID], "job %d is planned for later than before", first.Job.ID)
	}
}

// Tight promises that no job is planned for later than it could start, the others
// being where they are, as long as nothing but early ends happens to the pool.
func Tight(c *checker) {
	if !c.driver.Calm && !c.driver.Exact {
		return
	}
	const ahead = 40 // seconds that are looked at
	soon := slices.DeleteFunc(c.queue(), func(j backfill.JobState) bool { return j.Start > c.snap.Now+ahead })
	g := newGrid(c.snap, ahead+longest)
	for _, j := range c.snap.Jobs {
		g.take(j, 1)
	}
	for _, j := range soon {
		for start := c.snap.Now; start < j.Start; start++ {
			c.noneFits([]backfill.JobState{j}, g, start)
		}
	}
}

// TightOnOneSlot is Tight where there is one slot. On several a job may stand in
// the way of one that is planned before it, and move off later in the same
// compression.
func TightOnOneSlot(c *checker) {
	if len(c.snap.Slots) == 1 {
		Tight(c)
	}
}

// Filled promises that after a completion, if nobody arrived since, no waiting job
// could start now, the others being where they are.
func Filled(c *checker) {
	has := func(kind backfill.EventKind) bool {
		return slices.ContainsFunc(c.round.Events, func(e backfill.Event) bool { return e.Kind == kind })
	}
	if has(backfill.Completed) && !has(backfill.Submitted) && (c.driver.Calm || c.driver.Exact) {
		NoneFits(c)
	}
}
