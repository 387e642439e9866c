package estimate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

func TestBasisInWords(t *testing.T) {
	const same = "of the user with the same request"
	for _, tt := range []struct {
		name  string
		parts []estimate.Part
		user  string
		want  string
	}{
		{"the estimator does not tell", nil, "ann", "by the estimator learned"},
		{
			"many that ended",
			[]estimate.Part{{Alike: same, Ended: 8, Share: 0.96}, {Alike: "of all users", Ended: 8, Share: 0.04}},
			"ann", "by the last 8 jobs of ann with the same request",
		},
		{
			"one that ended",
			[]estimate.Part{{Alike: same, Ended: 1, Share: 1}},
			"ann", "by the last job of ann with the same request",
		},
		{
			"some still run",
			[]estimate.Part{{Alike: same, Ended: 3, Running: 2, Share: 1}},
			"ann", "by the last 3 jobs of ann with the same request and 2 that still run",
		},
		{
			"one still runs",
			[]estimate.Part{{Alike: same, Ended: 3, Running: 1, Share: 1}},
			"ann", "by the last 3 jobs of ann with the same request and 1 that still runs",
		},
		{
			"none has ended",
			[]estimate.Part{{Alike: same, Running: 2, Share: 1}},
			"ann", "by 2 jobs of ann with the same request that still run",
		},
		{
			"others count more",
			[]estimate.Part{{Alike: same, Ended: 1, Share: 0.3}, {Alike: "of all users", Ended: 8, Share: 0.7}},
			"ann", "by the last 8 jobs of all users, and to 30 % by others",
		},
		{
			"of those that count alike the more alike",
			[]estimate.Part{{Alike: same, Ended: 1, Share: 0.5}, {Alike: "of all users", Ended: 8, Share: 0.5}},
			"", "by the last job of the user with the same request, and to 50 % by others",
		},
	} {
		b := estimate.Basis{Estimator: "learned", Parts: tt.parts}
		require.Equal(t, tt.want, b.Describe(tt.user), tt.name)
	}
}

// TestPlannedBasis: each use has its own basis.
func TestPlannedBasis(t *testing.T) {
	set := made(t, estimate.Settings{All: "user", Order: "learned"}, nil)
	j := like("a", 1000, 1)
	set.Learn(estimate.Ended{Job: j, Ran: 100})
	require.Equal(t, "learned", set.Basis(&j, 0).Estimator)
	require.Equal(t, estimate.Basis{Estimator: "user", Predicted: set.Estimate(&j, 0).Backfill}, set.PlannedBasis(&j, 0))
}
