package backfill_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestSnapshotsAsText checks that a state is the same when it was written as JSON and read, in pools with
// slots that end, limits, and candidates that have windows or need more free than a job takes.
func TestSnapshotsAsText(t *testing.T) {
	var ends, takes, leasts bool
	for seed := range uint64(6) {
		spec, err := policies.Named([]string{"easy", "conservative", "slack"}[seed%3])
		require.NoError(t, err)
		main, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		d := conformance.NewDriver(conformance.Ending + conformance.Limited + conformance.Sparing + conformance.Windowed +
			seed%2*conformance.Preempting + seed)
		host := backfilltest.NewHost(t, d, main)
		for range 40 {
			_, err = host.Decide(t.Context(), d.Round(host.State))
			require.NoError(t, err)
			want := host.State.Snapshot()
			text, err := json.Marshal(want)
			require.NoError(t, err)
			var read backfill.Snapshot
			require.NoError(t, json.Unmarshal(text, &read))
			again, err := backfill.Restore(read)
			require.NoError(t, err)
			got, err := json.Marshal(again.Snapshot())
			require.NoError(t, err)
			require.JSONEq(t, string(text), string(got))
			for _, slot := range want.Slots {
				ends = ends || slot.End != 0
				for at := want.Now; at < want.Now+60; at++ {
					require.Equal(t, host.State.Free(slot.ID, at), again.Free(slot.ID, at))
				}
			}
			for _, row := range want.Rows {
				require.Equal(t, host.State.Profile().Rows().FreeAt(row.ID, want.Now), again.Profile().Rows().FreeAt(row.ID, want.Now))
			}
			takes = takes || slices.ContainsFunc(want.Jobs, func(j backfill.JobState) bool { return j.Job.Takes != nil })
			leasts = leasts || slices.ContainsFunc(want.Candidates, func(set backfill.CandidateSet) bool {
				return slices.ContainsFunc(set.Candidates.Least, func(v backfill.Vector) bool { return v != nil })
			})
		}
	}
	require.True(t, ends && takes && leasts, "such pools occur")
}
