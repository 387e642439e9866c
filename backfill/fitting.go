package backfill

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Fitting iterates, in the queue's order, over the waiting jobs that have no reservation, come
// after j, and fit now, each with a placement; if j is nil, over all of them. What it costs depends
// on how many fit and on how many requests differ, not on how many jobs wait.
//
// The loop may start jobs and reserve for them. It must not give resources back: what did not fit
// once is not tried again.
func (f Fast) Fitting(j *Job) iter.Seq2[*Job, Placement] {
	c := f.c
	return func(yield func(*Job, Placement) bool) {
		var behind *queued
		if j != nil {
			r := c.s.jobs.Find(j.ID)
			if r == nil {
				return
			}
			behind = &queued{c.s.keyOf(r), r.job}
		}
		fitting := c.fitting(behind, unplannedJobs)
		defer func() { c.lanes = fitting[:0] }()
		var left []int32 // shapes with a job that fits and was not started
		for len(fitting) > 0 {
			c.s.profile.GoOn()
			l := &fitting[0]
			if !c.still(l) {
				fitting = fitting.advance(c)
				continue
			}
			if !yield(l.job, c.place(l)) {
				return
			}
			if c.unplanned(l.job) {
				left = append(left, l.shape)
			}
			fitting = fitting.advance(c)
		}
		c.sweep(behind, left)
	}
}

// sweep notes that no job fits now that is behind a place and has no reservation, but for those of
// some shapes.
func (c *Cycle) sweep(behind *queued, but []int32) {
	if len(c.s.slots) == 1 {
		return // mayFit asks the only slot, and nothing else
	}
	q := c.s.queue
	for i := range q.shapes {
		s := &q.shapes[i]
		s.fresh, s.planned.fresh, s.gave = false, true, s.gives(q)
		if s.least != Forever && behind != nil {
			first, _ := q.next(&s.jobs, nil, Forever)
			s.fresh = first.compare(behind) <= 0
		}
	}
	for _, i := range but {
		q.shapes[i].fresh = true
	}
	q.swept, q.grown = true, q.grown[:0]
}

// fitting returns the lanes of all shapes of which a job behind a place may fit.
func (c *Cycle) fitting(behind *queued, which ...laneJobs) lanes {
	f := c.lanes[:0]
	c.open, c.asked = nil, 0
	q := c.s.queue
	q.list()
	slices.Sort(q.grown)
	q.grown = slices.Compact(q.grown)
	for i := range q.shapes {
		f = c.addLanes(f, int32(i), behind, which)
	}
	f.order()
	c.lanes = nil // nobody else takes it while the loop goes on
	return f
}

// addLanes adds the lanes of a shape to others, in no order.
func (c *Cycle) addLanes(f lanes, shape int32, behind *queued, which []laneJobs) lanes {
	s := &c.s.queue.shapes[shape]
	room, single := c.room(s)
	inSums, asked := Time(0), false
	for _, w := range which {
		least, limit, one := w.least(s), Forever, single
		switch {
		case least == Forever:
			continue
		case w.inSums():
			if !asked {
				inSums, asked = c.roomInSums(s), true
			}
			limit, one = c.upTo(w, inSums), true
		case one:
			limit = c.upTo(w, room)
		}
		if least >= limit {
			continue
		}
		l := lane{shape: shape, which: w, limit: limit, one: one, change: len(c.undo)}
		if (one || c.mayFit(s, &l)) && c.seek(&l, behind) {
			f = append(f, l)
		}
	}
	return f
}

// room returns for how long what the shape's jobs ask for is free from now on, if they have one
// candidate slot; else one is false. If no job may begin there now, it is 0. Nothing is said of jobs that
// end with their slot and take of rows: these must be free beyond that end, where their place has none.
func (c *Cycle) room(s *shape) (free Time, one bool) {
	if s.like == nil {
		return 0, false
	}
	set := c.s.candidates[s.like.Candidates]
	on := set.Slots
	switch {
	case len(on) != 1 || s.like.Whole || set.Least != nil || s.like.Unestimated && s.like.Takes != nil:
		return 0, false
	case !c.s.SlotUp(on[0]) || !set.Open(0, c.round.Now):
		return 0, true
	case s.need[0] > max(0, c.s.profile.FreeOf(on[0], 0, c.round.Now)):
		return 0, true // a quick answer to most questions of a long queue
	default:
		until := c.s.profile.FreeUntil(on[0], s.need, c.round.Now)
		if s.like.Unestimated && until > c.round.Now && until >= c.s.profile.Ends().Of(on[0]) {
			until = Forever // it may run to the slot's end, however long it would last
		}
		if s.like.Takes != nil {
			until = min(until, c.s.profile.Rows().FreeUntil(s.like.Takes, c.round.Now))
		}
		if until == Forever {
			return Forever, true
		}
		return until - c.round.Now, true
	}
}

// roomInSums returns for how long what a job of the shape asks for is free from now on, on all slots
// together and in rows; 0 if its chunks do not find slots now, or no bundle is free, whatever is planned.
func (c *Cycle) roomInSums(s *shape) Time {
	now := c.round.Now
	if s.like == nil {
		return 0
	}
	free := Forever // of a bundle, which a job takes whole, there is no sum
	if !s.like.Whole {
		free = profile.SumsOf(&c.s.profile.View).FreeUntil(s.need, now)
	}
	if s.like.Takes != nil {
		free = min(free, c.s.profile.Rows().FreeUntil(s.like.Takes, now))
	}
	if free <= now {
		return 0
	}
	request := c.s.Request(s.like)
	if request.Duration = 1; !c.s.profile.HasPlace(request, now) {
		return 0
	}
	if free == Forever {
		return Forever
	}
	return free - now
}

// upTo returns the length from which on jobs that a lane lists do not fit on their only slot, if
// what they ask for is free there for some time.
func (c *Cycle) upTo(w laneJobs, free Time) Time {
	if w.listed() == plannedByStart { // from then on a job uses its own place
		free += c.round.Now
	}
	return min(free, Forever-1) + 1
}

// mayFit reports whether the lane's shortest job may fit now on one of several slots, and notes in
// it if only some of them count.
func (c *Cycle) mayFit(s *shape, l *lane) bool {
	if l.which == unplannedJobs && c.s.hopeless(s, s.least) {
		return false
	}
	r := c.s.Request(s.like)
	if r.Duration = l.which.least(s); l.which == plannedByStart {
		if r.Duration -= c.round.Now; r.Duration <= 0 {
			return true
		}
	}
	if len(r.Candidates.Slots) > 1 {
		if on, known := c.slotsFor(s, l.which); known {
			if _, fits := c.s.profile.PlaceOn(r, on, c.round.Now); !fits || r.Nodes == 1 {
				l.on = on
				return fits
			}
		}
	}
	return c.s.profile.HasPlace(r, c.round.Now)
}

// slotsFor returns slots of which one has to take a chunk of a shape's job now if any slot does;
// false if nothing is known of that.
func (c *Cycle) slotsFor(s *shape, which laneJobs) (on []SlotID, known bool) {
	fresh := s.fresh
	if which != unplannedJobs {
		fresh = s.planned.fresh
	}
	if c.s.queue.swept && !fresh && s.gave == s.gives(c.s.queue) {
		return c.s.queue.grown, true
	}
	if s.like.Whole || s.like.Request[0] == 0 {
		return nil, false
	}
	if c.asked++; c.asked == manyShapes {
		c.findOpen()
	}
	return c.open, c.open != nil
}

// manyShapes is for how many shapes a pass asks all slots, before it lists those with a free cpu.
const manyShapes = 16

// findOpen lists the slots with a cpu that is free now. If these are more than one of eight, the
// list is nil, as the profile then knows better where to look.
func (c *Cycle) findOpen() {
	open := make([]SlotID, 0, len(c.s.slots)/8)
	for i := range c.s.slots {
		id := SlotID(i)
		if !c.s.SlotUp(id) || c.s.profile.FreeOf(id, 0, c.round.Now) <= 0 {
			continue
		}
		if len(open) == cap(open) {
			return
		}
		open = append(open, id)
	}
	c.open = open
}

// seek moves a lane to the shape's next job behind a place that fits; false if there is none.
func (c *Cycle) seek(l *lane, behind *queued) bool {
	c.measure(l)
	jobs := l.which.of(&c.s.queue.shapes[l.shape])
	for {
		next, ok := c.s.queue.next(jobs, behind, l.limit)
		if !ok {
			return false
		}
		if l.listed = next; c.fits(l) {
			return true
		}
		behind = &l.queued
	}
}

// measure finds out again which jobs of a lane fit, if the lane knows that and something has changed.
func (c *Cycle) measure(l *lane) {
	if l.one && l.change != len(c.undo) {
		var room Time
		if s := &c.s.queue.shapes[l.shape]; l.which.inSums() {
			room = c.roomInSums(s)
		} else {
			room, _ = c.room(s)
		}
		l.limit, l.change = c.upTo(l.which, room), len(c.undo)
	}
}

// fits reports whether the lane's job fits, and may note where; or it notes how long the job is.
func (c *Cycle) fits(l *lane) (fits bool) {
	c.measure(l)
	l.change = len(c.undo)
	switch {
	case l.which.inSums():
		return l.length < l.limit
	case l.one && l.which != unplannedJobs:
		l.at, fits = c.s.jobs.Find(l.job.ID).placement, l.length < l.limit
		return fits
	case l.which == plannedByStart:
		return c.fitsEarly(l)
	case l.on != nil:
		l.at, fits = c.s.profile.PlaceOn(c.s.Request(l.job), l.on, c.round.Now)
	default:
		l.at, fits = nil, c.s.profile.HasPlace(c.s.Request(l.job), c.round.Now)
	}
	switch {
	case !fits:
		l.limit = l.job.Estimate
	case l.which == plannedByEstimate: // its own place may allow it another placement
		l.at = nil
	}
	return fits
}

// place returns where the lane's job, which fits, is placed. Most jobs that fit are asked for that
// again after jobs before them have started, so it is found no earlier.
func (c *Cycle) place(l *lane) Placement {
	switch {
	case l.at != nil:
	case l.which == unplannedJobs:
		l.at, _ = c.s.profile.Place(c.s.Request(l.job), c.round.Now)
	default:
		l.at, _ = c.FitsNow(l.job)
	}
	return l.at
}

// still reports whether the lane's job waits and fits, which it did when it was found, and has a
// reservation if it had.
func (c *Cycle) still(l *lane) bool {
	if l.change == len(c.undo) {
		return true
	}
	if l.which.listed() == unplannedJobs {
		return c.unplanned(l.job) && c.fits(l)
	}
	return c.plannedFor(l.job) != Forever && c.fits(l)
}

// unplanned reports whether a job waits and has no reservation.
func (c *Cycle) unplanned(j *Job) bool {
	r := c.s.jobs.Find(j.ID)
	return r != nil && r.unplanned()
}
