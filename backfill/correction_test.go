package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// The ends that a job has, one after the other, which was predicted 100 s and may run for 20,000 s,
// if it outlives each of them.
func TestCorrections(t *testing.T) {
	j := func(c backfill.Correction) *backfill.Job {
		return &backfill.Job{Estimate: 100, Limit: 20_000, Correction: c}
	}
	for c, want := range map[backfill.Correction][]backfill.Time{
		backfill.Doubled: {100, 200, 400, 800, 1600, 3200, 6400, 12_800, 20_000, 40_000},
		backfill.AtLimit: {100, 20_000, 40_000, 80_000},
		backfill.InSteps: {100, 160, 460, 1360, 3160, 6760, 13_960, 20_000, 40_000},
	} {
		const start = 50
		now := backfill.Time(start)
		for _, after := range want {
			end := backfill.ExpectedEnd(j(c), 100, start, now)
			require.Equal(t, start+after, end, c)
			now = end
		}
	}
	long := &backfill.Job{Estimate: 1, Limit: 1_000_000, Correction: backfill.InSteps}
	require.Equal(t, backfill.Time(679_861), backfill.ExpectedEnd(long, 1, 0, 679_860), "all steps together")
	require.Equal(t, backfill.Time(1_000_000), backfill.ExpectedEnd(long, 1, 0, 679_861))
}

// Ends are later than now, never later than the limit unless that is over, and never go back as
// time goes on; what is expected at an instant does not depend on whether anybody asked before.
func TestCorrectedEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 1<<30).Draw(t, "limit")
		j := &backfill.Job{
			Estimate: 1, Limit: backfill.Time(limit),
			Correction: backfill.Correction(rapid.IntRange(0, 2).Draw(t, "correction")), //nolint:gosec // 0 to 2
		}
		runs := backfill.Time(rapid.Int64Range(1, 1<<30).Draw(t, "runs"))
		start := backfill.Time(rapid.Int64Range(0, 1<<30).Draw(t, "start"))
		before := backfill.Time(0)
		for now := start; now < start+4*j.Limit; now += backfill.Time(rapid.Int64Range(1, limit).Draw(t, "later")) {
			end := backfill.ExpectedEnd(j, runs, start, now)
			require.Greater(t, end, now)
			require.GreaterOrEqual(t, end, before)
			if now < start+j.Limit {
				require.LessOrEqual(t, end, start+j.Limit)
				at, within := j.Correction.End(start, runs, j.Limit, now)
				require.True(t, within)
				require.Equal(t, end, at)
			} else {
				_, within := j.Correction.End(start, runs, j.Limit, now)
				require.False(t, within)
				doubled := *j
				doubled.Correction = backfill.Doubled
				require.Equal(t, backfill.ExpectedEnd(&doubled, runs, start, now), end, "past the limit they are alike")
			}
			if now < start+min(runs, j.Limit) {
				require.Equal(t, start+min(runs, j.Limit), end)
			}
			if end == before { // nothing has happened since
				require.Less(t, now, before)
			}
			require.Equal(t, end, backfill.ExpectedEnd(j, runs, start, end-1), "until then it stays")
			before = end
		}
	})
}

// Names are found as they are written, in any case.
func TestCorrectionsByName(t *testing.T) {
	require.Equal(t, []string{"double", "request", "tsafrir"}, backfill.Corrections())
	for _, name := range backfill.Corrections() {
		c, err := backfill.CorrectionNamed(name)
		require.NoError(t, err)
		require.Equal(t, name, c.String())
	}
	_, err := backfill.CorrectionNamed("requests")
	require.ErrorContains(t, err, `unknown correction "requests", did you mean request?`)
}
