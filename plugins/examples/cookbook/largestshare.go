package cookbook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// LargestShare is EASY that backfills the largest job first, by its dominant share.
func LargestShare() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "largest-share",
		Doc:  "reserves for the first blocked job; behind it, the largest share of any resource comes first",
		New: decides(func(c *backfill.Cycle) {
			scan.Heads(c)
			inOrder(c, slices.SortedStableFunc(c.Queue(), func(a, b *backfill.Job) int {
				return cmp.Compare(share(c, b), share(c, a))
			}), 0)
		}),
	}
}

// share returns the largest share of the pool that the job asks for, of any resource.
func share(c *backfill.Cycle, j *backfill.Job) (largest float64) {
	for i, amount := range j.Total() {
		if all := c.Capacity()[i]; all > 0 {
			largest = max(largest, float64(amount)/float64(all))
		}
	}
	return largest
}
