package cli

import (
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// The limits on what failures of a policy add to the log.
const (
	maxStack = 4 << 10 // bytes of the stack of a panic
	maxKinds = 20      // of failures that are told apart
)

// LogRefusals returns a function that logs refused decisions: each kind of failure when it happens
// first, and when it has happened ten, a hundred, a thousand times and so on, with that number; from the
// 20th kind on, they count as one. That a policy is given up for good it logs once, and of panics the
// first stack alone.
func LogRefusals(logger hclog.Logger) func(backfill.Refusal) {
	type kind struct{ policy, text string }
	gaveUp, panicked, times := false, false, map[kind]int{}
	return func(r backfill.Refusal) {
		if fault, ok := errors.AsType[*backfill.PanicError](r.Err); ok && !panicked {
			panicked = true
			logger.Error("the policy panicked; this is told once", "policy", r.Policy, "at", r.Now,
				"stack", string(fault.Stack[:min(len(fault.Stack), maxStack)]))
		}
		if errors.Is(r.Err, backfill.ErrGivenUp) {
			if !gaveUp {
				gaveUp = true
				logger.Error("the policy is given up for good, the fallback decides from now on", "policy", r.Policy,
					"fallback", r.Fallback, "at", r.Now, "error", r.Err)
			}
			return
		}
		this := kind{r.Policy, r.Kind()}
		if times[this] == 0 && len(times) >= maxKinds-1 {
			this = kind{}
		}
		times[this]++
		switch n := times[this]; {
		case !r.Asked():
			if powerOfTen(n) {
				logger.Warn("the policy is to be started again, the fallback decides", "policy", r.Policy, "at", r.Now,
					"rounds", n)
			}
		case n == 1:
			logger.Error("decision refused, the fallback decides", "policy", r.Policy, "at", r.Now, "error", r.Err)
		case powerOfTen(n):
			logger.Error("decision refused for the same reason again, the fallback decides", "policy", r.Policy,
				"at", r.Now, "times", n, "error", r.Err)
		}
	}
}

func powerOfTen(n int) bool {
	for n%10 == 0 {
		n /= 10
	}
	return n == 1
}
