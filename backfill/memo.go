package backfill

// Memo is what the policy remembered with the last decision on this very state;
// nil if somebody else decided since then, the state is a copy, or the decision
// was taken back. A memo only spares the policy work: without it, it decides the
// same.
func (c *Cycle) Memo() any { return c.memo }

// Remember keeps a memo for the next cycle, if the decision is accepted.
func (c *Cycle) Remember(memo any) { c.remembered = memo }

// EarliestBefore is [Cycle.Earliest] for a caller who has no use for a start at
// or after limit: the search ends there.
func (c *Cycle) EarliestBefore(j *Job, notBefore, limit Time) (start Time, at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return 0, nil, false
	}
	c.without(r, func() { start, at, ok = c.s.profile.EarliestFitBefore(c.s.request(r.job), notBefore, limit) })
	return start, at, ok
}

// PlaceAt is where the job would be placed at a start, if it were taken out of the plan.
func (c *Cycle) PlaceAt(j *Job, start Time) (at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return nil, false
	}
	ask := func() { at, ok = c.s.profile.Place(c.s.request(r.job), start) }
	if start+j.Estimate <= r.start { // its own place is not in the way
		ask()
	} else {
		c.without(r, ask)
	}
	return at, ok
}
