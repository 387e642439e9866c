// Package scan holds the passes over the queue that the queue policies share:
// start what stands at the head, then allocate or else reserve for the rest.
//
// fcfs, first-fit and easy are one loop with a different number of
// reservations; bb and ibb share its beginning and choose differently among
// the jobs that may be backfilled.
package scan

import "github.com/condor-backfill/condor-backfill/backfill"

// Begin opens a pass: it takes all events and gives up the reservations of the
// last pass, which are rebuilt each time.
func Begin(c *backfill.Cycle) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range c.Planned() {
		c.Release(j)
	}
}

// Heads opens a pass, starts the first job of the queue as long as it fits now,
// and reserves for the pivot: the job left at the head, nil if there is none.
func Heads(c *backfill.Cycle) (pivot *backfill.Job) {
	Begin(c)
	for j := range c.Queue() {
		at, fits := c.FitsNow(j)
		if !fits {
			reserve(c, j)
			return j
		}
		c.Start(j, at)
	}
	return nil
}

// AllocateOrReserve opens a pass and goes once through the queue in its order. The first depth
// jobs that cannot start get a reservation at the earliest time that those
// before them leave; every other job starts if it fits now through its
// estimate, beside all that runs and all reservations.
func AllocateOrReserve(c *backfill.Cycle, depth int) {
	Begin(c)
	for j := range c.Queue() {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
			continue
		}
		if depth > 0 {
			reserve(c, j)
			depth--
		}
	}
}

// reserve gives a blocked job its earliest place.
func reserve(c *backfill.Cycle, j *backfill.Job) {
	if start, at, ok := c.Earliest(j, c.Now()); ok {
		c.Reserve(j, start, at)
	}
}
