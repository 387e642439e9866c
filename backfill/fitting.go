package backfill

import (
	"iter"
	"slices"
)

// Fitting iterates, in the queue's order, over the waiting jobs that have no reservation, come
// after j, and fit now, each with a placement; if j is nil, over all of them. What it costs depends
// on how many fit and on how many requests differ, not on how many jobs wait.
//
// The loop may start jobs and reserve for them. It must not give resources back: what did not fit
// once is not tried again.
func (c *Cycle) Fitting(j *Job) iter.Seq2[*Job, Placement] {
	return func(yield func(*Job, Placement) bool) {
		var behind *queued
		if j != nil {
			r := c.s.jobs.Find(j.ID)
			if r == nil {
				return
			}
			behind = &queued{r.key, r.job}
		}
		f := c.fitting(behind)
		defer func() { c.lanes = f[:0] }()
		var left []int32 // shapes with a job that fits and was not started
		for len(f) > 0 {
			l := &f[0]
			if !c.still(l) {
				f = f.advance(c)
				continue
			}
			if !yield(l.job, l.at) {
				return
			}
			if c.unplanned(l.job) {
				left = append(left, l.shape)
			}
			f = f.advance(c)
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
		s.fresh = false
		if s.least != Forever && behind != nil {
			first, _ := s.jobs.next(nil, Forever)
			s.fresh = first.compare(behind) <= 0
		}
	}
	for _, i := range but {
		q.shapes[i].fresh = true
	}
	q.swept, q.grown = true, q.grown[:0]
}

// lane is the jobs of a shape in a pass over the queue, at the first that fits.
type lane struct {
	queued
	at     Placement
	shape  int32
	limit  Time     // jobs of this length or longer do not fit
	on     []SlotID // jobs fit on no other slots; nil: on any, for all that is known
	change int      // changes of the cycle when the job was found to fit
}

// lanes are a binary heap by the queue's order.
type lanes []lane

// fitting returns the lanes of all shapes of which a job behind a place may fit.
func (c *Cycle) fitting(behind *queued) lanes {
	f := c.lanes[:0]
	c.open, c.asked = nil, 0
	q := c.s.queue
	q.list()
	slices.Sort(q.grown)
	q.grown = slices.Compact(q.grown)
	for i := range q.shapes {
		s := &q.shapes[i]
		if s.least == Forever {
			continue
		}
		l := lane{shape: int32(i), limit: Forever}
		if c.mayFit(s, &l) && c.seek(&l, behind) {
			f = append(f, l)
		}
	}
	for i := len(f)/2 - 1; i >= 0; i-- {
		f.down(i)
	}
	c.lanes = nil // nobody else takes it while the loop goes on
	return f
}

// mayFit reports whether the shape's shortest job would fit now, and notes in its lane if only some
// slots count.
func (c *Cycle) mayFit(s *shape, l *lane) bool {
	r := c.s.request(s.like)
	r.Duration = s.least
	switch n := len(r.Candidates.Slots); {
	case n == 1:
		if s.cpus > max(0, c.s.profile.FreeOf(r.Candidates.Slots[0], 0, c.round.Now)) {
			return false // a quick answer to most questions of a long queue
		}
	case n > 1:
		on, known := c.slotsFor(s)
		if !known {
			break
		}
		if _, fits := c.s.profile.PlaceOn(r, on, c.round.Now); !fits || r.Nodes == 1 {
			l.on = on
			return fits
		}
	}
	_, fits := c.s.profile.Place(r, c.round.Now)
	return fits
}

// slotsFor returns slots of which one has to take a chunk of a shape's job now if any slot does;
// false if nothing is known of that.
func (c *Cycle) slotsFor(s *shape) (on []SlotID, known bool) {
	if c.s.queue.swept && !s.fresh {
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
	jobs := &c.s.queue.shapes[l.shape].jobs
	for {
		next, ok := jobs.next(behind, l.limit)
		if !ok {
			return false
		}
		if l.queued = next.queued; c.fits(l) {
			return true
		}
		behind = &l.queued
	}
}

// fits reports whether the lane's job fits, and notes where, or how long it is.
func (c *Cycle) fits(l *lane) (fits bool) {
	if l.on != nil {
		l.at, fits = c.s.profile.PlaceOn(c.s.request(l.job), l.on, c.round.Now)
	} else {
		l.at, fits = c.s.profile.Place(c.s.request(l.job), c.round.Now)
	}
	if !fits {
		l.limit = l.job.Estimate
	}
	l.change = len(c.undo)
	return fits
}

// still reports whether the lane's job waits without a reservation and fits, which it did when it
// was found.
func (c *Cycle) still(l *lane) bool {
	if l.change == len(c.undo) {
		return true
	}
	return c.unplanned(l.job) && c.fits(l)
}

// unplanned reports whether a job waits and has no reservation.
func (c *Cycle) unplanned(j *Job) bool {
	r := c.s.jobs.Find(j.ID)
	return r != nil && r.unplanned()
}

// advance moves the first lane to its next job that fits.
func (f lanes) advance(c *Cycle) lanes {
	if at := f[0].queued; !c.seek(&f[0], &at) {
		last := len(f) - 1
		f[0] = f[last]
		f = f[:last]
	}
	f.down(0)
	return f
}

// down restores the heap below an index.
func (f lanes) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(f) {
			return
		}
		if least+1 < len(f) && f[least+1].compare(&f[least].queued) < 0 {
			least++
		}
		if f[i].compare(&f[least].queued) <= 0 {
			return
		}
		f[i], f[least] = f[least], f[i]
		i = least
	}
}
