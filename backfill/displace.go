package backfill

import "slices"

// displace voids the reservations that no longer fit on the slots or in the rows, and returns them by
// planned start; see placeAgain. It looks only at slots that are down or overfull and at rows that are
// overfull: elsewhere all fit.
func (c *Cycle) displace(slots []SlotID, rows []RowID, cause Cause) (void []planned) {
	slots = slices.DeleteFunc(slices.Clone(slots), func(id SlotID) bool {
		return c.s.profile.Up(id) && !c.s.profile.Overfull(id, c.round.Now)
	})
	rows = c.overfull(rows)
	if len(slots) == 0 && len(rows) == 0 {
		return nil
	}
	return c.placeAgain(slots, rows, cause)
}

// placeAgain takes out all reservations on the slots and in the rows, and puts back, by planned start,
// each that fits beside the running jobs and the reservations that stay. It returns the others.
func (c *Cycle) placeAgain(slots []SlotID, rows []RowID, cause Cause) (void []planned) {
	out := c.plannedOn(slots, rows)
	for i := range out {
		c.requeue(&out[i], cause)
	}
	for i := range out {
		r := &out[i]
		if r.start >= c.round.Now && c.s.profile.Fits(c.s.Request(r.job), r.placement, r.start) {
			r.end = c.s.plannedEnd(r.job, r.placement, r.start)
			c.set(r.job.ID, r)
		} else {
			void = append(void, planned{r.start, r.job})
		}
	}
	return void
}
