package backfill

import (
	"cmp"
	"iter"
	"slices"
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

// StartableBeside is [Fast.Startable] with the jobs, too, that fit now once others' reservations were
// moved to other slots at their same starts. A job comes into question if the sums of the pool have room
// for it; at most so many are tried in a call. Each job comes with an arrangement, which
// is to be given to [Fast.Rearrange] with the start of the job.
func (f Fast) StartableBeside(tries int) iter.Seq2[*Job, Arrangement] {
	return func(yield func(*Job, Arrangement) bool) { f.c.startable(tries, yield) }
}

// EarliestBeside returns the job's earliest start that is not before notBefore, once others'
// reservations were moved to other slots at their same starts, with an arrangement. It knows only pools
// in which that is a question of sums: all slots are candidates of all jobs that wait, and chunks are of
// one cpu and of nothing else. For others, and for a job that has a reservation, ok is false.
func (f Fast) EarliestBeside(j *Job, notBefore Time) (start Time, a Arrangement, ok bool) {
	c := f.c
	r := c.s.jobs.Find(j.ID)
	if len(c.s.slots) == 1 || r == nil || r.placement != nil || !c.s.divisible() {
		return 0, a, false
	}
	start, ok = c.s.profile.Sums().Earliest(j.Total(), j.Estimate, j.NotBefore(notBefore), Forever)
	if !ok {
		return 0, a, false
	}
	if at, fits := c.s.profile.Place(c.s.Request(j), start); fits {
		return start, Arrangement{At: at}, true
	}
	a, ok = c.arrange(r, start, start, Forever)
	return start, a, ok
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
	return !j.Whole && j.Takes == nil && j.Request[0] == 1 && Vector(j.Request[1:]).Zero() && set.Windows == nil &&
		set.Least == nil && len(set.Slots) == len(s.slots)
}

// arrange looks for a place for a job from a start on, with others' reservations that begin in
// [from, to) moved as needed. Each is to keep its slots if they are free when its turn comes, in the order
// of starts; else all get others in that order; else in the order of widths.
func (c *Cycle) arrange(r *record, start, from, to Time) (a Arrangement, ok bool) {
	t := trial{c: c}
	c.s.planned.Scan(func(p planned) bool {
		if p.at >= from && p.at < to && p.job != r.job {
			t.others = append(t.others, c.s.jobs.Find(p.job.ID))
		}
		return p.at < to
	})
	defer t.end()
	t.begin(r)
	at, fits := c.s.profile.Place(c.s.Request(r.job), start)
	if !fits {
		return a, false
	}
	next := *r
	next.phase, next.placement, next.start, next.end = running, at, start, c.s.plannedEnd(r.job, at, start)
	t.take(&next)
	found := t.place(t.others, true) || t.place(t.others, false)
	if !found {
		wide := slices.Clone(t.others)
		slices.SortStableFunc(wide, func(a, b *record) int { return cmp.Compare(b.job.Total()[0], a.job.Total()[0]) })
		found = t.place(wide, false)
	}
	if !found {
		return a, false
	}
	a.At = at
	for i := range t.taken[1:] {
		now := &t.taken[1+i]
		if was := c.s.jobs.Find(now.job.ID); !was.placement.Equal(now.placement) {
			a.Moved = append(a.Moved, Moved{now.job, now.start, now.placement})
		}
	}
	return a, true
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
	t.giveBack(0)
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

// giveBack gives back all places that were taken but the first ones.
func (t *trial) giveBack(but int) {
	for i := range t.taken[but:] {
		t.c.s.vacate(&t.taken[but+i])
	}
	t.taken = t.taken[:but]
}

// place gives each of the records a place at its start, one after another: its own slots if they are to
// be kept and are free, else those that the placement rule chooses. If one fits nowhere, it takes no
// place for any.
func (t *trial) place(records []*record, keep bool) bool {
	s := t.c.s
	for _, r := range records {
		request, next := s.Request(r.job), *r
		if !keep || !s.profile.Fits(request, r.placement, r.start) {
			at, fits := s.profile.Place(request, r.start)
			if !fits {
				t.giveBack(1)
				return false
			}
			next.placement, next.end = at, s.plannedEnd(r.job, at, r.start)
		}
		t.take(&next)
	}
	return true
}
