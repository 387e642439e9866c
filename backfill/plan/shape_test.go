package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// TestSinceCoversWhatWasNoted checks that a shape's span covers each growth that was noted since, however
// often it was asked before, and no more than these while the shape remembers each of them.
func TestSinceCoversWhatWasNoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &shape{}
		p := &Plan{shapes: []*shape{s}}
		var noted []growth
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				p.settle()
				noted = make([]growth, len(noted)) // none of them helps any more
			case 1, 2, 3, 4:
				from := backfill.Time(rapid.IntRange(1, 50).Draw(t, "from"))
				g := growth{from: from, to: from + backfill.Time(rapid.IntRange(1, 50).Draw(t, "lasts"))}
				s.note(g, 0)
				noted = append(noted, g)
			default:
				after := rapid.IntRange(0, len(noted)).Draw(t, "after")
				want := growth{}
				for _, g := range noted[max(after, s.settled):] {
					if want.to == 0 {
						want = g
					}
					want.from, want.to = min(want.from, g.from), max(want.to, g.to)
				}
				from, to := s.since(after)
				require.Equal(t, [2]backfill.Time{want.from, want.to}, [2]backfill.Time{from, to})
			}
		}
	})
}
