package cli

import (
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// LogRefusals returns a function that logs each refused decision. That a policy is given up for
// good it logs once.
func LogRefusals(logger hclog.Logger) func(backfill.Refusal) {
	gaveUp := false
	return func(r backfill.Refusal) {
		switch {
		case !errors.Is(r.Err, backfill.ErrGivenUp):
			logger.Error("decision refused, the fallback decides", "policy", r.Policy, "at", r.Now, "error", r.Err)
		case !gaveUp:
			gaveUp = true
			logger.Error("the policy is given up for good, the fallback decides from now on", "policy", r.Policy,
				"at", r.Now, "error", r.Err)
		}
	}
}
