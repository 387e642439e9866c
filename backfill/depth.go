package backfill

import (
	"fmt"
	"iter"
	"strconv"
)

// Planning says how far ahead a policy that gives guarantees plans, and which jobs it promises
// first. Other policies ignore it. The zero value plans all waiting jobs in the order of jobs.
type Planning struct {
	// Depth limits the reservations: no job enters the plan while so many waiting jobs hold one. 0
	// means no limit.
	Depth int
	// Reorder lets jobs enter the plan by the queue's order, instead of the order of jobs.
	Reorder bool
	// Horizon bounds how long the jobs in the plan could keep the whole pool busy, and by half of it
	// how long those of one user could. A job that would exceed that does not enter the plan, nor
	// does any that comes behind it, except that each user with waiting jobs holds one reservation at
	// least, as far as the depth allows. 0 means no limit.
	Horizon Time
}

// Bounded reports whether jobs may be beyond the plan.
func (p Planning) Bounded() bool { return p.Depth > 0 || p.Horizon > 0 }

// validate returns an error if a bound is negative or too large; nil changes nothing.
func (p *Planning) validate() error {
	switch {
	case p == nil:
		return nil
	case p.Depth < 0:
		return fmt.Errorf("plan depth %d: must be at least 0, which means no limit", p.Depth)
	case p.Horizon < 0 || p.Horizon > MaxTime:
		return fmt.Errorf("plan horizon %d s: must be from 0, which means no limit, to %d", p.Horizon, MaxTime)
	default:
		return nil
	}
}

// Follows returns an error if the policy would plan all its jobs in order of jobs, or none, although
// something else is asked for.
func (s PolicySpec) Follows(p Planning) error {
	switch {
	case p == Planning{}:
		return nil
	case !s.Guarantees:
		return fmt.Errorf("policy %s gives no guarantees, so it has no plan to bound or to reorder", s.Name)
	case !s.PlanDepth:
		return fmt.Errorf("policy %s knows of no depth of its plan: it plans all waiting jobs as they arrive", s.Name)
	default:
		return nil
	}
}

// Planning returns how far the active policy plans, if it gives guarantees.
func (v *View) Planning() Planning { return v.planning }

// planHasRoom reports whether a job may enter the plan without exceeding its depth.
func (v *View) planHasRoom() bool { return v.planning.Depth == 0 || v.planned.Len() < v.planning.Depth }

// BeyondDepth returns how many waiting jobs have no reservation, under a policy that gives
// guarantees: those beyond the depth or the horizon of its plan. Under other policies it is 0.
func (v *View) BeyondDepth() int { return v.beyond.Len() }

// Beyond iterates over the waiting jobs without a reservation, in the order in which they enter the
// plan, if the policy in charge gives guarantees; else over none. The loop may start, hold or
// reserve for the job that it is given, but no other.
func (f Fast) Beyond() iter.Seq[*Job] {
	c := f.c
	return func(yield func(*Job) bool) {
		var few [32]queued
		var behind *queued
		for {
			n := 0
			c.s.beyond.tree.ascend(behind, func(q queued) bool {
				few[n] = q
				n++
				return n < len(few)
			})
			for _, q := range few[:n] {
				if !yield(q.job) {
					return
				}
			}
			if n == 0 {
				return
			}
			at := few[n-1]
			behind = &at
		}
	}
}

// unplanned reports whether the record is that of a waiting job without a reservation.
func (r *record) unplanned() bool { return r.in(waiting) && r.placement == nil }

// entering returns the place of a job in the order in which jobs enter the plan.
func (s *State) entering(r *record) queued {
	if s.planning.Reorder {
		return queued{r.key, r.job}
	}
	return queued{0, r.job}
}

// followBeyond updates the index of the jobs beyond the depth for a changed record.
func (s *State) followBeyond(old, now *record) {
	if !s.guarantees {
		return
	}
	if old.unplanned() {
		s.beyond.Delete(s.entering(old))
	}
	if now.unplanned() {
		s.beyond.Set(s.entering(now))
	}
	s.followShares(old, now)
}

// listBeyond lists the jobs beyond the depth anew, after the policy or the planning has changed.
func (s *State) listBeyond() {
	s.beyond.tree = jobTree{}
	if !s.guarantees {
		return
	}
	s.queue.ascend(nil, func(q queued) bool {
		if r := s.jobs.Find(q.job.ID); r.unplanned() {
			s.beyond.Set(s.entering(r))
		}
		return true
	})
}

// setPlanning changes how far the policy plans, for the open cycle.
func (c *Cycle) setPlanning(p Planning) {
	old := c.s.planning
	set := func(p Planning) {
		again := p.Reorder != c.s.planning.Reorder
		anew := (p.Horizon > 0) != (c.s.planning.Horizon > 0)
		if c.s.planning = p; again {
			c.s.listBeyond()
		}
		if anew {
			c.s.listShares()
		}
	}
	c.onUndo(func() { set(old) })
	set(p)
}

// leftOut returns an error if a job was left without a reservation although the plan had room for
// it, before the jobs that were due started. It excuses jobs whose candidates may close or end: whether they
// had a start when it was their turn cannot be told from the end of the round.
func (c *Cycle) leftOut() error {
	first, ok := c.s.firstAlwaysOpen()
	switch planned := c.s.planned.Len() + c.fromPlan; {
	case !ok || c.s.planning.Depth > 0 && planned >= c.s.planning.Depth:
		return nil
	case c.s.shares != nil:
		if j := c.leftOutByUser(); j != nil {
			return fmt.Errorf("job %d is left without a reservation, and its user's part of the plan has room", j.ID)
		}
		return nil
	case c.s.planning.Depth == 0:
		return fmt.Errorf("job %d is left without a reservation, and the policy gives guarantees", first.job.ID)
	default:
		return fmt.Errorf("job %d is left without a reservation, and the plan has %d jobs of at most %d", first.job.ID,
			planned, c.s.planning.Depth)
	}
}

// firstAlwaysOpen returns the first job beyond the plan whose candidates neither close nor end; false if
// there is none.
func (s *State) firstAlwaysOpen() (first queued, ok bool) {
	if !s.closing() {
		return s.beyond.Min()
	}
	s.beyond.Scan(func(q queued) bool {
		first, ok = q, !s.mayClose(q.job)
		return !ok
	})
	return first, ok
}

// limited reports whether the active policy gives guarantees, but only to the jobs within the bounds
// of the plan.
func (s *State) limited() bool { return s.guarantees && s.planning.Bounded() }

// ahead returns how many of the jobs beyond the depth enter the plan before the record's.
func (s *State) ahead(r *record) int {
	job := s.entering(r)
	return s.beyond.tree.before(&job)
}

// noPromise is the reason of a job that waits beyond the plan.
func (s *State) noPromise(r *record) string {
	if text := s.noShare(r.job); text != "" {
		return text
	}
	jobs, ahead := "next", s.ahead(r)
	switch {
	case ahead == 1:
		jobs = "1 job before it"
	case ahead > 1:
		jobs = thousands(ahead) + " jobs before it"
	}
	reaches := thousands(s.planning.Depth)
	if s.shares != nil && s.planHasRoom() {
		reaches = fmt.Sprintf("%d s of the whole pool", s.planning.Horizon)
	}
	return fmt.Sprintf("no promise yet: %s in the plan's order, which reaches %s", jobs, reaches)
}

// thousands formats a number with a comma before each three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
