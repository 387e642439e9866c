package backfill

import (
	"cmp"
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// A reservation is a start, not a place. Where a job has too little room on each slot, but enough on all
// of them together, others' reservations may be moved to other slots at their same starts. The present
// places of all are the proof that a joint placement exists; an arrangement is the next one.

// Arrangement is a place for a job, and what makes room for it there: other reservations, which get other
// slots and keep their starts.
type Arrangement struct {
	At    Placement // of the job
	Moved []Moved   // in the order of their starts
}

// Moved is a reservation that gets other slots at the same start.
type Moved struct {
	Job   *Job
	Start Time
	At    Placement
	From  Placement // before the round; none in an [Arrangement]
}

// Rearrange gives the moved reservations up, calls the function, which is to place the job that they
// make way for, and reserves for the others on their new slots, at their same starts.
func (f Fast) Rearrange(a Arrangement, place func()) {
	for _, m := range a.Moved {
		f.c.Release(m.Job)
	}
	place()
	for _, m := range a.Moved {
		f.c.Reserve(m.Job, m.Start, m.At)
	}
}

// replaced lists the reservations that have other slots at the same start than before the round.
func (c *Cycle) replaced() (moved []Moved) {
	if !c.vacated {
		return nil
	}
	seen := map[JobID]bool{}
	for i := range c.undo { // of each job, the first old record is that before the round
		u := &c.undo[i]
		if u.do != nil || seen[u.job] {
			continue
		}
		seen[u.job] = true
		now := c.s.jobs.Find(u.job)
		if u.old == nil || now == nil || !u.old.reserves() || !now.reserves() || u.old.start != now.start ||
			u.old.placement.Equal(now.placement) {
			continue
		}
		moved = append(moved, Moved{now.job, now.start, now.placement, u.old.placement})
	}
	sortMoved(moved)
	return moved
}

func sortMoved(all []Moved) {
	slices.SortFunc(all, func(a, b Moved) int { return cmp.Or(cmp.Compare(a.Start, b.Start), Compare(a.Job, b.Job)) })
}

// MovedTogether returns which reservations have other slots after two rounds of one instant than before
// both. Those of jobs that the second one started are none any more.
func MovedTogether(first, second *Decision) []Moved {
	if len(first.Replaced) == 0 {
		return second.Replaced
	}
	again := map[JobID]Moved{}
	for _, m := range second.Replaced {
		again[m.Job.ID] = m
	}
	for i := range second.Started {
		again[second.Started[i].Job.ID] = Moved{}
	}
	var all []Moved
	for _, m := range first.Replaced {
		if next, found := again[m.Job.ID]; found {
			delete(again, m.Job.ID)
			if next.Job == nil || next.At.Equal(m.From) {
				continue
			}
			next.From = m.From
			m = next
		}
		all = append(all, m)
	}
	for _, m := range second.Replaced {
		if _, alone := again[m.Job.ID]; alone {
			all = append(all, m)
		}
	}
	sortMoved(all)
	return all
}

// StartableBeside is [Fast.Startable] with the jobs, too, that fit now once others' reservations were
// moved to other slots at their same starts. A job comes into question if the sums of the pool have room
// for it; once so many were tried in vain in a call, no more are. Each job comes with an arrangement,
// which is to be given to [Fast.Rearrange] with the start of the job.
func (f Fast) StartableBeside(tries int) iter.Seq2[*Job, Arrangement] {
	return func(yield func(*Job, Arrangement) bool) { f.c.startable(tries, yield) }
}

// EarliestBeside returns the job's earliest start that is not before notBefore, as if it had no
// reservation, once others' reservations were moved to other slots at their same starts;
// [Fast.Beside] says how. It knows only pools in which that is a question of sums: all slots are
// candidates of all jobs that wait, and chunks are of one cpu and of nothing else. For others ok is
// false.
func (f Fast) EarliestBeside(j *Job, notBefore Time) (start Time, ok bool) {
	c := f.c
	r := c.s.jobs.Find(j.ID)
	if len(c.s.slots) == 1 || r == nil || !c.s.divisible() {
		return 0, false
	}
	c.without(r, func() {
		start, ok = profile.SumsOf(&c.s.profile.View).Earliest(j.Total(), j.Estimate, j.NotBefore(notBefore), Forever)
	})
	return start, ok
}

// Beside returns an arrangement for the job at a start that [Fast.EarliestBeside] returned. Others
// move only if the job has no place without that.
func (f Fast) Beside(j *Job, start Time) (a Arrangement, ok bool) {
	c := f.c
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return a, false
	}
	if c.without(r, func() { a.At, ok = c.s.profile.Place(c.s.Request(j), start) }); ok {
		return a, true
	}
	return c.arrangeAll(r, start)
}

// divisible reports whether each job that waits fits wherever the sums have room for it, if others move:
// its chunks are of one cpu, and all slots are its candidates at all times.
func (s *State) divisible() bool {
	if s.profile.Ends().Count() > 0 {
		return false
	}
	s.queue.list()
	return !slices.ContainsFunc(s.queue.shapes, func(p shape) bool { return p.like != nil && !s.dividesInto(p.like) })
}

// dividesInto reports whether a job's chunks are of one cpu, and all slots are its candidates at all times.
func (s *State) dividesInto(j *Job) bool {
	set := s.candidates[j.Candidates]
	return !j.Whole && j.Takes == nil && j.Request[0] == 1 && j.Request[1:].Zero() && set.Windows == nil &&
		set.Least == nil && len(set.Slots) == len(s.slots)
}

// arrange looks for a place for a job from a start on. Room there may be reserved for others that begin
// before the job would end: these get other slots at their same starts. All others stay.
func (c *Cycle) arrange(r *record, start Time) (a Arrangement, ok bool) {
	request := c.s.Request(r.job)
	soon := request
	soon.Duration = 1 // in the way later is only what is planned, but for slots that end
	at, fits := c.s.profile.Place(soon, start)
	if !fits {
		return a, false
	}
	t := trial{c: c}
	end := start + r.job.Estimate
	c.s.planned.Scan(func(p planned) bool {
		if p.at >= end {
			return false
		}
		if other := c.s.jobs.Find(p.job.ID); other.job != r.job && other.shares(at) {
			t.others = append(t.others, other)
		}
		return true
	})
	defer t.end()
	t.begin(r)
	if !c.s.profile.Fits(request, at, start) {
		if at, fits = c.s.profile.Place(request, start); !fits {
			return a, false
		}
	}
	return t.arrange(r, at, start)
}

// arrangeAll looks for a place for a job from a start on, with all that begin then or later placed anew, by
// start, each on its old slots if they are free. In a pool that is divisible it finds one if the sums have
// room: of all that begin before, each holds its slots, and of those that begin later, none is in the way.
func (c *Cycle) arrangeAll(r *record, start Time) (a Arrangement, ok bool) {
	t := trial{c: c}
	c.s.planned.Scan(func(p planned) bool {
		if p.at >= start && p.job != r.job {
			t.others = append(t.others, c.s.jobs.Find(p.job.ID))
		}
		return true
	})
	defer t.end()
	t.begin(r)
	if f, alike := t.filling(r, start); alike {
		return t.fill(f, r, start)
	}
	at, fits := c.s.profile.Place(c.s.Request(r.job), start)
	if !fits {
		return a, false
	}
	return t.arrange(r, at, start)
}

// trial is a plan that is tried in the profile, and leaves it as it was.
type trial struct {
	c      *Cycle
	out    []*record // places that were taken out: those of the job and of others
	leads  [][]Freed // of these
	others []*record // reservations, by start, then in order of jobs
	taken  []record  // places that were taken since
}

// begin takes the reservations of the job and of the others out of the profile.
func (t *trial) begin(r *record) {
	t.out = slices.Clone(t.others)
	if r.placement != nil {
		t.out = append(t.out, r)
	}
	for _, r := range t.out {
		t.leads = append(t.leads, t.c.s.leads[r.job.ID])
		t.c.s.vacate(r)
	}
}

// end puts everything back.
func (t *trial) end() {
	for i := range t.taken {
		t.c.s.vacate(&t.taken[i])
	}
	for i, r := range t.out[:len(t.leads)] {
		t.c.s.occupy(r)
		if t.c.s.leasts > 0 {
			t.c.s.setLead(r.job.ID, t.leads[i])
		}
	}
}

// take takes a place in the profile.
func (t *trial) take(r *record) {
	t.c.s.occupy(r)
	t.taken = append(t.taken, *r)
}

// arrange has the job begin at the placement, and gives each of the others a place at its start, one after
// another: its own slots if they are free, else those that the placement rule chooses. ok is false if one
// fits nowhere.
func (t *trial) arrange(r *record, at Placement, start Time) (a Arrangement, ok bool) {
	s := t.c.s
	t.take(&record{job: r.job, phase: running, placement: at, start: start, end: s.plannedEnd(r.job, at, start)})
	for _, former := range t.others {
		request, next := s.Request(former.job), *former
		if !s.profile.Fits(request, former.placement, former.start) {
			if next.placement, ok = s.profile.Place(request, former.start); !ok {
				return a, false
			}
			if next.end = s.plannedEnd(former.job, next.placement, former.start); next.end < former.end {
				return a, false // a job without an estimate would end sooner with its slot
			}
			a.Moved = append(a.Moved, Moved{Job: former.job, Start: former.start, At: next.placement})
		}
		t.take(&next)
	}
	a.At = at
	return a, s.leasts == 0 || t.stands(a)
}

// filling returns what places the job and the others quickly, if the slots are alike.
func (t *trial) filling(r *record, start Time) (f *profile.Filling, ok bool) {
	s := t.c.s
	if s.leasts > 0 || s.profile.Ends().Count() > 0 {
		return nil, false
	}
	known := map[int]bool{} // candidates that are of equal rank
	for _, j := range append([]*record{r}, t.others...) {
		if !s.dividesInto(j.job) {
			return nil, false
		}
		if id := j.job.Candidates; !known[id] {
			rank := s.candidates[id].Rank
			if slices.ContainsFunc(rank, func(class int32) bool { return class != rank[0] }) {
				return nil, false
			}
			known[id] = true
		}
	}
	return profile.FillingOf(&s.profile.View, start)
}

// fill is [trial.arrange] where the slots are alike. It leaves the profile as it is.
func (t *trial) fill(f *profile.Filling, r *record, start Time) (a Arrangement, ok bool) {
	if a.At, ok = f.Place(r.job.Nodes); !ok {
		return a, false
	}
	f.Take(a.At, start+r.job.Estimate)
	for _, former := range t.others {
		f.GoTo(former.start)
		at, end := former.placement, former.end
		if !f.Fits(at) {
			if at, ok = f.Place(former.job.Nodes); !ok {
				return a, false
			}
			if end = former.start + former.job.Estimate; end < former.end {
				return a, false
			}
			a.Moved = append(a.Moved, Moved{Job: former.job, Start: former.start, At: at})
		}
		f.Take(at, end)
	}
	return a, true
}

// stands reports whether the places that were taken can be taken beside those that did not move. Where jobs
// need more free than they take when they begin, they may not, as that depends on the order: one that begins
// at the same instant as another took its place after it.
func (t *trial) stands(a Arrangement) bool {
	s := t.c.s
	moves := func(r *record) bool {
		return r == &t.taken[0] || slices.ContainsFunc(a.Moved, func(m Moved) bool { return m.Job == r.job })
	}
	var moved []*record
	for i := range t.taken {
		if r := &t.taken[i]; moves(r) {
			s.vacate(r)
			moved = append(moved, r)
		}
	}
	fits := true
	for _, r := range moved {
		fits = fits && s.profile.Fits(s.Request(r.job), r.placement, r.start)
		s.occupy(r)
	}
	return fits
}

// shares reports whether some of the job's chunks are placed on a slot of the placement.
func (r *record) shares(at Placement) bool {
	for i := range at {
		if r.on(at[i].Slot) {
			return true
		}
	}
	return false
}
