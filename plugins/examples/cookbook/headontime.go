package cookbook

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// HeadOnTime never delays the head of the queue, and drains no slot for it.
func HeadOnTime() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "head-on-time",
		Doc:  "reserves for the first blocked job and starts whatever does not delay it",
		New: decides(func(c *backfill.Cycle) {
			scan.Heads(c)
			inOrder(c, slices.Collect(c.Queue()), 0)
		}),
	}
}
