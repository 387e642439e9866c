package report

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
)

// OwnResults returns an error if a policy's fallback decided more than half of the rounds in which
// jobs waited, since the results are then the fallback's and not the policy's own.
func OwnResults(r *condorsim.Result) error {
	for _, refusal := range refusals(r) {
		if 2*refusal.Count > r.Decided {
			return refusal.notOwn("failed in most rounds", r)
		}
	}
	return nil
}

// NotGivenUp returns an error if a policy was given up, since the rest is its fallback's.
func NotGivenUp(r *condorsim.Result) error {
	for _, refusal := range refusals(r) {
		if refusal.GivenUp {
			return refusal.notOwn("was given up", r)
		}
	}
	return nil
}

func (r refused) notOwn(what string, run *condorsim.Result) error {
	return fmt.Errorf("policy %s %s: its fallback, %s, decided %s of %s rounds, so these are not its results; it "+
		"failed first at %s: %s", r.Policy, what, r.Fallback, inwords.Whole(r.Count), inwords.Whole(r.Rounds), run.Workload.Clock().Text(int64(r.At)), r.Reason)
}
