package negotiator_test

import (
	"context"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// The tests of a negotiator's cycles play ahead after each of them. An outlook is made of a negotiator,
// so that package outlook can be used from here alone.
func init() { negotiator.CheckOutlook = checkOutlook }

// checkOutlook plays the outlook ahead under the policy that is in charge. No job starts in the past,
// every job that is told a start waits, and promises are kept unless a running job has outlived what it
// requests.
func checkOutlook(r *rapid.T, n *negotiator.Negotiator) {
	name, _ := n.State().Policy()
	spec, err := policies.Named(name)
	require.NoError(r, err)
	policy, err := backfill.Link(spec, nil)
	require.NoError(r, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(r, err)
	o := outlook.New(n)
	play, err := o.Rules(policy, fallback).Play(o.Start())
	require.NoError(r, err)
	starts, err := play.Starts(context.Background(), ahead.Bounds{Rounds: 200})
	require.NoError(r, err)
	outlived := false
	for _, s := range n.State().Snapshot().Jobs {
		outlived = outlived || s.Running && s.End > s.Start+s.Job.Estimate
	}
	for _, s := range n.State().Snapshot().Jobs {
		start, known := starts[s.Job.ID]
		switch {
		case !known:
			continue
		case !outlived && s.Promised:
			require.LessOrEqual(r, start.At, s.Guarantee, "job %d", s.Job.ID)
		}
		require.False(r, s.Running || s.Held != "", "job %d", s.Job.ID)
		require.GreaterOrEqual(r, start.At, n.State().Now(), "job %d", s.Job.ID)
	}
}
