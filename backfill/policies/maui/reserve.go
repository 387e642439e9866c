package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// stack is a number of reservations, for the jobs of some QOS's.
type stack struct {
	depth int
	qos   []string // nil: the stack serves all jobs
}

// serves reports whether a job may get one of the stack's reservations.
func (s stack) serves(j *backfill.Job) bool {
	return s.qos == nil || slices.Contains(s.qos, j.Labels["qos"])
}

// hasRoom reports whether any stack has a reservation left.
func (i *iteration) hasRoom() bool {
	return slices.ContainsFunc(i.room, func(left int) bool { return left > 0 })
}

// takesRoom uses up a reservation of the first stack that serves a blocked job and has one left. It
// returns false if there is none.
func (i *iteration) takesRoom(j *backfill.Job) bool {
	for n, s := range i.stacks[:len(i.room)] {
		if i.room[n] > 0 && s.serves(j) {
			i.room[n]--
			return true
		}
	}
	return false
}

// keepReservations takes the events. It returns the jobs that had a reservation before the events
// and keep it, or get another one because an event took it away. Edited jobs and reservations made
// by another policy lose theirs.
func keepReservations(c *backfill.Cycle) map[backfill.JobID]bool {
	claims := map[backfill.JobID]bool{}
	for _, j := range c.Planned() {
		claims[j.ID] = true
	}
	changed := false
	for e, more := c.Next(); more; e, more = c.Next() {
		switch e.Kind {
		case backfill.PolicyChanged:
			changed = true
		case backfill.Changed:
			delete(claims, e.Job.ID)
		default:
		}
	}
	if !changed {
		return claims
	}
	for _, j := range c.Planned() {
		c.Release(j)
	}
	return nil
}

// considersClaim is considers for a job that keeps its reservation. Only the hard limits apply: a
// job that exceeds one when its start has come loses the reservation.
func (i *iteration) considersClaim(j *backfill.Job) bool {
	start, _, placed := i.c.Reservation(j)
	due := placed && start == i.c.Now()
	switch {
	case !i.use.allow(j, hard):
		if due {
			i.c.Release(j)
		}
		return false
	case i.fill == nil && i.blocked && !due:
		return !i.fits(j)
	default:
		return true
	}
}
