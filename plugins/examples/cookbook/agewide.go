package cookbook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// AgeWide lets jobs age by their width.
func AgeWide() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "age-wide",
		Doc:  "whoever has waited longest, times its cpus, comes first; reserves for the first that is blocked",
		New: decides(func(c *backfill.Cycle) {
			scan.Begin(c)
			age := func(j *backfill.Job) float64 { return float64(j.Waited(c.Now())) * float64(j.Width()) }
			inOrder(c, slices.SortedStableFunc(c.Queue(), func(a, b *backfill.Job) int {
				return cmp.Compare(age(b), age(a))
			}), 1)
		}),
	}
}
