package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// stack is a number of reservations, and the jobs that may have them.
type stack struct {
	depth int
	qos   []string // nil: all jobs
}

// serves says whether a job may have a reservation of the stack.
func (s stack) serves(j *backfill.Job) bool {
	return s.qos == nil || slices.Contains(s.qos, j.Labels["qos"])
}

// hasRoom says whether there are reservations left to be given.
func (i *iteration) hasRoom() bool {
	return slices.ContainsFunc(i.room, func(left int) bool { return left > 0 })
}

// takesRoom gives a blocked job a reservation of the first stack that serves it
// and has one left.
func (i *iteration) takesRoom(j *backfill.Job) bool {
	for n, s := range i.stacks[:len(i.room)] {
		if i.room[n] > 0 && s.serves(j) {
			i.room[n]--
			return true
		}
	}
	return false
}

// keepReservations takes the events and lists the jobs that have had a
// reservation before them and keep it, or get another where an event took it
// away. A job that was edited is another one; and what another policy planned is
// given up.
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
			delete(claims, e.Spec.ID)
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

// considersClaim is considers for a job that keeps its reservation. It is judged
// by the hard limits alone; where they are in the way when its time has come, it
// loses the reservation.
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
