package estimate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestAPolicysOwnEstimator checks where the estimator of a policy is that of the order: if none is
// chosen, and the order goes by run times. Nothing else is planned with it.
func TestAPolicysOwnEstimator(t *testing.T) {
	policy := backfill.PolicySpec{Order: "wfp", Estimates: "learned"}
	for _, tt := range []struct {
		chosen estimate.Settings
		order  string
		want   string
	}{
		{estimate.Settings{}, "wfp", "learned"},
		{estimate.Settings{}, "expr:WaitTime", "learned"},
		{estimate.Settings{Running: "user"}, "sjf", "learned"},
		{estimate.Settings{}, "fcfs", ""},
		{estimate.Settings{}, "fairshare", ""},
		{estimate.Settings{All: "requested"}, "wfp", ""},
		{estimate.Settings{All: "user"}, "wfp", ""},
		{estimate.Settings{Order: "combined"}, "wfp", "combined"},
	} {
		want := tt.chosen
		want.Order = tt.want
		require.Equal(t, want, tt.chosen.Under(policy, tt.order))
		require.Equal(t, tt.chosen, tt.chosen.Under(backfill.PolicySpec{Order: "wfp"}, tt.order))
	}
	policy.IgnoresOrder = true
	require.Empty(t, estimate.Settings{}.Under(policy, "wfp"))
}
