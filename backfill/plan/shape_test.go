package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestSettledGrowthsAreForgotten checks that a shape keeps no growth that can help no job any more,
// however many there were, and that later ones are known to jobs that have not looked since.
func TestSettledGrowthsAreForgotten(t *testing.T) {
	s := &shape{}
	p := &Plan{shapes: []*shape{s}}
	for i := range backfill.Time(1000) {
		s.note(growth{from: i, to: 5000 - i}, 0)
	}
	require.LessOrEqual(t, len(s.earliest), maxRow)
	require.LessOrEqual(t, len(s.latest), maxRow)
	for noted := range 1000 { // the next growth begins first of those that follow, and ends last
		from, to := s.since(noted)
		require.LessOrEqual(t, from, backfill.Time(noted))
		require.GreaterOrEqual(t, to, backfill.Time(5000-noted))
	}
	from, to := s.since(990)
	require.Equal(t, [2]backfill.Time{990, 4010}, [2]backfill.Time{from, to}, "those that came last are exact")
	p.settle()
	require.Empty(t, s.earliest)
	require.Empty(t, s.latest)
	span := func(noted int) [2]backfill.Time {
		from, to := s.since(noted)
		return [2]backfill.Time{from, to}
	}
	require.Equal(t, [2]backfill.Time{}, span(7))
	s.note(growth{from: 20, to: 30}, 0)
	s.note(growth{from: 40, to: 50}, 0)
	require.Equal(t, [2]backfill.Time{20, 50}, span(7))
	require.Equal(t, [2]backfill.Time{20, 50}, span(1000))
	require.Equal(t, [2]backfill.Time{40, 50}, span(1001))
}
