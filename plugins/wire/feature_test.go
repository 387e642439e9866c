package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

func TestWhatAPluginMustKnow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		job  backfill.Job
		want wire.Features
	}{
		{backfill.Job{Estimate: 10}, 0},
		{backfill.Job{Estimate: 10, Running: 10}, 0},
		{backfill.Job{Estimate: 10, Running: 9}, wire.Running},
		{backfill.Job{Estimate: 10, Running: 11}, wire.Running},
		{backfill.Job{Estimate: 10, Whole: true}, wire.Bundles},
		{backfill.Job{Estimate: 10, Release: 5}, 0},
		{backfill.Job{Estimate: 10, Release: 6}, wire.Release},
		{backfill.Job{Estimate: 10, Running: 9, Whole: true, Release: 6}, wire.Everything &^ wire.Preemption},
	} {
		require.Equal(t, tt.want, wire.RoundNeeds(backfill.Round{Now: 5, Events: []backfill.Event{
			{Kind: backfill.Wake},
			{Kind: backfill.Changed, Job: &tt.job},
		}}))
		require.Equal(t, tt.want, wire.StateNeeds(backfill.Snapshot{Now: 5, Jobs: []backfill.JobState{
			{Job: &backfill.Job{}},
			{Job: &tt.job},
		}}))
	}
	require.Equal(t, wire.Bundles, wire.RoundNeeds(backfill.Round{Bundles: make([]backfill.Bundle, 1)}))
	require.Equal(t, wire.Release, wire.RoundNeeds(backfill.Round{
		Events: []backfill.Event{{Kind: backfill.Released, JobID: 1}},
	}))
	require.Equal(t, wire.Bundles, wire.StateNeeds(backfill.Snapshot{Bundles: make([]backfill.Bundle, 1)}))
	for _, kind := range []backfill.EventKind{backfill.EndsSooner, backfill.Pinned} {
		require.Equal(t, wire.Preemption, wire.RoundNeeds(backfill.Round{Events: []backfill.Event{{Kind: kind, JobID: 1}}}))
	}
	for _, standing := range []backfill.Standing{{Running: true, Pinned: true}, {Running: true, Yields: true}} {
		require.Equal(t, wire.Preemption, wire.StateNeeds(backfill.Snapshot{
			Jobs: []backfill.JobState{{Job: &backfill.Job{}, Standing: standing}},
		}))
	}
}

func TestWhatAPluginSaysItKnows(t *testing.T) {
	t.Parallel()
	all := wire.Everything | wire.Windows | wire.Ends | wire.Limits | wire.Least
	require.Equal(t, all, wire.FeaturesOf(wire.EncodeSpec(backfill.PolicySpec{})))
	require.Equal(t, all|wire.PlanDepth, wire.FeaturesOf(wire.EncodeSpec(backfill.PolicySpec{PlanDepth: true})))
	require.Zero(t, wire.FeaturesOf(&policyv1.DescribeResponse{}))
	newer := []policyv1.Feature{policyv1.Feature_FEATURE_RUNNING, 0, 10, 11, 1 << 30, -1}
	require.Equal(t, wire.Running, wire.FeaturesOf(&policyv1.DescribeResponse{Features: newer}))
	for number, name := range policyv1.Feature_name {
		require.Equal(t, number > 0, (all|wire.PlanDepth)&(1<<number) != 0, name)
	}

	require.NoError(t, wire.Everything.Lack(wire.Everything))
	require.NoError(t, wire.Running.Lack(wire.Running))
	require.ErrorIs(t, wire.Running.Lack(wire.Everything), wire.ErrMismatch)
	require.EqualError(t, wire.Features(0).Lack(wire.Bundles),
		"it does not know what is in the pool: bundles of slots that are taken whole, such as partitions: rebuild it "+
			"with this host's plugins/sdk, or do without")
}
