package profile_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// partitioned is a profile with bundles, together with its model.
type partitioned struct {
	twin
	names []string
	slots [][]profile.SlotID // by bundle
}

func (w *partitioned) add(s span) {
	w.p.Add(s.at, s.chunk, s.start, s.end)
	w.m.spans = append(w.m.spans, s)
	w.m.shiftWhole(s, -1)
}

// shiftWhole is shift, but a span without a chunk vector takes all of its slots.
func (m *model) shiftWhole(s span, sign int64) {
	for _, c := range s.at {
		one := s
		if one.at = (profile.Placement{c}); s.chunk == nil {
			one.chunk = m.capacity[c.Slot]
		}
		m.shift(one, sign)
	}
}

// free reports whether all of a bundle is free during [start, end).
func (w *partitioned) free(id profile.BundleID, start, end profile.Time) bool {
	for _, slot := range w.slots[id] {
		if int(slot) >= len(w.m.up) || !w.m.up[slot] {
			return false
		}
		low, _ := w.m.bounds(slot, start, end)
		for k, all := range w.m.capacity[slot] {
			if all > 0 && low[k] < all {
				return false
			}
		}
	}
	return true
}

// last returns when a request ends on a bundle if it starts at start.
func (w *partitioned) last(id profile.BundleID, r profile.Request, start profile.Time) profile.Time {
	end := start + r.Duration
	for _, slot := range w.slots[id] {
		if int(slot) < len(w.m.up) {
			end = min(end, w.m.until(slot, r, start))
		}
	}
	return end
}

// earliest returns the first start in [from, limit) at which a candidate bundle is free for the
// request's duration. What is free from until on does not matter.
func (w *partitioned) earliest(r profile.Request, from, limit, until profile.Time) (profile.Time, bool) {
	for start := from; start < min(limit, max(from, horizon)+1); start++ {
		for i, id := range r.Candidates.Bundles {
			if opens(r.Candidates, i, start) && w.free(id, start, min(w.last(id, r, start), until)) {
				return start, true
			}
		}
	}
	return 0, false
}

// place chooses one of the candidates that are free: the one with the highest rank, if the rule is
// ByRank; then the one that shares slots with the fewest other free bundles; then the first by
// name.
func (w *partitioned) place(r profile.Request, start profile.Time) profile.Placement {
	type choice struct {
		id     profile.BundleID
		lasts  profile.Time
		rank   int32
		blocks int
	}
	var choices []choice
	for i, id := range r.Candidates.Bundles {
		if !opens(r.Candidates, i, start) || !w.free(id, start, w.last(id, r, start)) {
			continue
		}
		c := choice{id: id, lasts: w.last(id, r, start)}
		if r.Candidates.Rank != nil && w.m.rule == profile.ByRank {
			c.rank = r.Candidates.Rank[i]
		}
		for other := range w.slots {
			shares := slices.ContainsFunc(w.slots[other],
				func(s profile.SlotID) bool { return slices.Contains(w.slots[id], s) })
			if profile.BundleID(other) != id && shares && w.free(profile.BundleID(other), start,
				w.last(profile.BundleID(other), r, start)) {
				c.blocks++
			}
		}
		choices = append(choices, c)
	}
	if len(choices) == 0 {
		return nil
	}
	slices.SortFunc(choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.lasts, a.lasts), cmp.Compare(b.rank, a.rank), cmp.Compare(a.blocks, b.blocks),
			strings.Compare(w.names[a.id], w.names[b.id]))
	})
	return w.all(choices[0].id)
}

// all returns the placement that takes a whole bundle.
func (w *partitioned) all(id profile.BundleID) (at profile.Placement) {
	for _, slot := range w.slots[id] {
		at = append(at, profile.Chunks{Slot: slot, Count: 1})
	}
	return at
}

func (w *partitioned) clone() *partitioned {
	return &partitioned{
		twin: twin{w.p.Clone(), w.m.clone()}, names: slices.Clone(w.names),
		slots: slices.Clone(w.slots),
	}
}

// TestBundlesAreTheArrayModel is TestProfileIsTheArrayModel for requests of bundles. Some spans
// occupy only a part of a slot, which keeps its bundles from being free.
func TestBundlesAreTheArrayModel(t *testing.T) { rapid.Check(t, bundlesAreTheModel) }

func bundlesAreTheModel(t *rapid.T) {
	resources := rapid.IntRange(1, 3).Draw(t, "resources")
	rule := rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack, profile.Spread}).Draw(t, "rule")
	between := func(t *rapid.T, low, high profile.Time, label string) profile.Time {
		return profile.Time(rapid.Int64Range(int64(low), int64(max(low, high))).Draw(t, label))
	}
	slots := rapid.IntRange(2, 7).Draw(t, "slots")
	var all []*partitioned
	first := &partitioned{twin: twin{profile.New(rule), &model{rule: rule}}}
	all = append(all, first)
	late := rapid.IntRange(0, 1).Draw(t, "slots to come")
	addSlot := func(w *partitioned, t *rapid.T) {
		capacity := profile.Vector(rapid.SliceOfN(rapid.Int64Range(0, 3), resources, resources).Draw(t, "capacity"))
		capacity[0]++
		id := len(w.m.up)
		w.p.SetSlot(profile.SlotID(id), string(rune('a'+id)), capacity)
		w.m.setSlot(id, capacity)
	}
	for range slots - late {
		addSlot(first, t)
	}
	addBundle := func(w *partitioned, t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, slots-1), 1, slots, rapid.ID[int]).Draw(t, "bundle")
		slices.Sort(ids)
		var on []profile.SlotID
		for _, id := range ids {
			on = append(on, profile.SlotID(id))
		}
		if slices.ContainsFunc(w.slots, func(o []profile.SlotID) bool { return slices.Equal(o, on) }) {
			return
		}
		name := string(rune('z'-len(w.slots)%3)) + string(rune('a'+len(w.slots)))
		w.p.AddBundle(name, on)
		w.names, w.slots = append(w.names, name), append(w.slots, on)
	}
	for range rapid.IntRange(1, 8).Draw(t, "bundles") {
		addBundle(first, t)
	}
	one := func(t *rapid.T) *partitioned { return all[rapid.IntRange(0, len(all)-1).Draw(t, "profile")] }
	request := func(t *rapid.T, w *partitioned) profile.Request {
		set := &profile.Candidates{}
		ranked := rapid.Bool().Draw(t, "ranked")
		for id := range w.slots {
			if rapid.IntRange(0, 3).Draw(t, "candidate") > 0 {
				set.Bundles = append(set.Bundles, profile.BundleID(id))
				if ranked {
					set.Rank = append(set.Rank, rapid.Int32Range(0, 1).Draw(t, "rank"))
				}
			}
		}
		set.Windows = drawWindows(t, len(set.Bundles))
		return profile.Request{
			Whole: true, Nodes: 1, Duration: between(t, 1, 12, "duration"), Candidates: set,
			ToEnd: rapid.Bool().Draw(t, "to end"),
		}
	}

	t.Repeat(map[string]func(*rapid.T){
		"place": func(t *rapid.T) {
			w := one(t)
			r := request(t, w)
			start, at, ok := w.p.EarliestFit(r, w.m.now+between(t, 0, 9, "from"))
			if !ok || start+r.Duration >= horizon {
				t.Skip("it fits nowhere, or ends after the array")
			}
			w.add(span{at, nil, start, w.m.end(r, at, start)})
		},
		"occupy a slot": func(t *rapid.T) {
			w := one(t)
			start := w.m.now + between(t, 0, 30, "start")
			if start+20 >= horizon {
				t.Skip("the span might end after the array")
			}
			at := profile.Placement{{Slot: profile.SlotID(rapid.IntRange(0, len(w.m.up)-1).Draw(t, "slot")), Count: 1}}
			chunk := profile.Vector(rapid.SliceOfN(rapid.Int64Range(0, 2), resources, resources).Draw(t, "chunk"))
			w.add(span{at, chunk, start, start + between(t, 1, 20, "length")})
		},
		"remove": func(t *rapid.T) {
			w := one(t)
			if len(w.m.spans) == 0 {
				t.Skip("there are no spans")
			}
			i := rapid.IntRange(0, len(w.m.spans)-1).Draw(t, "span")
			s := w.m.spans[i]
			w.p.Remove(s.at, s.chunk, s.start, s.end)
			w.m.shiftWhole(s, 1)
			w.m.spans = slices.Delete(w.m.spans, i, i+1)
		},
		"pass time": func(t *rapid.T) {
			w := one(t)
			w.m.now = min(w.m.now+between(t, 0, 5, "seconds"), horizon/2)
			w.p.Forget(w.m.now)
		},
		"a slot goes or comes": func(t *rapid.T) {
			w := one(t)
			if len(w.m.up) < slots {
				addSlot(w, t)
				return
			}
			id := rapid.IntRange(0, slots-1).Draw(t, "slot")
			if w.m.up[id] = !w.m.up[id]; w.m.up[id] {
				w.p.SetSlot(profile.SlotID(id), string(rune('a'+id)), w.m.capacity[id])
			} else {
				w.p.DropSlot(profile.SlotID(id))
			}
		},
		"end a slot": func(t *rapid.T) {
			w := one(t)
			id := rapid.IntRange(0, len(w.m.up)-1).Draw(t, "slot")
			end := rapid.SampledFrom([]profile.Time{0, w.m.now + between(t, -5, 40, "end")}).Draw(t, "ends")
			w.p.SetEnd(profile.SlotID(id), max(0, end))
			w.m.setEnd(id, max(0, end))
		},
		"add a bundle": func(t *rapid.T) { addBundle(one(t), t) },
		"drop the last bundle": func(t *rapid.T) {
			w := one(t)
			if len(w.slots) < 2 {
				t.Skip("the last bundle stays")
			}
			w.p.DropLastBundle()
			w.names, w.slots = w.names[:len(w.names)-1], w.slots[:len(w.slots)-1]
		},
		"clone": func(t *rapid.T) {
			c := one(t).clone()
			if len(all) < 3 {
				all = append(all, c)
			} else {
				all[rapid.IntRange(0, 2).Draw(t, "instead of")] = c
			}
		},
		"": func(t *rapid.T) {
			for range 3 {
				w := one(t)
				r := request(t, w)
				from := between(t, w.m.now, w.m.now+20, "from")
				start := between(t, from, from+25, "start")
				askForBundles(t, w, r, from, between(t, from, start, "limit"), start)
			}
		},
	})
}

// askForBundles compares the profile's answers about a request of a bundle with the model's. The
// searches look for starts at from or later. EarliestAhead gets start, which is not before limit,
// as the planned start.
func askForBundles(t *rapid.T, w *partitioned, r profile.Request, from, limit, start profile.Time) {
	want := w.place(r, from)
	at, ok := w.p.Place(r, from)
	require.Equal(t, want, at)
	require.Equal(t, want != nil, ok)
	for _, until := range []profile.Time{profile.Forever, limit} {
		first, found := w.earliest(r, from, until, profile.Forever)
		got, where, fits := w.p.EarliestFitBefore(r, from, until)
		require.Equal(t, found, fits)
		if found {
			require.Equal(t, first, got)
			require.Equal(t, w.place(r, first), where)
		}
	}
	first, found := w.earliest(r, from, limit, start)
	got, ok := w.p.EarliestAhead(r, start, from, limit)
	require.Equal(t, found, ok)
	if found {
		require.Equal(t, first, got)
	}

	up := false
	for id := range w.slots {
		bundle, whole := profile.BundleID(id), w.all(profile.BundleID(id))
		i := slices.Index(r.Candidates.Bundles, bundle)
		candidate := i >= 0
		require.Equal(t, candidate && opens(r.Candidates, i, from), w.p.Opens(r, whole, from))
		require.Equal(t, w.p.Opens(r, whole, from) && w.free(bundle, from, w.last(bundle, r, from)), w.p.Fits(r, whole, from))
		require.Equal(t, candidate, w.p.Covers(r, whole))
		placed, found := w.p.BundleAt(whole)
		require.True(t, found)
		require.Equal(t, bundle, placed)
		twice := slices.Clone(whole)
		twice[0].Count = 2
		require.ErrorContains(t, w.p.Misfit(r, twice, from), "takes one bundle whole")
		up = up || candidate && !slices.ContainsFunc(w.slots[id], func(s profile.SlotID) bool { return !w.p.Up(s) })
	}
	require.Equal(t, up, w.p.EverFits(r))
	for slot := range profile.SlotID(len(w.m.up)) {
		uses := slices.ContainsFunc(r.Candidates.Bundles,
			func(id profile.BundleID) bool { return slices.Contains(w.slots[id], slot) })
		require.Equal(t, uses, w.p.MayUse(r, slot))
	}
}

// TestLeastBlocking checks the rule that Intrepid uses: a job of one midplane takes one whose
// neighbour is in use, because one of a free pair would block the bundle of both. A higher rank
// comes before that.
func TestLeastBlocking(t *testing.T) {
	p := profile.New(profile.ByRank)
	for i := range 4 {
		p.SetSlot(profile.SlotID(i), string(rune('a'+i)), profile.Vector{512})
	}
	for _, b := range [][]profile.SlotID{{0}, {1}, {2}, {3}, {0, 1}, {2, 3}} {
		p.AddBundle("of "+string(rune('a'+b[0])), b)
	}
	single := profile.Request{
		Whole: true, Nodes: 1, Duration: 10,
		Candidates: &profile.Candidates{Bundles: []profile.BundleID{0, 1, 2, 3}},
	}
	at, ok := p.Place(single, 0)
	require.True(t, ok)
	require.Equal(t, profile.Placement{{Slot: 0, Count: 1}}, at, "each blocks one bundle, so the name decides")
	p.Add(profile.Placement{{Slot: 2, Count: 1}}, nil, 0, 100)
	at, _ = p.Place(single, 0)
	require.Equal(t, profile.Placement{{Slot: 3, Count: 1}}, at)
	pair := profile.Request{
		Whole: true, Nodes: 1, Duration: 10,
		Candidates: &profile.Candidates{Bundles: []profile.BundleID{5}},
	}
	start, at, ok := p.EarliestFit(pair, 0)
	require.True(t, ok)
	require.Equal(t, profile.Time(100), start)
	require.Equal(t, profile.Placement{{Slot: 2, Count: 1}, {Slot: 3, Count: 1}}, at)
	single.Candidates.Rank = []int32{0, 1, 0, 0}
	at, _ = p.Place(single, 0)
	require.Equal(t, profile.Placement{{Slot: 1, Count: 1}}, at, "rank comes before the number of blocked bundles")
}
