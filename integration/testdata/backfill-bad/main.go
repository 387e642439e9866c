// Command backfill-bad is a policy that crashes in every tenth cycle. Between its
// crashes it is EASY.
package main

import (
	"os"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() {
	spec := easy.Spec()
	build, cycles := spec.New, 0
	spec.Name = "bad"
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			if cycles++; cycles == 10 {
				os.Exit(7)
			}
		}), err
	}
	sdk.Serve(spec)
}
