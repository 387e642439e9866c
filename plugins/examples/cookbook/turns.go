package cookbook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Turns lets owners take turns.
func Turns() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "turns",
		Doc:  "the owner with the fewest jobs comes first, job by job; reserves for the first that is blocked",
		New: decides(func(c *backfill.Cycle) {
			scan.Begin(c)
			jobs := map[string]int{} // that an owner has running, or waiting before the next one
			for r := range c.Running() {
				jobs[r.Job.Labels["owner"]]++
			}
			turn := map[*backfill.Job]int{}
			for j := range c.Queue() {
				turn[j] = jobs[j.Labels["owner"]]
				jobs[j.Labels["owner"]]++
			}
			inOrder(c, slices.SortedStableFunc(c.Queue(), func(a, b *backfill.Job) int {
				return cmp.Compare(turn[a], turn[b])
			}), 1)
		}),
	}
}
