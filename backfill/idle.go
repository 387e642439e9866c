package backfill

import (
	"cmp"
	"slices"
)

// Claims is the resource that says how many jobs a slot can host, of which each takes one; pools whose slots
// can all host any number do without it.
const Claims = "claims"

// ReservedIdle returns how many of the cpus that no job uses now are kept free for reservations:
// the cost of draining slots for a wide job. By planned start, each reservation counts as many of
// the cpus still left idle on its slots as it will use there. The result is at most the pool's cpus
// less those in use, even if jobs use more of a slot than it has. What is idle on a slot that can host no further job is kept
// free for nobody, and does not count.
//
// The search does nothing if no cpu is idle or no job is planned, and otherwise ends with the
// reservation that takes the last idle cpu.
func (s *State) ReservedIdle() (cpus int64) {
	idle := s.capacity[0] - s.use[0]
	if idle <= 0 || s.planned.Len() == 0 {
		return 0
	}
	claims := slices.Index(s.resources, Claims)
	var left map[SlotID]int64 // idle cpus that no reservation has taken, of the slots met so far
	if s.planned.Len() > 1 {  // else each slot is met once
		left = map[SlotID]int64{}
	}
	s.planned.Scan(func(p planned) bool {
		r := s.jobs.Find(p.job.ID)
		for _, at := range r.placement {
			free, met := left[at.Slot]
			if !met {
				free = max(0, s.profile.FreeOf(at.Slot, 0, s.now))
				if claims >= 0 && s.profile.FreeOf(at.Slot, claims, s.now) <= 0 {
					free = 0
				}
			}
			taken := min(free, s.Chunk(p.job, at.Slot)[0]*int64(at.Count))
			if cpus += taken; left != nil {
				left[at.Slot] = free - taken
			}
		}
		return cpus < idle
	})
	return min(cpus, idle)
}

// OnReserved reports whether the i-th job that the decision started runs on a slot where a job that
// comes before it has a reservation, or had one until the starts of the round made it void.
// "Before" is by the queue's order or, if the policy gives guarantees, by submit time and queue
// position. The decision must be the last one on the state.
func (s *State) OnReserved(d *Decision, i int) (stands bool) {
	started := &d.Started[i]
	before := func(j *Job, key float64) bool {
		order := Compare(j, started.Job)
		if !s.guarantees {
			order = cmp.Or(cmp.Compare(key, started.key), order)
		}
		return order < 0
	}
	used := make(map[SlotID]bool, len(started.Placement))
	for _, at := range started.Placement {
		used[at.Slot] = true
	}
	stood := func(r *record) bool {
		return before(r.job, s.keyOf(r)) && slices.ContainsFunc(r.placement, func(at Chunks) bool { return used[at.Slot] })
	}
	s.planned.Scan(func(p planned) bool {
		// Under guarantees the key does not count, and most records need not be read.
		stands = (!s.guarantees || before(p.job, 0)) && stood(s.jobs.Find(p.job.ID))
		return !stands
	})
	for n := range s.void {
		stands = stands || stood(&s.void[n])
	}
	return stands
}
