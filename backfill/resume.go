package backfill

import (
	"fmt"
	"slices"
)

// Resume replaces the host's state by a snapshot and continues from there. No PolicyChanged event
// follows if the snapshot has the same policy. All keys are computed by the host's order at the
// snapshot's Now, for its slots that are up. If [Restore] fails or a reservation has no room, Resume
// changes nothing and returns an error, a [*JobError] if one job is the cause.
func (h *Host) Resume(snap Snapshot) error {
	snap.Jobs = slices.Clone(snap.Jobs)
	h.rank(h.follows(snap.Planning))
	at := Moment{Now: snap.Now, Capacity: snap.capacity()}
	for i := range snap.Jobs {
		if j := &snap.Jobs[i]; j.Job != nil && j.Job.validate(len(snap.Resources)) == nil {
			j.Key, _ = h.key(j.Job, at)
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

// checkPlan returns an error if a reservation that starts now or later has no room where it is
// planned. It tests only those on an overfull slot, in an overfull row, or outside the windows of the
// job's candidates: the others fit.
func (s *State) checkPlan() (err error) {
	overfull := map[SlotID]bool{}
	isOverfull := func(c Chunks) bool {
		over, known := overfull[c.Slot]
		if !known {
			over = s.profile.Overfull(c.Slot, s.now)
			overfull[c.Slot] = over
		}
		return over
	}
	var full []RowID
	for _, row := range s.rows {
		if s.profile.Rows().Overfull(row.ID, s.now) {
			full = append(full, row.ID)
		}
	}
	s.planned.Scan(func(p planned) bool {
		r := s.jobs.Find(p.job.ID)
		request := s.Request(r.job)
		if r.start < s.now || s.profile.Opens(request, r.placement, r.start) &&
			!slices.ContainsFunc(r.placement, isOverfull) && !r.job.takesOf(full) {
			return true
		}
		s.vacate(r)
		if misfit := s.profile.Misfit(request, r.placement, r.start); misfit != nil {
			err = &JobError{Job: p.job.ID, Err: fmt.Errorf("job %d is planned for %d: %w", p.job.ID, p.at, misfit)}
		}
		s.occupy(r)
		return err == nil
	})
	return err
}
