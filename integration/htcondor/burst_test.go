package htcondor_test

import (
	"testing"
	"time"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestABurstKeepsThePlanFromNobody checks, with the policy and the horizon of a pool for which nothing
// is chosen, that the jobs of a user who comes after another's 60 are served as user priorities say,
// long before the others are done, and what those are told that are promised nothing.
func TestABurstKeepsThePlanFromNobody(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=4", "SLOTS=consumption"}, "BACKFILL_POLICY = slack", "BACKFILL_PLAN_HORIZON = 90")
	alices := pool.Submit("alice", sleep(8, 1, 60, estimate+"8"))
	poll.Contains(t, "promised jobs of its user take that user's part of the plan", func() string {
		text, err := pool.Try("alice", "negotiator", "explain", alices[59].String())
		if err != nil {
			return err.Error()
		}
		return text
	})
	bobs := pool.Submit("bob", sleep(8, 1, 4, estimate+"8"))
	pool.WaitDone(75*time.Second, bobs...) // alice's take two minutes and more
	pool.command("condor_rm", alices...)
}
