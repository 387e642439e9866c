package backfill

import "iter"

// Fast is the second half of a [Cycle], which most policies do without. It is for those that must be
// fast although many jobs wait: passes that look only at the jobs in question, questions that cost
// less than [Cycle.Earliest], and what is remembered from one cycle to the next.
//
// The passes are in fitting.go ([Fast.Fitting]), startable.go ([Fast.Startable]) and depth.go
// ([Fast.Beyond]); what jobs gave back recently is in freed.go ([Fast.Freed]).
type Fast struct{ c *Cycle }

// Round returns the round that the cycle was opened with.
func (f Fast) Round() Round { return f.c.round }

// Begun reports whether the policy has taken an event or acted in this round: what a memo knows of the
// last round may then not hold any more.
func (f Fast) Begun() bool { return f.c.applied > 0 || len(f.c.actions) > 0 }

// Behind iterates over the jobs of [Cycle.Queue] that come after j; over none if there is no job j.
func (f Fast) Behind(j *Job) iter.Seq[*Job] {
	c := f.c
	return c.released(func(yield func(*Job) bool) {
		r, ok := c.s.jobs.Get(j.ID)
		if !ok {
			return
		}
		c.walk(queued{c.s.keyOf(&r), r.job}, yield)
	})
}

// Planned lists the jobs that have a reservation, by planned start, then submit time and queue
// position.
func (f Fast) Planned() []*Job {
	c := f.c
	jobs := make([]*Job, 0, c.s.planned.Len())
	c.s.planned.Scan(func(p planned) bool {
		jobs = append(jobs, p.job)
		return true
	})
	return jobs
}

// EarliestBefore returns the earliest start of the job that is not before notBefore, nor before the
// job may start, and is before limit, and its placement then, as if the job had no reservation; ok is false if there is none.
func (f Fast) EarliestBefore(j *Job, notBefore, limit Time) (start Time, at Placement, ok bool) {
	c := f.c
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return 0, nil, false
	}
	if notBefore = r.job.NotBefore(notBefore); notBefore >= limit {
		return 0, nil, false
	}
	c.without(r, func() { start, at, ok = c.s.profile.EarliestFitBefore(c.s.Request(r.job), notBefore, limit) })
	return start, at, ok
}

// PlaceAt chooses a placement where the job fits from the given start through its estimate, as if
// it had no reservation; ok is false if there is none.
func (f Fast) PlaceAt(j *Job, start Time) (at Placement, ok bool) {
	c := f.c
	r := c.s.jobs.Find(j.ID)
	if r == nil || r.job.Early(start) {
		return nil, false
	}
	ask := func() { at, ok = c.s.profile.Place(c.s.Request(r.job), start) }
	if start+j.Estimate <= r.start { // its own place is not in the way
		ask()
	} else {
		c.without(r, ask)
	}
	return at, ok
}

// Vacated is a place, slots for a time, that a job had before an event and lost or gave back.
type Vacated struct {
	Job        *Job
	Key        float64 // in the queue's order
	Start, End Time
	Placement  Placement
	Planned    bool // the job did not run there: it was a reservation, which is gone
}

// Vacated appends to the list the places that jobs lost or gave back by the event that [Cycle.Next]
// returned last. Call it before acting on the event.
func (f Fast) Vacated(list []Vacated) []Vacated {
	c := f.c
	for i := range c.undo[c.taken:] {
		old := c.undo[c.taken+i].old
		if old == nil || old.placement == nil {
			continue
		}
		if now := c.s.jobs.Find(old.job.ID); now != nil && now.placement != nil && now.phase == old.phase &&
			now.start <= max(old.start, c.round.Now) {
			if now.covers(old) {
				continue
			}
			if old.phase == waiting && now.start == old.start && now.placement.Equal(old.placement) {
				list = append(list, Vacated{Job: old.job, Key: c.s.keyOf(old), Start: now.end, End: old.end, Placement: old.placement})
				continue
			}
		}
		list = append(list, Vacated{
			Job: old.job, Key: c.s.keyOf(old), Start: old.start, End: old.end,
			Placement: old.placement, Planned: old.phase == waiting,
		})
	}
	return list
}

// Memo returns the value that the policy gave to [Fast.Remember] with the last decision on this
// very state. It is nil if another decider decided since, if the state is a clone, if that decision
// was refused, or if it started, beside reservations, a job whose expected run time is not its
// estimate. A memo only saves work: without it, the policy must decide the same.
func (f Fast) Memo() any { return f.c.memo }

// Remember stores a value for [Fast.Memo] in the next cycle, which says when it is lost.
func (f Fast) Remember(memo any) { f.c.remembered = memo }
