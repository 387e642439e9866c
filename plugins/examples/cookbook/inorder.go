package cookbook

import "github.com/condor-backfill/condor-backfill/backfill"

// inOrder starts the jobs that fit now, in the given order. The first ones that do not fit get a
// reservation, as many as given; the jobs after them cannot delay these.
func inOrder(c *backfill.Cycle, jobs []*backfill.Job, reservations int) {
	for _, j := range jobs {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		} else if reservations > 0 {
			reservations--
			if start, at, ok := c.Earliest(j, c.Now()); ok {
				c.Reserve(j, start, at)
			}
		}
	}
}

// decides makes a policy without options of a function.
func decides(decide backfill.PolicyFunc) func(backfill.Values) (backfill.Policy, error) {
	return func(backfill.Values) (backfill.Policy, error) { return decide, nil }
}
