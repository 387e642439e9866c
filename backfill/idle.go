package backfill

import (
	"cmp"
	"slices"
)

// ReservedIdle is how many of the cpus that no job uses now are kept free for
// reservations: what a wide job's reservation costs while its slots drain. Going by
// planned start, each reservation takes as much of what is left idle on its slots
// as it will use there. It is at most what is idle in all; a slot that has lost
// capacity under what runs on it counts against the others.
//
// It costs nothing if nothing is idle or nothing is planned, and otherwise ends
// with the reservation that takes the last idle cpu.
func (s *State) ReservedIdle() (cpus int64) {
	idle := s.capacity[0] - s.use[0]
	if idle <= 0 || s.planned.Len() == 0 {
		return 0
	}
	left := map[SlotID]int64{} // of the slots that were met
	s.planned.Scan(func(p planned) bool {
		r, _ := s.jobs.Get(p.job.ID)
		for _, at := range r.placement {
			free, met := left[at.Slot]
			if !met {
				free = max(0, s.profile.FreeOf(at.Slot, 0, s.now))
			}
			taken := min(free, s.Chunk(p.job, at.Slot)[0]*int64(at.Count))
			left[at.Slot] = free - taken
			cpus += taken
		}
		return cpus < idle
	})
	return min(cpus, idle)
}

// OnReserved reports whether the i-th job that the decision started runs on a slot that was
// reserved for a job before it: in the queue's order, or under guarantees in the order of jobs. It
// must be asked of the last decision.
func (s *State) OnReserved(d *Decision, i int) (stands bool) {
	started := &d.Started[i]
	used := make(map[SlotID]bool, len(started.Placement))
	for _, at := range started.Placement {
		used[at.Slot] = true
	}
	stood := func(r *record) bool {
		order := Compare(r.job, started.Job)
		if !s.guarantees {
			order = cmp.Or(cmp.Compare(r.key, started.key), order)
		}
		return order < 0 && slices.ContainsFunc(r.placement, func(at Chunks) bool { return used[at.Slot] })
	}
	s.planned.Scan(func(p planned) bool {
		r, _ := s.jobs.Get(p.job.ID)
		stands = stood(&r)
		return !stands
	})
	for n := range s.void {
		stands = stands || stood(&s.void[n])
	}
	return stands
}
