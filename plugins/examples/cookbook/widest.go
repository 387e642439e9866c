package cookbook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// WidestFirst reserves for the widest jobs, wherever they stand in the queue.
func WidestFirst() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "widest-first",
		Doc:  "the widest jobs start first or get a reservation; all others fill up around them",
		Options: []backfill.Option{{
			Name: "k", Type: backfill.WholeNumber, Default: "3", Range: backfill.AtLeast(1), Doc: "how many are the widest",
		}},
		New: func(v backfill.Values) (backfill.Policy, error) {
			k := v.Int("k")
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Begin(c)
				widest := slices.SortedStableFunc(c.Queue(), func(a, b *backfill.Job) int {
					return cmp.Compare(b.Width(), a.Width())
				})
				inOrder(c, widest[:min(k, len(widest))], k)
				inOrder(c, slices.Collect(c.Queue()), 0)
			}), nil
		},
	}
}
