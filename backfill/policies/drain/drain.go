// Package drain is the backfilling of the Blue Gene/P at Argonne. The first job that cannot start
// drains a partition: of those that can hold the job, the one that becomes free first by the
// estimated ends of the running jobs. The time until then is the window, in which other jobs may
// run in the partition.
//
// Any other job may take an idle partition that does not conflict with the drained one. It may take
// a partition that conflicts if the job ends within the window. If several partitions become free
// at the same time, or a job can choose between idle ones, the one that blocks the fewest others is
// taken, then the first by name.
//
// This is EASY backfilling with one reservation: the partition that becomes free first is the
// earliest place beside the running jobs, and a job delays that reservation exactly if its
// partition conflicts and the job ends after the window. So drain shares EASY's pass over the
// queue. A pool without partitions is drained slot by slot. What drain adds are the scheduling
// points: jobs arrive and end at any time, but start only at the multiples of an interval.
//
// Source: W. Tang, N. Desai, D. Buettner, Z. Lan, Analyzing and adjusting user runtime estimates to
// improve job scheduling on the Blue Gene/P, IPDPS 2010.
package drain

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "drain",
		Doc: "drains the partition that frees first for the first blocked job; others run beside it, or in it " +
			"until then",
		Promise: "the first blocked job is not delayed: if estimates are right it starts by the time its partition " +
			"is free",
		Source: "Tang et al., IPDPS 2010",
		Options: []backfill.Option{{
			Name: "interval", Default: "0", Type: backfill.LengthOfTime,
			Doc: "time between scheduling points, the first of which is at 0; 0: whenever something happens. The " +
				"study has 10",
		}},
		New: func(v backfill.Values) (backfill.Policy, error) {
			interval := v.Time("interval")
			return backfill.PolicyFunc(func(c *backfill.Cycle) { decide(c, interval) }), nil
		},
	}
}

// decide starts the jobs that fit now in the queue's order, and reserves for the first that does
// not. It does so only at the multiples of interval, the scheduling points, or always if interval
// is 0.
func decide(c *backfill.Cycle, interval backfill.Time) {
	if interval > 0 {
		if past := (c.Now()%interval + interval) % interval; past > 0 {
			putOff(c, c.Now()-past+interval)
			return
		}
	}
	scan.Depth(c, 1)
	if interval > 0 && c.State().Waiting() > 0 {
		c.Wake(c.Now() + interval) // another job may be the first blocked one by then
	}
}

// putOff takes the events but starts no job. It moves each reservation whose start has come to the
// job's earliest start from the next scheduling point on, or releases it if there is none.
func putOff(c *backfill.Cycle, next backfill.Time) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range c.Due() {
		if start, at, ok := c.Earliest(j, next); ok {
			c.Reserve(j, start, at)
		} else {
			c.Release(j)
		}
	}
	if c.State().Waiting() > 0 {
		c.Wake(next)
	}
}
