// Command eater is a policy that allocates as much memory as its options say.
package main

import (
	"runtime"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() {
	spec := easy.Spec()
	build := spec.New
	spec.Name = "eater"
	spec.Options = append(spec.Options, backfill.Option{Name: "fill", Default: "0", Doc: "how many MiB to eat",
		Type: backfill.WholeNumber, Range: backfill.AtLeast(0)})
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		var eaten [][]byte
		for range v.Int("fill") {
			bite := make([]byte, 1<<20)
			for i := range bite {
				bite[i] = 1
			}
			eaten = append(eaten, bite)
		}
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			runtime.KeepAlive(eaten)
		}), err
	}
	sdk.Serve(spec)
}
