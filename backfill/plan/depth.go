package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Enter takes all events of a cycle for a policy that keeps no [Plan]. It calls again for each job
// that was promised a start and lost its reservation in an event, and enter for each job that enters
// the plan; both are to reserve for the job. The reserved start becomes the job's guarantee. What a
// policy without guarantees had reserved before is given up, so that those jobs enter the plan with
// all others.
func Enter(c *backfill.Cycle, again, enter func(*backfill.Job)) {
	for e, more := c.Next(); more; e, more = c.Next() {
		if e.Kind == backfill.PolicyChanged {
			e.Displaced = giveUp(c, e.Displaced)
		}
		atOnce := atOnce(c, &e)
		for _, j := range e.Displaced {
			if _, promised := c.Guaranteed(j); promised {
				again(j)
			} else if atOnce {
				enter(j) // the core makes that its guarantee
			}
		}
		if e.Kind == backfill.Submitted && atOnce {
			enter(e.Job)
			promise(c, e.Job)
		}
	}
	fill(c, func(j *backfill.Job) {
		enter(j)
		promise(c, j)
	})
}

// promise makes a job's planned start its guarantee, if it has one.
func promise(c *backfill.Cycle, j *backfill.Job) {
	if start, _, ok := c.Reservation(j); ok {
		c.Guarantee(j, start)
	}
}

// giveUp releases the reservations that come with no promise. It returns their jobs and the displaced
// ones, in order of jobs.
func giveUp(c *backfill.Cycle, displaced []*backfill.Job) []*backfill.Job {
	all := slices.Clone(displaced)
	for _, j := range c.Planned() {
		if _, promised := c.Guaranteed(j); !promised {
			c.Release(j)
			all = append(all, j)
		}
	}
	slices.SortFunc(all, backfill.Compare)
	return all
}

// atOnce reports whether the jobs that an event left without a reservation enter the plan as soon as
// it is taken: if jobs enter in the order in which events are applied, all waiting jobs are within
// the plan's depth, and no other job waits for its turn. Else they enter after the events. Jobs that
// were promised a start do not wait for that, as a promise stays.
func atOnce(c *backfill.Cycle, e *backfill.Event) bool {
	state, left := c.State(), len(e.Displaced)
	if e.Kind == backfill.Submitted {
		left++
	}
	planning := state.Planning()
	return !planning.Reorder && state.BeyondDepth() <= left &&
		(planning.Depth == 0 || state.Waiting() <= planning.Depth)
}

// fill lets jobs enter the plan until it has reached its depth.
func fill(c *backfill.Cycle, enter func(*backfill.Job)) {
	for j := range c.Beyond() {
		if !c.State().PlanHasRoom() {
			return
		}
		enter(j)
	}
}

// startBeyond starts each job beyond the depth that fits now beside what runs and all reservations,
// in the queue's order.
func (p *Plan) startBeyond() {
	if p.c.State().BeyondDepth() == 0 {
		return
	}
	for j, at := range p.c.Fitting(nil) {
		p.c.Start(j, at)
	}
}
