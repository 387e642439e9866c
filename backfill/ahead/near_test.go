package ahead_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

func TestNear(t *testing.T) {
	for _, c := range []struct {
		errors []backfill.Time
		want   ahead.Near
	}{
		{nil, ahead.Near{}},
		{[]backfill.Time{0}, ahead.Near{Minute: 1, TenMinutes: 1}},
		{[]backfill.Time{60, 61}, ahead.Near{Minute: 0.5, TenMinutes: 1}},
		{[]backfill.Time{600, 601, 59, backfill.Forever}, ahead.Near{Minute: 0.25, TenMinutes: 0.5}},
	} {
		require.Equal(t, c.want, ahead.NearOf(c.errors), "%v", c.errors)
	}
}

// The order of the errors does not matter, and more time is never less near.
func TestNearIsAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		errors := rapid.SliceOf(rapid.Map(rapid.Int64Range(0, 2000), func(n int64) backfill.Time {
			return backfill.Time(n)
		})).Draw(t, "errors")
		near := ahead.NearOf(errors)
		slices.Sort(errors)
		require.Equal(t, near, ahead.NearOf(errors))
		at, _ := slices.BinarySearch(errors, 61)
		require.InDelta(t, float64(at), near.Minute*float64(len(errors)), 1e-9)
		require.LessOrEqual(t, near.Minute, near.TenMinutes)
		require.LessOrEqual(t, near.TenMinutes, 1.0)
	})
}
