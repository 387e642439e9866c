package cookbook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Packed puts jobs on the fullest slots, so that others stay empty.
func Packed() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "packed",
		Doc:  "starts whatever fits, each job of one chunk on the fullest slot",
		New: decides(func(c *backfill.Cycle) {
			scan.Begin(c)
			for j := range c.Queue() {
				at, fits := c.FitsNow(j)
				if !fits {
					continue
				}
				if j.Nodes == 1 && !j.Whole {
					at = fullest(c, j)
				}
				c.Start(j, at)
			}
		}),
	}
}

// fullest returns the slot with the fewest free cpus of those on which a job that fits now fits.
func fullest(c *backfill.Cycle, j *backfill.Job) backfill.Placement {
	request, profile := c.State().Request(j), c.State().Profile()
	var on []backfill.SlotID
	for _, id := range request.Candidates.Slots {
		if profile.Fits(request, backfill.Placement{{Slot: id, Count: 1}}, c.Now()) {
			on = append(on, id)
		}
	}
	free := func(id backfill.SlotID) int64 { return profile.FreeOf(id, 0, c.Now()) }
	best := slices.MinFunc(on, func(a, b backfill.SlotID) int { return cmp.Compare(free(a), free(b)) })
	return backfill.Placement{{Slot: best, Count: 1}}
}
