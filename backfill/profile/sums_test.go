package profile_test

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// haveRoom reports whether the slots that are up have so much free together in a second.
func (m *model) haveRoom(need profile.Vector, second profile.Time) bool {
	sum := make(profile.Vector, len(need))
	for id, up := range m.up {
		if up {
			sum.AddScaled(m.free[id][min(second, horizon)], 1)
		}
	}
	for k, amount := range need {
		if amount > 0 && sum[k] < amount {
			return false
		}
	}
	return true
}

// askSums compares what the profile says of all slots together with the model's sums.
func askSums(t *rapid.T, w *twin, r profile.Request, from, limit profile.Time) {
	need := make(profile.Vector, len(r.Chunk))
	need.AddScaled(r.Chunk, int64(r.Nodes))
	until, room := profile.Forever, profile.Time(0) // how long there has been room
	first, found := profile.Time(0), false
	for second := from; second <= horizon+r.Duration; second++ {
		if w.m.haveRoom(need, second) {
			room++
		} else {
			until, room = min(until, second), 0
		}
		if start := second - r.Duration + 1; room >= r.Duration && !found && start < limit {
			first, found = start, true
		}
	}
	require.Equal(t, until, profile.SumsOf(&w.p.View).FreeUntil(need, from))
	got, ok := profile.SumsOf(&w.p.View).Earliest(need, r.Duration, from, limit)
	require.Equal(t, found, ok)
	if found {
		require.Equal(t, first, got)
	}
}
