package backfill

import "slices"

// residents lists, for each slot, the jobs that run or are planned there, and some that were so earlier
// in the cycle. A cycle lists them when an event first asks who is on a slot: each further event costs
// what is on its slots, so that thousands of slots may change or go in one cycle.
type residents map[SlotID][]JobID

// add enters a job on the slots of its placement.
func (on residents) add(id JobID, at Placement) {
	for i := range at {
		on[at[i].Slot] = append(on[at[i].Slot], id)
	}
}

// residents returns the cycle's list, and makes it if there is none.
func (c *Cycle) residents() residents {
	if c.onSlots == nil {
		c.onSlots = residents{}
		c.s.running.Scan(func(q queued) bool {
			c.onSlots.add(q.job.ID, c.s.jobs.Find(q.job.ID).placement)
			return true
		})
		c.s.planned.Scan(func(p planned) bool {
			c.onSlots.add(p.job.ID, c.s.jobs.Find(p.job.ID).placement)
			return true
		})
	}
	return c.onSlots
}

// jobsOn returns the records of the running jobs on the slots, by expected end, or of the waiting jobs
// that are planned there, by planned start; then in order of jobs.
func (c *Cycle) jobsOn(slots []SlotID, in phase) (found []record) {
	on := c.residents()
	for i, slot := range slots {
		ids := on[slot]
		slices.Sort(ids)
		ids = slices.DeleteFunc(slices.Compact(ids), func(id JobID) bool {
			r := c.s.jobs.Find(id)
			return r == nil || !r.on(slot)
		})
		on[slot] = ids
		for _, id := range ids {
			if r := c.s.jobs.Find(id); r.phase == in && !slices.ContainsFunc(slots[:i], r.on) {
				found = append(found, *r)
			}
		}
	}
	slices.SortFunc(found, func(a, b record) int { return a.when().compare(b.when()) })
	return found
}

// when returns a placed job with the instant by which it is listed: its expected end or its planned
// start.
func (r *record) when() planned {
	if r.phase == running {
		return planned{r.end, r.job}
	}
	return planned{r.start, r.job}
}

// plannedOn returns the records of the planned jobs on the slots and in the rows, by planned start, then
// in order of jobs.
func (c *Cycle) plannedOn(slots []SlotID, rows []RowID) (found []record) {
	if len(rows) == 0 {
		return c.jobsOn(slots, waiting)
	}
	c.s.planned.Scan(func(p planned) bool {
		if r := c.s.jobs.Find(p.job.ID); slices.ContainsFunc(slots, r.on) || r.job.takesOf(rows) {
			found = append(found, *r)
		}
		return true
	})
	return found
}

// on reports whether some of the job's chunks are placed on the slot.
func (r *record) on(slot SlotID) bool {
	for i := range r.placement {
		if r.placement[i].Slot == slot {
			return true
		}
	}
	return false
}

// slotsOf lists the slots of a placement.
func slotsOf(p Placement) []SlotID {
	ids := make([]SlotID, len(p))
	for i, chunks := range p {
		ids[i] = chunks.Slot
	}
	return ids
}
