package backfill

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// plannedJobs lists the jobs of a shape that have reservations and may start, by estimate and by planned start. On
// one slot a job can start now if what it asks for is free until its end or until its planned start,
// as from then on it may use its own place. So a pass over the queue finds those that can start
// without a look at the others.
type plannedJobs struct {
	byEstimate, byStart listing
	least, first        Time // the least estimate and planned start; Forever: there is no job
	fresh               bool // a job may have come, or may have been moved, since the last sweep
}

func noPlans() plannedJobs { return plannedJobs{least: Forever, first: Forever} }

// anyJobs are the lanes of a pass over all waiting jobs.
var anyJobs = []laneJobs{unplannedJobs, plannedByEstimate, plannedByStart} //nolint:gochecknoglobals // a constant

// andJobsInSums are the lanes of a pass over all waiting jobs, and once more those for jobs for which there is room
// on all slots together.
var andJobsInSums = append(slices.Clip(anyJobs), inSums, inSumsByEstimate, inSumsByStart) //nolint:gochecknoglobals // a constant

// Startable iterates, in the queue's order, over the waiting jobs that fit now through their
// estimates beside what runs and all reservations but their own, each with a placement. What it
// costs depends on how many fit and on how many requests differ, not on how many jobs wait.
//
// The loop may start jobs, and nothing else. A job that starts gives its reservation up, and jobs
// behind it in the queue may fit because of that. Jobs before it are not tried again.
func (f Fast) Startable() iter.Seq2[*Job, Placement] {
	return func(yield func(*Job, Placement) bool) {
		f.c.startable(0, func(j *Job, a Arrangement) bool { return yield(j, a.At) })
	}
}

// startable is [Fast.StartableBeside].
func (c *Cycle) startable(tries int, yield func(*Job, Arrangement) bool) {
	c.s.listPlanned()
	p := startPass{c: c, which: anyJobs, tries: tries}
	if tries > 0 && len(c.s.slots) > 1 {
		p.which, p.divisible = andJobsInSums, c.s.divisible()
	}
	p.fitting = c.fitting(nil, p.which...)
	defer func() { c.lanes = p.fitting[:0] }()
	for len(p.fitting) > 0 {
		c.s.profile.GoOn()
		if a, fits := p.next(); fits && !p.give(a, yield) {
			return
		}
	}
	c.sweepAll(p.left, p.regained)
	c.s.queue.give(p.rows)
}

// startPass is a pass over the waiting jobs that can start now.
type startPass struct {
	c         *Cycle
	which     []laneJobs
	fitting   lanes
	divisible bool // see [State.divisible]
	tries     int  // so many jobs more may be tried in vain to have others moved

	last     *Job           // that was looked at
	left     []int32        // shapes with a job that fits and was not started
	regained []SlotID       // slots on which a job gave its place up
	rows     []Take         // of which it gave something back
	vain     map[int32]Time // by shape, since the last start: the estimate of a job that was tried in vain
}

// next returns an arrangement of the first lane's job. If the job cannot start now, or was looked at before,
// as it is in several lanes, fits is false, and the lane is at its next job.
func (p *startPass) next() (a Arrangement, fits bool) {
	c, l := p.c, &p.fitting[0]
	inSums := l.which.inSums()
	if inSums && p.tries == 0 {
		p.fitting = p.fitting.drop()
		return a, false
	}
	least, tried := p.vain[l.shape]
	if l.job == p.last || inSums && tried && l.job.Estimate >= least || !c.still(l) {
		p.fitting = p.fitting.advance(c)
		return a, false
	}
	if p.last = l.job; !inSums {
		return Arrangement{At: c.place(l)}, true
	}
	if a, fits = c.arrangeNow(c.s.jobs.Find(l.job.ID), p.divisible); !fits {
		p.tries--
		if p.vain == nil {
			p.vain = map[int32]Time{}
		}
		p.vain[l.shape] = l.job.Estimate
		p.fitting = p.fitting.advance(c)
	}
	return a, fits
}

// give gives the first lane's job to the loop, and takes note of what the loop did; false: it is over.
func (p *startPass) give(a Arrangement, yield func(*Job, Arrangement) bool) bool {
	c, l := p.c, p.fitting[0]
	former := *c.s.jobs.Find(l.job.ID)
	led := c.s.leads[l.job.ID] != nil
	for _, m := range a.Moved {
		p.regained = append(p.regained, slotsOf(c.s.jobs.Find(m.Job.ID).placement)...)
	}
	if !yield(l.job, a) {
		return false
	}
	now := c.s.jobs.Find(l.job.ID)
	if now.phase == waiting {
		p.left = append(p.left, l.shape)
		p.fitting = p.fitting.advance(c)
		return true
	}
	clear(p.vain)
	planned := former.placement != nil
	early := planned && (former.start > c.round.Now || led)
	if planned && len(a.Moved) > 0 || early {
		p.regained, p.rows = append(p.regained, slotsOf(former.placement)...), append(p.rows, former.job.Takes...)
	}
	switch {
	case len(a.Moved) > 0:
		p.fitting = c.again(p.fitting, &l.queued, c.round.Now, p.which)
	case early && led:
		p.fitting = c.again(p.fitting, &l.queued, former.start, p.which)
	case early:
		p.fitting = c.again(p.fitting, &l.queued, freedFrom(&former, now), p.which)
	default:
		p.fitting = p.fitting.advance(c)
	}
	return true
}

// arrangeNow looks for an arrangement in which the job starts now.
func (c *Cycle) arrangeNow(r *record, divisible bool) (a Arrangement, ok bool) {
	if a, ok = c.arrange(r, c.round.Now); !ok && divisible {
		a, ok = c.arrangeAll(r, c.round.Now)
	}
	return a, ok
}

// freedFrom returns from when on room is free that a job gave up when it started before its planned
// start: by its old record it was planned, by the new one it runs.
func freedFrom(former, now *record) Time {
	if len(former.placement) == 1 && now.placement.Equal(former.placement) {
		return max(former.start, now.end)
	}
	return former.start
}

// again returns the lanes of a pass behind a job that it started, after the job has given up its
// reservation: room that is free from the given instant on.
func (c *Cycle) again(f lanes, behind *queued, freed Time, which []laneJobs) lanes {
	q := c.s.queue
	reaches := func(shape int32) bool { return c.round.Now+q.shapes[shape].longest > freed }
	if freed == c.round.Now { // what its lead occupied: slots may be open that were not
		c.open, c.asked = nil, 0
	}
	kept := f[:0]
	for _, l := range f {
		if !reaches(l.shape) && (l.compare(behind) > 0 || c.seek(&l, behind)) {
			kept = append(kept, l)
		}
	}
	for i := range q.shapes {
		if reaches(int32(i)) {
			kept = c.addLanes(kept, int32(i), behind, which)
		}
	}
	kept.order()
	return kept
}

// sweepAll notes that no waiting job fits now, but for jobs of some shapes, and for those that were
// tried before a job behind them gave its place up on one of the given slots.
func (c *Cycle) sweepAll(but []int32, regained []SlotID) {
	if len(c.s.slots) == 1 {
		return // mayFit asks the only slot, and nothing else
	}
	q := c.s.queue
	for i := range q.shapes {
		s := &q.shapes[i]
		s.fresh, s.planned.fresh, s.gave = false, false, s.gives(q)
	}
	for _, i := range but {
		q.shapes[i].fresh, q.shapes[i].planned.fresh = true, true
	}
	if q.swept = len(regained) <= maxGrown; q.swept {
		q.grown = append(q.grown[:0], regained...)
	}
}

// fitsEarly reports whether the job of a lane by planned start fits, or notes when it is planned for.
func (c *Cycle) fitsEarly(l *lane) bool {
	r, now := c.s.jobs.Find(l.job.ID), c.round.Now
	request := c.s.Request(r.job)
	if l.at = nil; r.start == now {
		return true
	}
	if _, may := c.s.profile.EarliestAhead(request, r.start, now, now+1); !may {
		l.limit = r.start
		return false
	}
	return c.hasPlaceEarly(r, request)
}

// hasPlaceEarly reports whether a job that is planned for later has a place now, as if it had no
// reservation. Mostly its own place is not in the way.
func (c *Cycle) hasPlaceEarly(r *record, request profile.Request) (has bool) {
	if c.s.profile.HasPlace(request, c.round.Now) {
		return true
	}
	c.without(r, func() { has = c.s.profile.HasPlace(request, c.round.Now) })
	return has
}

// plannedFor returns a job's planned start; Forever if it does not wait, has no reservation, or may
// not start yet.
func (c *Cycle) plannedFor(j *Job) Time {
	if r := c.s.jobs.Find(j.ID); r != nil && r.reserved() {
		return r.start
	}
	return Forever
}

// reserved reports whether the record is that of a waiting job with a reservation that may start.
func (r *record) reserved() bool { return r.in(waiting) && r.placement != nil && !r.early }

// listPlanned lists by shape the jobs with reservations, unless they are. From then on every change
// of a job changes the lists.
func (s *State) listPlanned() {
	if s.queue.plans {
		return
	}
	s.queue.plans = true
	s.planned.Scan(func(p planned) bool {
		if r := s.jobs.Find(p.job.ID); r.reserved() {
			s.queue.plan(r)
		}
		return true
	})
}

// forgetPlanned drops the lists of jobs with reservations, until a policy asks for them again.
func (q *queue) forgetPlanned() {
	q.plans = false
	for i := range q.shapes {
		q.shapes[i].planned = noPlans()
	}
}

// plan lists a waiting job that has a reservation.
func (q *queue) plan(r *record) {
	p, e := &q.shapes[q.shape(r.job)].planned, r.place()
	q.put(&p.byEstimate, e, r.job.Estimate)
	q.put(&p.byStart, e, r.start)
	p.least, p.first, p.fresh = min(p.least, r.job.Estimate), min(p.first, r.start), true
}

// unplan is the inverse of plan.
func (q *queue) unplan(r *record) {
	p, e := &q.shapes[q.shape(r.job)].planned, queued{r.key, r.job}
	q.take(&p.byEstimate, e, r.job.Estimate)
	q.take(&p.byStart, e, r.start)
	p.least, p.first = q.least(&p.byEstimate), q.least(&p.byStart)
}

// sameReservation reports whether two records are listed alike among the jobs with reservations.
func (r *record) sameReservation(o *record) bool {
	return r.reserved() && o.reserved() && r.job == o.job && r.key == o.key && r.line == o.line && r.start == o.start &&
		r.placement.Equal(o.placement)
}
