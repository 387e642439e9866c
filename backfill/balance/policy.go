package balance

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Filler starts jobs that come after the pivot, the first job that is blocked and has its
// reservation. The scale measures the resources that the policy balances, as the pool is after the
// cycle's events.
type Filler func(c *backfill.Cycle, pivot *backfill.Job, scale Scale)

// Spec describes a policy that starts jobs in the queue's order until one is blocked, makes a
// reservation for that one, and calls the given [Filler] to start others.
func Spec(name, doc, source string, fill Filler) backfill.PolicySpec {
	option := backfill.Option{
		Name: "resources", Default: "cpus,memory", Type: backfill.Resources,
		Doc: "the resources that are balanced; those that the pool has none of are left out, " +
			"all others restrict fitting only",
	}
	return backfill.PolicySpec{
		Name: name, Doc: doc, Source: source,
		Promise: "the first blocked job is not delayed: if estimates are right it starts by the time reserved for it",
		Options: []backfill.Option{option},
		New: func(v backfill.Values) (backfill.Policy, error) {
			resources := v.List(option.Name)
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				if pivot := scan.Heads(c); pivot != nil {
					fill(c, pivot, NewScale(c, resources))
				}
			}), nil
		},
	}
}
