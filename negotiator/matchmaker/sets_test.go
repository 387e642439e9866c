package matchmaker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Whoever has the hash of others gets candidates of his own.
func TestOnlyEqualCandidatesAreShared(t *testing.T) {
	s := sets{}
	ranked := backfill.Candidates{Slots: []backfill.SlotID{1, 2}, Rank: []int32{0, 1}}
	_, h := s.share(ranked)
	s[h] = backfill.Candidates{Slots: []backfill.SlotID{7}}
	got, again := s.share(ranked)
	require.Equal(t, ranked, got)
	require.Equal(t, h, again)
	require.Equal(t, []backfill.SlotID{7}, s[h].Slots)

	for _, c := range []backfill.Candidates{
		{Slots: []backfill.SlotID{1, 2}},
		{Slots: []backfill.SlotID{1, 2}, Rank: []int32{1, 0}},
		{Bundles: []backfill.BundleID{1, 2}},
		{Slots: []backfill.SlotID{2, 1}},
	} {
		_, other := s.share(c)
		require.NotEqual(t, h, other, "%v", c)
	}
}
