package backfill

import (
	"fmt"
	"slices"
)

// Resume goes on from a state as plain data, as if the host had led to it: nothing is
// announced if the policy in charge there is the host's. The order is asked for the
// jobs' keys at the state's Now. It refuses what [Restore] does, and reservations that
// could not be made where they are. An error, a [*JobError] where a job is to blame,
// changes nothing.
func (h *Host) Resume(snap Snapshot) error {
	snap.Jobs = slices.Clone(snap.Jobs)
	for i := range snap.Jobs {
		if j := &snap.Jobs[i]; j.Job != nil && j.Job.validate(len(snap.Resources)) == nil {
			j.Key = h.key(j.Job, snap.Now)
		}
	}
	s, err := Restore(snap)
	if err != nil {
		return err
	}
	if err = s.checkPlan(); err != nil {
		return err
	}
	h.State, h.keyed = s, true
	return nil
}

// checkPlan refuses reservations to come that could not be made where they are.
// Where nothing is overfull that is no matter of what is free.
func (s *State) checkPlan() (err error) {
	overfull := map[SlotID]bool{}
	isOverfull := func(c Chunks) bool {
		is, known := overfull[c.Slot]
		if !known {
			is = s.profile.Overfull(c.Slot, s.now)
			overfull[c.Slot] = is
		}
		return is
	}
	s.planned.Scan(func(p planned) bool {
		r := s.jobs.Find(p.job.ID)
		request := s.request(r.job)
		if r.start < s.now || s.profile.Covers(request, r.placement) && !slices.ContainsFunc(r.placement, isOverfull) {
			return true
		}
		s.profile.Remove(r.placement, request.Chunk, r.start, r.end)
		if misfit := s.profile.Misfit(request, r.placement, r.start); misfit != nil {
			err = &JobError{Job: p.job.ID, Err: fmt.Errorf("job %d is planned for %d: %w", p.job.ID, p.at, misfit)}
		}
		s.profile.Add(r.placement, request.Chunk, r.start, r.end)
		return err == nil
	})
	return err
}
