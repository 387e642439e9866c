// Package drain is the backfilling of the Blue Gene/P at Argonne: the first job that
// cannot start drains the partition, among those that can hold it, which frees first by
// the running jobs' estimated ends. Until then, for the window, others may run in it.
//
// Any other job may take an idle partition that does not conflict with the one which is
// drained, or one that does, if the job ends within the window. Where partitions free at
// the same time, and where a job can choose between idle ones, it is the one that blocks
// fewest others, then the first by name.
//
// This is EASY backfilling with one reservation: the partition that frees first is the
// earliest place beside what runs, and what neither conflicts with it nor outlasts the
// window is what does not delay that. So it shares EASY's pass over the queue, and a
// pool without partitions is drained slot by slot. What is its own are the scheduling
// points: between them, jobs arrive and end, and none starts.
//
// Source: W. Tang, N. Desai, D. Buettner, Z. Lan, Analyzing and adjusting user runtime
// estimates to improve job scheduling on the Blue Gene/P, IPDPS 2010.
package drain

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:    "drain",
		Doc:     "drains the partition that frees first for the first blocked job; others run beside it, or in it until then",
		Promise: "the first blocked job is not delayed: if estimates are right it starts by the time its partition is free",
		Source:  "Tang et al., IPDPS 2010",
		Options: []backfill.Option{{
			Name: "interval", Default: "0", Type: backfill.LengthOfTime,
			Doc: "time between scheduling points, the first of which is at 0; 0: whenever something happens. The study has 10",
		}},
		New: func(v backfill.Values) (backfill.Policy, error) {
			interval := v.Time("interval")
			return backfill.PolicyFunc(func(c *backfill.Cycle) { decide(c, interval) }), nil
		},
	}
}

// decide is a pass over the queue at a scheduling point.
func decide(c *backfill.Cycle, interval backfill.Time) {
	if interval > 0 {
		if past := (c.Now()%interval + interval) % interval; past > 0 {
			putOff(c, c.Now()-past+interval)
			return
		}
	}
	scan.Depth(c, 1)
	if interval > 0 && c.State().Waiting() > 0 {
		c.Wake(c.Now() + interval) // what is first may be another job by then
	}
}

// putOff takes the events, and leaves the rest to the next point: a job whose partition
// is free by now begins no earlier.
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
