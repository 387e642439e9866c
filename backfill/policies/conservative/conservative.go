// Package conservative is Conservative backfilling: every job gets a
// reservation when it arrives, at the earliest time that delays nobody before
// it, and that start is its guarantee.
//
// When a job ends earlier than planned, the plan is compressed: each waiting
// job in turn, by planned start, is taken out and placed again. A job can only
// move forward by this.
//
// Source: A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001; the order of
// compression as in Lindsay et al., Backfilling with guarantees granted upon
// job submission.
package conservative

import "github.com/condor-backfill/condor-backfill/backfill"

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:         "conservative",
		Doc:          "reserves for every job at its arrival and never starts one later than promised",
		Promise:      "each job starts by the time it was told at its arrival",
		Source:       "Mu'alem and Feitelson, IEEE TPDS 2001",
		Guarantees:   true,
		IgnoresOrder: true,
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

func decide(c *backfill.Cycle) {
	for {
		e, more := c.Next()
		if !more {
			break
		}
		for _, j := range e.Displaced {
			place(c, j)
		}
		if e.Kind == backfill.Submitted {
			place(c, e.Spec)
			if start, _, ok := c.Reservation(e.Spec); ok {
				c.Guarantee(e.Spec, start)
			}
		}
		if e.Freed {
			compress(c)
		}
	}
	for _, j := range c.Due() {
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
	}
}

// place plans a job at its earliest start.
func place(c *backfill.Cycle, j *backfill.Job) {
	if start, at, ok := c.Earliest(j, c.Now()); ok {
		c.Reserve(j, start, at)
	} else {
		c.Hold(j, "fits at no time that can be foreseen")
	}
}

// compress gives each waiting job, in the order of the plan as it is now, the
// chance to move forward.
func compress(c *backfill.Cycle) {
	for _, j := range c.Planned() {
		place(c, j)
	}
}
