package plan

import "github.com/condor-backfill/condor-backfill/backfill"

// Enter takes all events of a cycle for a policy that keeps no [Plan]. It calls again for each job
// that was promised a start and lost its reservation in an event, and enter for each job that
// enters the plan; both are to reserve for the job. The reserved start becomes the job's guarantee.
func Enter(c *backfill.Cycle, again, enter func(*backfill.Job)) {
	for e, more := c.Next(); more; e, more = c.Next() {
		atOnce := atOnce(c, &e)
		for _, j := range e.Displaced {
			if _, promised := c.State().Guaranteed(j.ID); promised {
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
	fill(c, again, func(j *backfill.Job) {
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

// atOnce reports whether the jobs that an event left without a reservation enter the plan as soon
// as it is taken: if jobs enter in the order in which events are applied, all waiting jobs are
// within the plan's depth, which has no horizon, and no other job waits for its turn. Else, and when the policy takes
// over, they enter after the events: by then all is known that the round changes about them. Jobs
// that were promised a start do not wait for that, as a promise stays.
func atOnce(c *backfill.Cycle, e *backfill.Event) bool {
	state, left := c.State(), len(e.Displaced)
	if e.Kind == backfill.Submitted {
		left++
	}
	planning := state.Planning()
	return e.Kind != backfill.PolicyChanged && !planning.Reorder && planning.Horizon == 0 &&
		state.BeyondDepth() <= left && (planning.Depth == 0 || state.Waiting() <= planning.Depth)
}

// fill lets jobs enter the plan until it has reached its bounds. It calls again for one that was
// promised a start, lost its reservation in this round, and had no other start then.
func fill(c *backfill.Cycle, again, enter func(*backfill.Job)) {
	for j := range c.Fast().Entering() {
		if _, promised := c.State().Guaranteed(j.ID); promised {
			again(j)
		} else {
			enter(j)
		}
	}
}

// startBeyond starts each job beyond the depth that fits now beside what runs and all reservations,
// in the queue's order.
func (p *Plan) startBeyond() {
	if p.c.State().BeyondDepth() == 0 {
		return
	}
	for j, at := range p.c.Fast().Fitting(nil) {
		p.c.Start(j, at)
	}
}
