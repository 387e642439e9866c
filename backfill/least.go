package backfill

// Candidates may say what must be free just before a job begins there ([Candidates.Least]). A
// reservation needs that much in its first second, whatever is planned after it. So it occupies it
// there, beside its own chunks, and others do not take it away. When the job begins, it occupies its
// chunks only. Several such reservations of one second share what they occupy beside their chunks: the
// jobs begin one after another, and each needs it only until it has begun ([profile.Profile.Lead]).

// leads are what reservations occupy in their first second beside their chunks, by job. A state
// without candidates that need more than a chunk has none.
type leads map[JobID][]Freed

// lead returns what the record occupies in its first second beside its chunks; nil: nothing.
func (s *State) lead(r *record) (lead []Freed) {
	if s.leasts == 0 || r.phase != waiting || r.placement == nil || s.candidates[r.job.Candidates].Least == nil {
		return nil
	}
	request := s.Request(r.job)
	for _, on := range r.placement {
		if spare := request.Spare(on.Slot); spare != nil {
			lead = append(lead, Freed{At: r.start, Slot: on.Slot, Amount: spare})
		}
	}
	return lead
}

// occupy enters the place of a record into the profile, with what its job takes of rows.
func (s *State) occupy(r *record) {
	s.profile.Add(r.placement, r.job.chunk(), r.start, r.end)
	if r.job.Takes != nil {
		s.profile.Take(r.job.Takes, r.start, r.end)
	}
	if lead := s.lead(r); lead != nil {
		s.setLead(r.job.ID, lead)
	}
}

// vacate is the inverse of occupy.
func (s *State) vacate(r *record) {
	s.profile.Remove(r.placement, r.job.chunk(), r.start, r.end)
	if r.job.Takes != nil {
		s.profile.GiveBack(r.job.Takes, r.start, r.end)
	}
	if s.leads[r.job.ID] != nil {
		s.setLead(r.job.ID, nil)
	}
}

// setLead replaces what a job's reservation occupies in its first second beside its chunks.
func (s *State) setLead(id JobID, lead []Freed) {
	for _, part := range s.leads[id] {
		s.profile.Lead(part.Slot, part.At, part.Amount, -1)
	}
	for _, part := range lead {
		s.profile.Lead(part.Slot, part.At, part.Amount, 1)
	}
	switch {
	case lead == nil:
		delete(s.leads, id)
	case s.leads == nil:
		s.leads = leads{id: lead}
	default:
		s.leads[id] = lead
	}
}

// begins reports whether a job begins as planned, and leaves what its reservation had occupied beside
// its chunks.
func (s *State) begins(old, now *record) bool {
	return len(s.leads) > 0 && old.phase != now.phase && s.leads[now.job.ID] != nil
}

// setLeast takes note that a candidate set is new or another one. Reservations that need less now, or
// all if they are to be as the set says in any case, occupy what the new one says.
func (s *State) setLeast(id int, old, now *Candidates, all bool) {
	had, has := old != nil && old.Least != nil, now != nil && now.Least != nil
	if had {
		s.leasts--
	}
	if has {
		s.leasts++
	}
	if !had && !has || old == nil || now == nil {
		return
	}
	s.planned.Scan(func(p planned) bool {
		if p.job.Candidates != id {
			return true
		}
		if lead := s.lead(s.jobs.Find(p.job.ID)); all || within(lead, s.leads[p.job.ID]) {
			s.setLead(p.job.ID, lead)
		}
		return true
	})
}

// within reports whether on no slot more is needed than before.
func within(now, before []Freed) bool {
	for _, part := range now {
		fits := false
		for _, other := range before {
			fits = fits || other.Slot == part.Slot && part.Amount.Within(other.Amount)
		}
		if !fits {
			return false
		}
	}
	return true
}

// needsMore reports whether a reservation needs more in its first second than it occupies then, if its
// job gets other candidates.
func (s *State) needsMore(r *record, set *Candidates) bool {
	if set.Least == nil {
		return false
	}
	request := s.Request(r.job)
	request.Candidates = set
	var lead []Freed
	for _, on := range r.placement {
		if spare := request.Spare(on.Slot); spare != nil {
			lead = append(lead, Freed{Slot: on.Slot, Amount: spare})
		}
	}
	return !within(lead, s.leads[r.job.ID])
}
