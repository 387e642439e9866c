// Command backfill-moody is the conservative policy as a plugin that crashes or hangs when the file
// /tmp/mood says so.
package main

import (
	"os"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() {
	spec := conservative.Spec()
	build := spec.New
	spec.Name = "moody"
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			mood, _ := os.ReadFile("/tmp/mood")
			switch strings.TrimSpace(string(mood)) {
			case "crash":
				os.Exit(3)
			case "hang":
				select {}
			}
		}), err
	}
	sdk.Serve(spec)
}
