package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestPlaces prints places in full and in short.
func TestPlaces(t *testing.T) {
	at := backfill.Places{{"a", 1}, {"b", 2}, {"c", 1}, {"d", 1}}
	require.Equal(t, "a×1 b×2 c×1 d×1", at.String())
	require.Equal(t, "a, b ×2, c, d", at.Short())
	at = append(at, backfill.Place{Slot: "e", Chunks: 3}, backfill.Place{Slot: "f", Chunks: 1})
	require.Equal(t, "a, b ×2, c, d, and 2 more", at.Short())
	require.Empty(t, backfill.Places{}.String()+backfill.Places{}.Short())
}
