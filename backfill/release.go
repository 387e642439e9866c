package backfill

import "iter"

// A job with a Release in the future waits in the queue's order like any other, but passes over the
// queue do not see it: it blocks nobody. Policies that reserve may plan it, from its release on. A
// Released event, which the host adds, is the end of that.

// early reports whether the job may not start yet.
func (c *Cycle) early(j *Job) bool { return j.Early(c.round.Now) }

// released returns those of the jobs that may start.
func (c *Cycle) released(jobs iter.Seq[*Job]) iter.Seq[*Job] {
	if c.s.early.Len() == 0 {
		return jobs
	}
	return func(yield func(*Job) bool) {
		for j := range jobs {
			if !c.early(j) && !yield(j) {
				return
			}
		}
	}
}

// aside reports whether a waiting job is not among those that a pass over the jobs without
// reservations looks at: it has one, or may not start yet.
func (r *record) aside() bool { return r.placement != nil || r.early }

// letStart takes note that a job may start, unless an event of the round took it out of the queue.
func (c *Cycle) letStart(id JobID) {
	if r := c.s.jobs.Find(id); r.early {
		next := *r
		c.set(id, &next)
	}
}

// comeOfAge returns a Released event for each waiting job that may start from the round on. Jobs
// that the round has an event for are left out: that event takes note of it.
func (s *State) comeOfAge(r *Round) (events []Event) {
	if first, ok := s.early.Min(); !ok || first.job.Early(r.Now) {
		return nil
	}
	known := r.concerned()
	s.early.Scan(func(q queued) bool {
		over := !q.job.Early(r.Now)
		if over && !known.Has(q.job.ID) {
			events = append(events, Event{Kind: Released, JobID: q.job.ID})
		}
		return over
	})
	return events
}

// followEarly updates the index of the jobs that may not start yet for a changed record.
func (s *State) followEarly(old, now *record) {
	if old.early == now.early && old.job == now.job {
		return
	}
	if old.early {
		s.early.Delete(queued{float64(old.job.Release), old.job})
	}
	if now.early {
		s.early.Set(queued{float64(now.job.Release), now.job})
	}
}

// firstReleased returns the first job in the queue's order that may start, or nil if there
// is none.
func (s *State) firstReleased() (first *queued) {
	if s.early.Len() == 0 {
		return s.queue.first()
	}
	s.queue.ascend(nil, func(q queued) bool {
		if !q.job.Early(s.now) {
			first = &q
		}
		return first == nil
	})
	return first
}
