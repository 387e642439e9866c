package profile_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// opens reports whether the i-th candidate is open at an instant: it looks at every window.
func opens(c *profile.Candidates, i int, t profile.Time) bool {
	return c.Windows == nil || c.Windows[i] == nil ||
		slices.ContainsFunc(c.Windows[i], func(w profile.Window) bool { return w.From <= t && t < w.To })
}

// drawWindows draws windows for n candidates, nil for about half of the lists and a third of the
// entries.
func drawWindows(t *rapid.T, n int) [][]profile.Window {
	if n == 0 || rapid.Bool().Draw(t, "always open") {
		return nil
	}
	all := make([][]profile.Window, n)
	for i := range all {
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "shares") == 0 {
			all[i] = all[i-1]
			continue
		}
		from := profile.Time(rapid.IntRange(-9, 30).Draw(t, "opens"))
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			to := from + profile.Time(rapid.IntRange(1, 9).Draw(t, "open for"))
			all[i] = append(all[i], profile.Window{From: from, To: to})
			from = to + profile.Time(rapid.IntRange(1, 9).Draw(t, "closed for"))
		}
		if n := len(all[i]); n > 0 && rapid.Bool().Draw(t, "for good") {
			all[i][n-1].To = profile.Forever
		}
	}
	return all
}

// TestWindowsSecondBySecond checks what candidates say of their windows against each second of
// these.
func TestWindowsSecondBySecond(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &profile.Candidates{}
		for id := range profile.SlotID(rapid.IntRange(1, 4).Draw(rt, "slots")) {
			c.Slots, c.Rank = append(c.Slots, 2*id), append(c.Rank, int32(id)%2)
		}
		c.Windows = drawWindows(rt, len(c.Slots))
		const last = 120 // all windows that end have ended
		closes := -profile.Forever
		for now := profile.Time(-20); now <= last; now++ {
			want := &profile.Candidates{}
			next := profile.Forever
			for i, id := range c.Slots {
				require.Equal(rt, opens(c, i, now), c.Open(i, now))
				if opens(c, i, now) {
					want.Slots, want.Rank = append(want.Slots, id), append(want.Rank, c.Rank[i])
					closes = now + 1
				}
				for later := now + 1; later < next && later <= last; later++ {
					if opens(c, i, later) && !opens(c, i, later-1) {
						next = later
					}
				}
			}
			require.Equal(rt, next, c.NextOpening(now))
			open := c.OpenAt(now)
			require.Equal(rt, want.Slots, open.Slots)
			require.Equal(rt, want.Rank, open.Rank)
			require.Nil(rt, open.Windows)
		}
		if closes > last {
			closes = profile.Forever
		}
		require.Equal(rt, closes, c.Closes())
	})
}

// TestMisfitOutsideTheWindow checks why a placement is refused on a slot that is closed then.
func TestMisfitOutsideTheWindow(t *testing.T) {
	p, _ := newPool(profile.Pack, []hand{{"a", vec(8), nil}, {"b", vec(8), nil}})
	r := profile.Request{
		Chunk: vec(2), Nodes: 2, Duration: 10,
		Candidates: &profile.Candidates{
			Slots:   []profile.SlotID{0, 1},
			Windows: [][]profile.Window{{{From: 0, To: 5}}, {{From: 3, To: profile.Forever}}},
		},
	}
	require.NoError(t, p.Misfit(r, place(0, 2), 4), "it may run on after the window")
	require.NoError(t, p.Misfit(r, place(0, 1, 1, 1), 4))
	require.EqualError(t, p.Misfit(r, place(0, 2), 5), "on slot a the job may not begin at 5")
	require.EqualError(t, p.Misfit(r, place(0, 1, 1, 1), 2), "on slot b the job may not begin at 2")
	p.AddBundle("x", []profile.SlotID{0})
	whole := profile.Request{Nodes: 1, Duration: 10, Whole: true, Candidates: &profile.Candidates{
		Bundles: []profile.BundleID{0}, Windows: [][]profile.Window{{{From: 7, To: 9}}},
	}}
	require.NoError(t, p.Misfit(whole, place(0, 1), 8))
	require.EqualError(t, p.Misfit(whole, place(0, 1), 9), "on bundle x the job may not begin at 9")
}
