package track

import "slices"

// Several negotiators may plan the same job: those of the pools that its schedd flocks to, or those of
// one pool that have a part of its slots each. The first one that starts it wins. The others see in the
// schedd's queue that it runs, on slots that are not theirs: it runs elsewhere. Nobody has failed then,
// and what they promised it is neither kept nor broken.

// runsAway takes a job out of the plan that runs on slots which are not planned with. It runs
// elsewhere if no look has shown such a slot, and if it was not on its way there.
func (c *comparison) runsAway(j *Job, at []Place) {
	_, flies := c.flights[j.ID]
	if j.Phase != Waiting && !flies || !c.isElsewhere(j) {
		c.runsUnplanned(j, at)
		return
	}
	c.b.log.Info("a job runs elsewhere: another negotiator has started it", "job", c.b.Name(j), "slots", list(at))
	c.delta.Elsewhere = append(c.delta.Elsewhere, j.ID)
	c.withdraw(j)
}

// isElsewhere tells whether a job that runs by its queue does so on slots that are not this
// negotiator's.
func (c *comparison) isElsewhere(j *Job) bool {
	return !slices.ContainsFunc(c.b.places(j.Group), func(at Place) bool {
		return c.b.Slot(at.Slot) != nil || c.b.dropped[at.Slot] || hasPlace(j.Places, at.Slot)
	})
}
