package host

import (
	"os"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
)

// trouble labels the job at whose arrival the misbehaving policies misbehave.
// Otherwise they are EASY.
const trouble = "trouble"

func isTrouble(r backfill.Round) bool {
	return slices.ContainsFunc(r.Events, func(e backfill.Event) bool { return e.Spec != nil && e.Spec.Labels[trouble] != "" })
}

// misbehaving are policies that fail in the middle of a cycle, after they have
// acted on it.
func misbehaving() []backfill.Spec {
	return []backfill.Spec{
		failing("crashing", func(*backfill.Cycle) { os.Exit(3) }),
		failing("hanging", func(*backfill.Cycle) { select {} }),
		failing("panicking", func(*backfill.Cycle) { panic("on \xffpurpose") }),
		failing("inventing", func(c *backfill.Cycle) { c.Start(&backfill.Job{ID: 999_999}, nil) }),
		failing("oversubscribing", func(c *backfill.Cycle) {
			for j := range c.Queue() {
				c.Start(j, backfill.Placement{{Slot: 0, Count: j.Nodes}})
			}
			c.Wake(0) // in case that they all fitted
		}),
	}
}

func failing(name string, fail func(*backfill.Cycle)) backfill.Spec {
	spec := easy.Spec()
	build := spec.New
	spec.Name = name
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			if isTrouble(c.Round()) {
				fail(c)
			}
		}), err
	}
	return spec
}
