package cookbook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// DeadlineFirst starts the jobs by the time at which each should start at the latest.
func DeadlineFirst() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "deadline-first",
		Doc:  "whoever should start soonest comes first; reserves for the first that is blocked",
		Options: []backfill.Option{
			{Name: "qos", Type: backfill.Text, Default: "urgent", Doc: "the QOS of jobs in a hurry"},
			{Name: "soon", Type: backfill.LengthOfTime, Default: "1:00:00", Doc: "how long these may wait"},
			{Name: "late", Type: backfill.LengthOfTime, Default: "24:00:00", Doc: "how long all others may wait"},
		},
		New: func(v backfill.Values) (backfill.Policy, error) {
			qos, soon, late := v.Text("qos"), v.Time("soon"), v.Time("late")
			deadline := func(j *backfill.Job) backfill.Time {
				if j.Labels["qos"] == qos {
					return j.Submit + soon
				}
				return j.Submit + late
			}
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Begin(c)
				inOrder(c, slices.SortedStableFunc(c.Queue(), func(a, b *backfill.Job) int {
					return cmp.Compare(deadline(a), deadline(b))
				}), 1)
			}), nil
		},
	}
}
