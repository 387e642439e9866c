package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// stack is a number of reservations for the jobs of some QOS's: one entry of Maui's
// RESERVATIONDEPTH with its RESERVATIONQOSLIST.
type stack struct {
	depth int      // number of reservations
	qos   []string // nil: the reservations are for all jobs
}

// serves reports whether the stack's reservations are for jobs of this job's QOS, or for all jobs.
func (s stack) serves(j *backfill.Job) bool {
	return s.qos == nil || slices.Contains(s.qos, j.Labels["qos"])
}

// hasRoom reports whether any stack has a reservation left to give.
func (i *iteration) hasRoom() bool {
	return slices.ContainsFunc(i.room, func(left int) bool { return left > 0 })
}

// takes uses up one reservation of the room, by index of stacks: of the first stack that is for the
// job's QOS and has one left. It returns false if there is no such stack.
func (i *iteration) takes(room []int, j *backfill.Job) bool {
	for n, s := range i.stacks[:len(room)] {
		if room[n] > 0 && s.serves(j) {
			room[n]--
			return true
		}
	}
	return false
}

// plansAhead reports whether a job that may not start yet gets a reservation: as many do, besides
// the blocked jobs, as their stack has reservations.
func (i *iteration) plansAhead(j *backfill.Job, l level) bool {
	return i.use.allow(j, l) && (i.claims[j.ID] || i.hasRoom() && i.takes(i.early, j))
}

// keepReservations takes the events and returns the jobs that had a reservation before them and may
// have one again, even if an event took it away. A job that was edited loses its reservation. If
// another policy made the reservations, all are released and the result is nil.
func keepReservations(c *backfill.Cycle) map[backfill.JobID]bool {
	claims := map[backfill.JobID]bool{}
	for _, j := range c.Fast().Planned() {
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
	for _, j := range c.Fast().Planned() {
		c.Release(j)
	}
	return nil
}

// considersClaim is considers for a job in i.claims, which had a reservation before the cycle. Only
// hard limits apply: a job that would exceed one when its planned start has come loses the
// reservation.
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
