package cli

import (
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// maxStack bounds the stack of a policy that panics, in the log, in bytes.
const maxStack = 4 << 10

// LogRefusals returns a function that logs each refused decision. That a policy is given up for
// good it logs once, and of panics the first stack alone.
func LogRefusals(logger hclog.Logger) func(backfill.Refusal) {
	gaveUp, panicked := false, false
	return func(r backfill.Refusal) {
		if fault, ok := errors.AsType[*backfill.PanicError](r.Err); ok && !panicked {
			panicked = true
			logger.Error("the policy panicked; this is told once", "policy", r.Policy, "at", r.Now,
				"stack", string(fault.Stack[:min(len(fault.Stack), maxStack)]))
		}
		switch {
		case !errors.Is(r.Err, backfill.ErrGivenUp):
			logger.Error("decision refused, the fallback decides", "policy", r.Policy, "at", r.Now, "error", r.Err)
		case !gaveUp:
			gaveUp = true
			logger.Error("the policy is given up for good, the fallback decides from now on", "policy", r.Policy,
				"fallback", r.Fallback, "at", r.Now, "error", r.Err)
		}
	}
}
