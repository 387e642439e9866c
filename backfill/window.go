package backfill

import (
	"fmt"
	"slices"
)

// Candidates may have windows, outside of which no job begins on them, and slots may end. A job whose
// candidates offer no start, because all close or end before it could begin or end, waits without a
// reservation and without a promise, like one beyond the depth of a plan. It starts in any round in
// which it fits. To find out that a job has no start takes a look at all of its candidates, and on a
// pool of pilots most jobs may have none. So the state remembers, for jobs with equal requests and
// candidates, which lengths have none, and looks only at slots that jobs have left since.

// NoStart reports whether a waiting job has no reservation and its candidates offer it no start,
// beside what runs and all reservations, as all of them close or end before it could begin or end. It is
// false of jobs whose candidates neither have windows nor end.
func (f Fast) NoStart(j *Job) bool {
	if !f.c.s.closing() {
		return false
	}
	r := f.c.s.jobs.Find(j.ID)
	return r != nil && f.c.s.noStart(r)
}

// noStart reports whether the record is that of a job without a start; see [Fast.NoStart].
func (s *State) noStart(r *record) bool {
	shape := s.closingShape(r)
	if shape == nil {
		return false
	}
	if s.hopeless(shape, r.job.Estimate) {
		return true
	}
	_, starts := s.profile.EarliestAhead(s.Request(r.job), Forever, r.job.NotBefore(s.now), Forever)
	switch known := &shape.startless; {
	case starts && known.from > 0:
		known.from = max(known.from, r.job.Estimate+1)
	case !starts && !r.early:
		*known = startless{r.job.Estimate, s.left.count(), shape.gives(s.queue)}
	}
	return !starts
}

// knownStartless reports whether the record is that of a job that had no start when the policy last
// looked at it. It only reads.
func (s *State) knownStartless(r *record) bool {
	shape := s.closingShape(r)
	if shape == nil {
		return false
	}
	known := &shape.startless
	return known.from > 0 && r.job.Estimate >= known.from && known.known >= s.left.before
}

// closingShape returns the shape of a waiting job that has no reservation and candidates that may close or
// end; else nil.
func (s *State) closingShape(r *record) *shape {
	if !r.unplanned() || !s.mayClose(r.job) {
		return nil
	}
	s.queue.list()
	i := s.queue.find(r.job, r.job.shapeHash())
	if i == noShape {
		return nil
	}
	return &s.queue.shapes[i]
}

// closing reports whether the candidates of some job may close or end.
func (s *State) closing() bool { return s.windowed > 0 || s.profile.Ends().Count() > 0 }

// mayClose reports whether the job's candidates may close or end: they have windows, or some slot of the
// pool has an end.
func (s *State) mayClose(j *Job) bool {
	return s.profile.Ends().Count() > 0 || s.windowed > 0 && s.candidates[j.Candidates].Windows != nil
}

// startless is what is known of a shape's jobs that have no start.
type startless struct {
	from  Time // jobs that are at least so long have none; 0: nothing is known
	known int  // number of slots that jobs had left when this was found out
	gave  int  // what gives was then
}

// hopeless reports whether it is known, without a look at all candidates, that a shape's jobs of a
// length have no start.
func (s *State) hopeless(shape *shape, length Time) bool {
	known := &shape.startless
	if known.from == 0 || length < known.from || known.gave != shape.gives(s.queue) {
		return false
	}
	left, listed := s.left.since(known.known)
	switch {
	case !listed:
		return false
	case !s.startsOn(shape.like, known.from, left):
		known.known = s.left.count()
		return true
	case length > known.from && !s.startsOn(shape.like, length, left):
		*known = startless{length, s.left.count(), known.gave}
		return true
	default:
		return false
	}
}

// startsOn reports whether a job that needs what the given one does, and has the given length, may
// have a start now that it did not have before jobs left the slots.
func (s *State) startsOn(j *Job, length Time, left []SlotID) bool {
	r := s.Request(j)
	if r.Whole {
		return slices.ContainsFunc(left, func(id SlotID) bool { return s.profile.MayUse(r, id) })
	}
	set := r.Candidates
	var slot [1]SlotID
	var windows [1][]Window
	r.Nodes, r.Duration, r.Candidates = 1, length, &Candidates{Slots: slot[:], Windows: windows[:]}
	for _, id := range left {
		if !set.Has(id) {
			continue
		}
		slot[0], windows[0] = id, set.Of(id)
		if _, ok := s.profile.EarliestAhead(r, Forever, s.now, Forever); ok {
			return true
		}
	}
	return false
}

// leavings are the slots that jobs left, in that order, since some instant.
type leavings struct {
	slots  []SlotID
	before int // slots that are not listed any more
}

// maxLeavings is how many slots are listed before all are forgotten.
const maxLeavings = 4096

// add notes that a job or a reservation may have left the slots of a placement.
func (l *leavings) add(at Placement) {
	if len(l.slots)+len(at) > maxLeavings {
		l.forget()
	}
	for _, chunks := range at {
		l.slots = append(l.slots, chunks.Slot)
	}
}

// forget makes all that is known of jobs without a start void.
func (l *leavings) forget() { l.before, l.slots = l.count()+1, l.slots[:0] }

// count returns the number of slots so far.
func (l *leavings) count() int { return l.before + len(l.slots) }

// since returns the slots that came after the first known ones; false if they are not listed any more.
func (l *leavings) since(known int) ([]SlotID, bool) {
	if known < l.before {
		return nil, false
	}
	return l.slots[known-l.before:], true
}

// opening says that a candidate set opens next at an instant, as seen at any instant from another on.
type opening struct{ from, next Time }

// nextOpening returns the first instant after t at which a candidate of a waiting job opens; Forever
// if there is none.
func (s *State) nextOpening(t Time) Time {
	next := Forever
	if s.windowed == 0 {
		return next
	}
	for i := range s.queue.shapes {
		if like := s.queue.shapes[i].like; like != nil {
			next = min(next, s.opening(like.Candidates, t))
		}
	}
	return next
}

// opening returns the first instant after t at which a candidate of the set opens.
func (s *State) opening(set int, t Time) Time {
	if known := s.openings[set]; known.from <= t && t < known.next {
		return known.next
	}
	return s.candidates[set].NextOpening(t)
}

// followOpenings notes when the candidates of waiting jobs open next.
func (s *State) followOpenings() {
	if s.windowed == 0 {
		return
	}
	for i := range s.queue.shapes {
		if like := s.queue.shapes[i].like; like != nil {
			s.openings[like.Candidates] = opening{s.now, s.opening(like.Candidates, s.now)}
		}
	}
}

// setWindows takes note that a candidate set is new or another one.
func (s *State) setWindows(id int, old, now *Candidates) {
	for len(s.openings) <= id {
		s.openings = append(s.openings, opening{})
	}
	s.openings[id] = opening{}
	s.left.forget()
	if old != nil && old.Windows != nil {
		s.windowed--
	}
	if now != nil && now.Windows != nil {
		s.windowed++
	}
}

// validateWindows returns an error unless the windows of each candidate are ascending and apart.
func (c CandidateSet) validateWindows() error {
	var last *Window // of the candidate before: many share theirs
	for i, all := range c.Candidates.Windows {
		if all == nil || len(all) > 0 && &all[0] == last {
			continue
		}
		if len(all) == 0 {
			return fmt.Errorf("candidate set %d: the candidate in place %d is never open", c.ID, i)
		}
		last = &all[0]
		for n, w := range all {
			if w.From >= w.To || w.From < -Forever || w.To > Forever || n > 0 && w.From <= all[n-1].To {
				return fmt.Errorf("candidate set %d: the candidate in place %d is open from %d to %d: windows must be "+
					"ascending and apart", c.ID, i, w.From, w.To)
			}
		}
	}
	return nil
}
