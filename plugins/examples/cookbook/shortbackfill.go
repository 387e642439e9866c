package cookbook

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// ShortBackfill is EASY, but only short jobs overtake others.
func ShortBackfill() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "short-backfill",
		Doc:  "reserves for the first blocked job; only short jobs may start before it",
		Options: []backfill.Option{{
			Name: "longest", Type: backfill.LengthOfTime, Default: "1:00:00",
			Doc: "the longest estimate of a job that may overtake",
		}},
		New: func(v backfill.Values) (backfill.Policy, error) {
			longest := v.Time("longest")
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Heads(c)
				for j := range c.Queue() {
					if at, fits := c.FitsNow(j); fits && j.Estimate <= longest {
						c.Start(j, at)
					}
				}
			}), nil
		},
	}
}
