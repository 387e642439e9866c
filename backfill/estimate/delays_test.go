package estimate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestDelays: the last delays count, and a copy stays as it is.
func TestDelays(t *testing.T) {
	var d estimate.Delays
	require.Zero(t, d.Draw(1<<63))
	require.Zero(t, d.Median())
	for _, took := range []backfill.Time{3, -1, 9} {
		d.Learn(took)
	}
	copied, most := d, d.UpTo(5)
	require.Equal(t, []backfill.Time{3, 0, 9}, d.All())
	require.EqualValues(t, 3, d.Median())
	drawn := map[backfill.Time]int{}
	for _, number := range parts(300) {
		drawn[d.Draw(number)]++
	}
	require.Equal(t, map[backfill.Time]int{0: 100, 3: 100, 9: 100}, drawn)
	require.Equal(t, []backfill.Time{3, 0, 5}, most.All())
	require.Empty(t, d.UpTo(0).All())
	for i := range backfill.Time(200) {
		d.Learn(i)
	}
	require.Len(t, d.All(), 64)
	require.EqualValues(t, 136, d.All()[0])
	require.Equal(t, []backfill.Time{3, 0, 9}, copied.All())
	require.Equal(t, d, estimate.DelaysOf(d.All()))
}
