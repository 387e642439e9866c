package backfill

import (
	"fmt"
	"slices"
)

// settle returns an error if the decision breaks a rule that only the end of a round can show: no
// planned start is left unused, every guarantee holds or was lifted, and every job within the depth
// of the plan has one.
func (c *Cycle) settle() error {
	if p, ok := c.s.planned.Min(); ok && p.at <= c.round.Now {
		return fmt.Errorf("job %d is planned for %d and was not started", p.job.ID, p.at)
	}
	if !c.s.guarantees {
		return nil
	}
	for _, b := range c.broken { // so far, of the jobs that started or were found
		if b.Cause == CauseNone {
			return fmt.Errorf("job %d starts at %d, but was promised to start at %d at the latest", b.Job.ID, b.Now,
				b.Promised)
		}
	}
	for i := range c.undo { // keepGuarantee and set add to it what needs no check
		u := &c.undo[i]
		r := c.s.jobs.Find(u.job)
		switch {
		case u.do != nil || r == nil:
		case r.phase == waiting:
			if err := c.keepGuarantee(r); err != nil {
				return err
			}
		case r.phase == held && r.promised:
			next := *r
			next.promised, next.guarantee = false, 0
			c.set(r.job.ID, &next)
		}
	}
	if err := c.leftOut(); err != nil {
		return err
	}
	// The order so far is that of the undo log. It begins with new keys, which a restored
	// negotiator may not have to set.
	slices.SortStableFunc(c.broken, func(a, b Broken) int { return Compare(a.Job, b.Job) })
	return nil
}

// giveWay sets the expected ends of the jobs in backfilled, which have occupied their places for
// their estimates so far, and voids reservations that no longer fit beside these jobs. It drops the
// policy's memo, which rests on the old plan; the next cycle makes new reservations.
func (c *Cycle) giveWay() {
	if len(c.backfilled) == 0 {
		return
	}
	c.remembered = nil
	var slots []SlotID
	var rows []RowID
	for _, p := range c.backfilled {
		next, _ := c.s.jobs.Get(p.job.ID)
		next.end = p.at
		c.set(p.job.ID, &next)
		slots, rows = append(slots, slotsOf(next.placement)...), append(rows, rowsOf(p.job.Takes)...)
	}
	were := map[JobID]record{}
	c.s.planned.Scan(func(p planned) bool {
		were[p.job.ID], _ = c.s.jobs.Get(p.job.ID)
		return true
	})
	for _, p := range c.displace(slots, rows, CauseOverrun) {
		c.void = append(c.void, were[p.job.ID])
	}
}

// stillHeld lists the jobs that were held in this round and are held at its end, each once. A later
// event of the round may have brought one back, edited or removed it.
func (c *Cycle) stillHeld() (jobs []HeldJob) {
	if len(c.held) == 0 {
		return nil
	}
	listed := make(map[*Job]bool, len(c.held)) // a policy may hold a hundred thousand
	for _, h := range c.held {
		r, ok := c.s.jobs.Get(h.Job.ID)
		if ok && r.job == h.Job && r.phase == held && !listed[h.Job] {
			listed[h.Job] = true
			jobs = append(jobs, HeldJob{Job: r.job, Reason: r.hold})
		}
	}
	return jobs
}

// keepGuarantee returns an error if a waiting job's guarantee does not hold. A guarantee that was
// lifted in this round binds again: as it was if the job is planned in time, else it is reported as
// broken and the planned start becomes the new one. If the job is left without a reservation, as its
// candidates close or end before it could begin or end, the guarantee is broken for good; also if the
// slot that was to end lasts after another event of the round, and others have entered the plan.
func (c *Cycle) keepGuarantee(r *record) error {
	switch {
	case r.placement == nil && r.promised && r.lifted != CauseNone && (c.sawEnds || c.s.mayClose(r.job)):
		next := *r
		next.lifted, next.promised, next.guarantee = CauseNone, false, 0
		c.broken = append(c.broken, Broken{Job: r.job, Promised: r.guarantee, Now: Forever, Cause: r.lifted})
		c.set(r.job.ID, &next)
		return nil
	case r.placement == nil && r.promised:
		return fmt.Errorf("job %d is left without a reservation, and was promised to start at %d at the latest", r.job.ID,
			r.guarantee)
	case r.placement == nil && r.lifted == CauseNone:
		return nil
	case r.placement == nil: // beyond the depth; see leftOut
		next := *r
		next.lifted = CauseNone
		c.set(r.job.ID, &next)
		return nil
	case r.lifted == CauseNone && !r.promised:
		return fmt.Errorf("job %d was given no guarantee", r.job.ID)
	case r.lifted == CauseNone && r.start > r.guarantee:
		return fmt.Errorf("job %d is planned for %d, but was promised to start at %d at the latest", r.job.ID, r.start,
			r.guarantee)
	case r.lifted == CauseNone:
		return nil
	}
	next := *r
	next.lifted = CauseNone
	if late := r.promised && r.start > r.guarantee; late || !r.promised {
		next.promised, next.guarantee = true, r.start
		if late {
			c.broken = append(c.broken, Broken{Job: r.job, Promised: r.guarantee, Now: r.start, Cause: r.lifted})
		}
	}
	c.set(r.job.ID, &next)
	return nil
}

// overtakes reports whether a job that comes before the started one still waits, and could start.
// "Before" is by the queue's order or, if the policy gives guarantees, by submit time and queue
// position.
func (c *Cycle) overtakes(s *Started) (overtakes bool) {
	if !c.s.guarantees || c.s.queue.allAt(s.key) { // equal keys are in order of jobs
		first := c.s.firstReleased()
		return first != nil && first.compare(&queued{s.key, s.Job}) < 0
	}
	before := c.s.queue.before(s.Job)
	return before != nil && (!c.early(before) ||
		c.s.queue.some(func(j *Job) bool { return !c.early(j) && Compare(j, s.Job) < 0 }))
}

// classify sets the field How of each started job.
func (c *Cycle) classify() {
	for i := range c.started {
		s := &c.started[i]
		switch {
		case c.overtakes(s):
			s.How = ByBackfill
		case s.alone:
			s.How = AtHead
		default:
			s.How = ByQueue
		}
	}
}
