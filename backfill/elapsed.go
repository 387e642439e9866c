package backfill

import "github.com/condor-backfill/condor-backfill/backfill/profile"

// idle reports whether the queue is empty before the round and certainly empty after its events.
func (s *State) idle(r *Round) bool {
	if s.queue.Len() > 0 {
		return false
	}
	for i := range r.Events {
		switch r.Events[i].Kind {
		case Submitted, Changed, StartFailed, SlotLost:
			return false
		case SlotAdded, SlotChanged: // may bring held jobs back
			if s.held.Len() > 0 {
				return false
			}
		default:
		}
	}
	return true
}

// elapsed returns the events that the passing of time brings: for running jobs that have reached
// their expected end, and for reservations whose start has passed. Jobs that the round has an event
// for are left out.
func (s *State) elapsed(r *Round) []Event {
	over := func(p planned, limit Time) bool { return p.at < limit }
	if first, ok := s.running.Min(); !ok || Time(first.key) > r.Now {
		if p, planned := s.planned.Min(); !planned || !over(p, r.Now) {
			return nil
		}
	}
	known := r.concerned()
	var events []Event
	s.running.Scan(func(p queued) bool {
		ended := Time(p.key) <= r.Now
		if ended && !known.Has(p.job.ID) {
			rec := s.jobs.Find(p.job.ID)
			end := r.Now + lateYield
			if !rec.yields {
				end = ExpectedEnd(p.job, p.job.runs(s.guarantees), rec.start, r.Now)
			}
			events = append(events, Event{Kind: EstimateChanged, JobID: p.job.ID, End: end})
		}
		return ended
	})
	s.planned.Scan(func(p planned) bool {
		if over(p, r.Now) && !known.Has(p.job.ID) {
			events = append(events, Event{Kind: StartFailed, JobID: p.job.ID})
		}
		return over(p, r.Now)
	})
	return events
}

// unpredicted returns an EstimateChanged event for each running job whose end was predicted, for
// the round in which a policy with guarantees takes over: from then on, the job is planned with the
// time that it requests. Jobs that the round has an event for are left out.
func (s *State) unpredicted(r *Round) []Event {
	known := r.concerned()
	var events []Event
	s.running.Scan(func(p queued) bool {
		rec := s.jobs.Find(p.job.ID)
		if p.job.Running != 0 && !rec.yields && !known.Has(p.job.ID) {
			events = append(events, Event{
				Kind: EstimateChanged, JobID: p.job.ID,
				End: ExpectedEnd(p.job, p.job.limit(), rec.start, r.Now),
			})
		}
		return true
	})
	return events
}

// heldByPolicy returns a Changed event for each job that a policy held, so that it waits again. Jobs
// that the round has an event for are left out: most of these events let it wait, too.
func (s *State) heldByPolicy(r *Round) []Event {
	if s.held.Len() == 0 {
		return nil
	}
	known := r.concerned()
	var events []Event
	s.held.Scan(func(q queued) bool {
		if !NeverFits(s.jobs.Find(q.job.ID).hold) && !known.Has(q.job.ID) {
			events = append(events, Event{Kind: Changed, Job: q.job})
		}
		return true
	})
	return events
}

// rematched returns a Changed event for each job that a changed candidate set affects: its
// reservation is on a slot that is no longer a candidate, or not open at its start, or that needs more
// free then than before; or it waits and no longer fits even an empty pool, or it was held for that
// and fits again.
func (s *State) rematched(r *Round) []Event {
	if len(r.Candidates) == 0 {
		return nil
	}
	changed := map[int]*Candidates{}
	for i, set := range r.Candidates {
		if set.ID < len(s.candidates) {
			changed[set.ID] = &r.Candidates[i].Candidates
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if _, _, err := s.with(r); err != nil {
		return nil // the round will be refused
	}
	p := s.profileWith(r)
	known := r.concerned()
	var events []Event
	s.jobs.Scan(func(id JobID, rec *record) bool {
		if set := changed[rec.job.Candidates]; set != nil && !known.Has(id) && s.moves(p, rec, set) {
			events = append(events, Event{Kind: Changed, Job: rec.job, Key: rec.key})
		}
		return true
	})
	return events
}

// moves reports whether a job's new candidate set makes its reservation impossible, holds it
// because it fits nowhere any more, or brings it back to the queue because it fits again.
func (s *State) moves(p *profile.Profile, r *record, set *Candidates) bool {
	request := s.Request(r.job)
	request.Candidates = set
	switch {
	case r.phase == running:
		return false
	case r.phase == held:
		return NeverFits(r.hold) && p.EverFits(request)
	case r.placement != nil:
		return !p.Opens(request, r.placement, r.start) || s.needsMore(r, set)
	default:
		return !p.EverFits(request)
	}
}
