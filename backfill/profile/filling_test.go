package profile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestFilling checks that requests by start get the same slots as by [profile.View.Place] in a profile
// to which each of them is added.
func TestFilling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(low, high int64, label string) int64 { return rapid.Int64Range(low, high).Draw(t, label) }
		p := profile.New(rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack}).Draw(t, "rule"))
		slots, capacity := number(1, 70, "slots"), number(1, 9, "capacity")
		var all profile.Candidates
		for i := range slots {
			id := profile.SlotID(i)
			p.SetSlot(id, fmt.Sprintf("%02d", i*37%101), vec(capacity, 0))
			all.Slots = append(all.Slots, id)
		}
		one := profile.SlotID(number(0, slots-1, "slot"))
		if slots > 1 && rapid.Bool().Draw(t, "drop") {
			p.DropSlot(one)
		}
		request := func() profile.Request {
			return profile.Request{
				Chunk: vec(1, 0), Nodes: int(number(1, slots*capacity, "nodes")),
				Duration: profile.Time(number(1, 20, "duration")), Candidates: &all,
			}
		}
		const from = 5
		for range number(0, 9, "running") {
			r := request()
			if at, ok := p.Place(r, from); ok {
				p.Add(at, r.Chunk, from-profile.Time(number(0, 5, "before")), from+r.Duration)
			}
		}
		f, ok := profile.FillingOf(&p.View, from)
		require.True(t, ok)
		var places []profile.Placement
		for start, n := profile.Time(from), number(0, 20, "requests"); n > 0; n-- {
			start += profile.Time(number(0, 3, "later"))
			f.GoTo(start)
			r := request()
			if len(places) > 0 {
				old := rapid.SampledFrom(places).Draw(t, "place")
				r.Nodes = old.Count()
				require.Equal(t, p.Fits(r, old, start), f.Fits(old))
			}
			want, fits := p.Place(r, start)
			got, ok := f.Place(r.Nodes)
			require.Equal(t, fits, ok)
			if ok {
				require.Equal(t, want, got)
				p.Add(want, r.Chunk, start, start+r.Duration)
				f.Take(got, start+r.Duration)
				places = append(places, got)
			}
		}
	})
}

// TestNoFilling checks that other pools, and those of which something is known that is no end, are not
// filled so.
func TestNoFilling(t *testing.T) {
	for name, change := range map[string]func(p *profile.Profile){
		"another capacity": func(p *profile.Profile) { p.SetSlot(2, "c", vec(5, 0)) },
		"another resource": func(p *profile.Profile) {
			for i, slot := range []string{"a", "b", "c"} {
				p.SetSlot(profile.SlotID(i), slot, vec(4, 1))
			}
		},
		"a reservation":    func(p *profile.Profile) { p.Add(profile.Placement{{Slot: 1, Count: 1}}, vec(1, 0), 7, 9) },
		"an end of a slot": func(p *profile.Profile) { p.SetEnd(1, 9) },
	} {
		t.Run(name, func(t *testing.T) {
			p := profile.New(profile.ByRank)
			for i, slot := range []string{"a", "b", "c"} {
				p.SetSlot(profile.SlotID(i), slot, vec(4, 0))
			}
			_, ok := profile.FillingOf(&p.View, 5)
			require.True(t, ok)
			change(p)
			_, ok = profile.FillingOf(&p.View, 5)
			require.False(t, ok)
		})
	}
	_, ok := profile.FillingOf(&profile.New(profile.ByRank).View, 5)
	require.False(t, ok, "no slots")
	spread := profile.New(profile.Spread)
	spread.SetSlot(0, "a", vec(4, 0))
	_, ok = profile.FillingOf(&spread.View, 5)
	require.False(t, ok)
}
