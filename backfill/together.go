package backfill

// ReserveTogether is [Cycle.Reserve] for each of the jobs, one after the other. Jobs that ask for
// the same, are planned for the same start on the same single slot, and move to an earlier one,
// change the profile only once.
func (f Fast) ReserveTogether(jobs []*Job, start Time, at Placement) {
	c := f.c
	if !c.slideTogether(jobs, start, at) {
		for _, j := range jobs {
			c.Reserve(j, start, at)
		}
		return
	}
	for _, j := range jobs {
		next := *c.s.jobs.Find(j.ID)
		next.placement, next.start, next.end = at, start, start+next.job.Estimate
		_ = c.put(j.ID, &next, slid) // only what must fit is refused
		c.log(Action{Kind: ActReserve, Job: j.ID, At: start, Placement: at})
	}
}

// slideTogether moves the jobs' places in the profile to an earlier start. It returns false and
// changes nothing if that is not to be done in one go, or if not all fit there.
func (c *Cycle) slideTogether(jobs []*Job, start Time, at Placement) bool {
	if c.s.profile.GoOn(); c.err != nil || len(c.given) > 0 || start < c.round.Now {
		return false
	}
	var first, last *record
	for _, j := range jobs {
		r := c.s.jobs.Find(j.ID)
		if r == nil || !r.reserves() || r.job.Early(start) {
			return false
		}
		if last == nil {
			first = r
		} else if Compare(last.job, r.job) >= 0 || !first.sameSpanAs(r) { // each of them once
			return false
		}
		last = r
	}
	if first == nil {
		return false
	}
	next := *first
	next.placement, next.start, next.end = at, start, start+first.job.Estimate
	return c.s.slide(first, &next, len(jobs))
}

// sameSpanAs reports whether the records of two jobs that ask for the same occupy the same slots at
// the same time.
func (r *record) sameSpanAs(o *record) bool {
	return r.start == o.start && r.end == o.end && r.job.Estimate == o.job.Estimate && alike(r.job, o.job) &&
		r.placement.Equal(o.placement)
}
