package profile_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// model is a profile as an array: it holds what is free on each slot in each second.
type model struct {
	rule     profile.Rule
	now      profile.Time
	capacity []profile.Vector
	up       []bool
	ends     []profile.Time     // from which on a slot has nothing
	free     [][]profile.Vector // by slot and second; the last second stands for all later ones
	spans    []span
	begins   []begin
}

// span is what one call of Add occupies.
type span struct {
	at         profile.Placement
	chunk      profile.Vector
	start, end profile.Time
}

const horizon = 120 // seconds that the array covers; all spans end before it

func (m *model) setSlot(id int, capacity profile.Vector) {
	if id == len(m.free) {
		seconds := make([]profile.Vector, horizon+1)
		for t := range seconds {
			seconds[t] = slices.Clone(capacity)
		}
		m.capacity, m.up, m.free = append(m.capacity, capacity), append(m.up, true), append(m.free, seconds)
		m.ends = append(m.ends, profile.Forever)
		return
	}
	for _, free := range m.free[id][:min(m.ends[id], horizon+1)] {
		free.AddScaled(capacity, 1)
		free.AddScaled(m.capacity[id], -1)
	}
	m.capacity[id], m.up[id] = capacity, true
}

func (m *model) clone() *model {
	c := *m
	c.capacity, c.up, c.spans = slices.Clone(m.capacity), slices.Clone(m.up), slices.Clone(m.spans)
	c.ends, c.begins = slices.Clone(m.ends), slices.Clone(m.begins)
	c.free = nil
	for _, seconds := range m.free {
		var copied []profile.Vector
		for _, free := range seconds {
			copied = append(copied, slices.Clone(free))
		}
		c.free = append(c.free, copied)
	}
	return &c
}

func (m *model) shift(s span, sign int64) {
	for _, c := range s.at {
		for t := s.start; t < s.end; t++ {
			m.free[c.Slot][t].AddScaled(s.chunk, sign*int64(c.Count))
		}
	}
}

// bounds returns the least and the most that is free of each resource during [from, to).
func (m *model) bounds(id profile.SlotID, from, to profile.Time) (low, high profile.Vector) {
	seconds := m.free[id]
	low, high = slices.Clone(seconds[min(from, horizon)]), slices.Clone(seconds[min(from, horizon)])
	for t := from; t < min(to, horizon+1); t++ {
		for k, free := range seconds[t] {
			low[k], high[k] = min(low[k], free), max(high[k], free)
		}
	}
	return low, high
}

// chunks returns how many of the request's chunks fit the slot during [start, end).
func (m *model) chunks(id profile.SlotID, r profile.Request, start, end profile.Time) int {
	if int(id) >= len(m.up) || !m.up[id] {
		return 0
	}
	low, _ := m.bounds(id, start, min(end, m.until(id, r, start)))
	for n := r.Nodes; n > 0; n-- {
		need := make(profile.Vector, len(r.Chunk))
		need.AddScaled(r.Chunk, int64(n))
		fits := true
		for k, a := range need { // an overfull resource that is not asked for does not matter
			fits = fits && (a == 0 || a <= low[k])
		}
		fits = fits && m.enough(id, r, n, start)
		if fits {
			return n
		}
	}
	return 0
}

// earliest returns the first start in [from, limit) at which the request fits. What is free from
// until on does not matter.
func (m *model) earliest(r profile.Request, from, limit, until profile.Time) (profile.Time, bool) {
	for start := from; start < min(limit, max(from, horizon)+1); start++ {
		total := 0
		for i, id := range r.Candidates.Slots {
			if opens(r.Candidates, i, start) {
				total += m.chunks(id, r, start, min(start+r.Duration, until))
			}
		}
		if total >= r.Nodes {
			return start, true
		}
	}
	return 0, false
}

// place chooses slots by the rule. It compares the remainders as exact fractions.
func (m *model) place(r profile.Request, start profile.Time) (at profile.Placement) {
	type host struct {
		id     profile.SlotID
		chunks int
		lasts  profile.Time
		rank   int32
		spare  int
		left   *big.Rat
	}
	var hosts []host
	for i, id := range r.Candidates.Slots {
		h := host{id: id, chunks: m.chunks(id, r, start, start+r.Duration), left: big.NewRat(1, 1)}
		if h.chunks == 0 || !opens(r.Candidates, i, start) {
			continue
		}
		if r.Candidates.Rank != nil {
			h.rank = r.Candidates.Rank[i]
		}
		low, _ := m.bounds(id, start, m.until(id, r, start))
		h.lasts = m.until(id, r, start) - start
		for k, total := range m.capacity[id] {
			if total > 0 {
				if r.Chunk[k] == 0 {
					h.spare++
				}
				if left := big.NewRat(low[k]-r.Chunk[k], total); left.Cmp(h.left) < 0 {
					h.left = left
				}
			}
		}
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b host) int { // names have the order of the IDs
		if a.lasts != b.lasts {
			return cmp.Compare(b.lasts, a.lasts)
		}
		switch m.rule {
		case profile.Spread:
			return cmp.Or(cmp.Compare(a.spare, b.spare), b.left.Cmp(a.left), cmp.Compare(a.id, b.id))
		case profile.Pack:
			return cmp.Or(cmp.Compare(a.spare, b.spare), a.left.Cmp(b.left), cmp.Compare(a.id, b.id))
		default:
			return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.spare, b.spare), a.left.Cmp(b.left), cmp.Compare(a.id, b.id))
		}
	})
	left := r.Nodes
	if m.rule != profile.Spread {
		for _, h := range hosts {
			if n := min(h.chunks, left); n > 0 {
				at = append(at, profile.Chunks{Slot: h.id, Count: n})
				left -= n
			}
		}
	}
	for m.rule == profile.Spread && left > 0 && len(hosts) > 0 {
		group := slices.IndexFunc(hosts, func(h host) bool { return h.spare != hosts[0].spare })
		if group < 0 {
			group = len(hosts)
		}
		first := len(at)
		for round := 1; round <= r.Nodes; round++ { // one chunk on each slot in each
			for i, h := range hosts[:group] {
				switch {
				case h.chunks < round || left == 0:
					continue
				case round == 1:
					at = append(at, profile.Chunks{Slot: h.id})
				}
				at[first+i].Count++
				left--
			}
		}
		hosts = hosts[group:]
	}
	if left > 0 {
		return nil // not all of them fit
	}
	return at
}

// twin is a profile and a model that went through the same operations.
type twin struct {
	p *profile.Profile
	m *model
}

// TestProfileIsTheArrayModel checks that a profile gives the same answers as an array, after the
// same operations. Clones go on from there with operations of their own. The test runs once with
// searches of every slot and once with reaches.
func TestProfileIsTheArrayModel(t *testing.T) {
	t.Run("slot by slot", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { profileIsTheModel(t, func(*profile.Profile) {}) })
	})
	t.Run("by reach", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			profileIsTheModel(t, func(p *profile.Profile) { profile.AskMany(p, 2, 12) })
		})
	})
}

func profileIsTheModel(t *rapid.T, prepare func(*profile.Profile)) {
	resources := rapid.IntRange(1, 4).Draw(t, "resources")
	vector := func(t *rapid.T, low, high int64, label string) profile.Vector {
		return rapid.SliceOfN(rapid.Int64Range(low, high), resources, resources).Draw(t, label)
	}
	between := func(t *rapid.T, low, high profile.Time, label string) profile.Time {
		return profile.Time(rapid.Int64Range(int64(low), int64(max(low, high))).Draw(t, label))
	}
	rule := rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack, profile.Spread}).Draw(t, "rule")
	twins := []*twin{{profile.New(rule), &model{rule: rule}}}
	prepare(twins[0].p)
	slots := rapid.IntRange(1, 4).Draw(t, "slots")
	for i := range slots {
		capacity := vector(t, 0, 8, "capacity")
		twins[0].p.SetSlot(profile.SlotID(i), string(rune('a'+i)), capacity)
		twins[0].m.setSlot(i, capacity)
	}
	one := func(t *rapid.T) *twin { return twins[rapid.IntRange(0, len(twins)-1).Draw(t, "profile")] }
	// Requests reuse three sets of candidates and three chunks, as the jobs of an autocluster do.
	var sets []*profile.Candidates
	var chunks []profile.Vector
	for range 3 {
		set := &profile.Candidates{}
		ranked := rapid.Bool().Draw(t, "ranked")
		for id := range profile.SlotID(slots) {
			if rapid.IntRange(0, 3).Draw(t, "candidate") > 0 {
				set.Slots = append(set.Slots, id)
				if ranked {
					set.Rank = append(set.Rank, rapid.Int32Range(0, 1).Draw(t, "rank"))
				}
			}
		}
		set.Windows = drawWindows(t, len(set.Slots))
		set.Least = drawLeast(t, len(set.Slots), resources)
		sets, chunks = append(sets, set), append(chunks, vector(t, 0, 4, "chunk"))
	}
	request := func(t *rapid.T) profile.Request {
		return profile.Request{
			Chunk: rapid.SampledFrom(chunks).Draw(t, "chunk"), Nodes: rapid.IntRange(1, 5).Draw(t, "nodes"),
			Duration: between(t, 1, 12, "duration"), Candidates: rapid.SampledFrom(sets).Draw(t, "candidates"),
			ToEnd: rapid.Bool().Draw(t, "to end"),
		}
	}
	add := func(w *twin, s span) {
		w.p.Add(s.at, s.chunk, s.start, s.end)
		w.m.shift(s, -1)
		w.m.spans = append(w.m.spans, s)
	}

	t.Repeat(map[string]func(*rapid.T){
		"place": func(t *rapid.T) {
			w, r := one(t), request(t)
			start, at, ok := w.p.EarliestFit(r, w.m.now+between(t, 0, 9, "from"))
			if !ok || start+r.Duration >= horizon {
				t.Skip("it fits nowhere, or ends after the array")
			}
			add(w, span{at, r.Chunk, start, w.m.end(r, at, start)})
		},
		"occupy": func(t *rapid.T) { // even if it does not fit
			w := one(t)
			start := w.m.now + between(t, -5, 30, "start")
			if start < 0 || start+30 >= horizon {
				t.Skip("the span might lie outside the array")
			}
			at := profile.Placement{{
				Slot:  profile.SlotID(rapid.IntRange(0, slots-1).Draw(t, "slot")),
				Count: rapid.IntRange(1, 3).Draw(t, "count"),
			}}
			add(w, span{at, vector(t, 0, 3, "chunk"), start, start + between(t, 1, 20, "length")})
		},
		"remove": func(t *rapid.T) {
			w := one(t)
			if len(w.m.spans) == 0 {
				t.Skip("there are no spans")
			}
			i := rapid.IntRange(0, len(w.m.spans)-1).Draw(t, "span")
			s := w.m.spans[i]
			w.p.Remove(s.at, s.chunk, s.start, s.end)
			w.m.shift(s, 1)
			w.m.spans = slices.Delete(w.m.spans, i, i+1)
		},
		"slide": func(t *rapid.T) {
			w := one(t)
			if len(w.m.spans) == 0 {
				t.Skip("there are no spans")
			}
			i := rapid.IntRange(0, len(w.m.spans)-1).Draw(t, "span")
			s := w.m.spans[i]
			next := s
			next.start = s.start - between(t, 1, 15, "earlier")
			next.end = min(s.end, next.start+s.end-s.start+between(t, -2, 2, "longer"))
			if len(s.at) != 1 || next.start < w.m.now || next.start >= next.end ||
				w.m.ends[s.at[0].Slot] != profile.Forever {
				t.Skip("it does not slide")
			}
			least, _ := w.m.bounds(s.at[0].Slot, next.start, min(next.end, s.start))
			fits := true
			for k, n := range s.chunk {
				fits = fits && (n == 0 || least[k] >= n*int64(s.at[0].Count))
			}
			require.Equal(t, fits, w.p.Slide(s.at[0], s.chunk, s.start, s.end, next.start, next.end))
			if fits {
				w.m.shift(s, 1)
				w.m.shift(next, -1)
				w.m.spans[i] = next
			}
		},
		"lead": func(t *rapid.T) {
			w := one(t)
			b := begin{
				slot:  profile.SlotID(rapid.IntRange(0, slots-1).Draw(t, "slot")),
				at:    w.m.now + between(t, -2, 6, "at"), // several at one instant
				spare: vector(t, 0, 6, "spare"),
			}
			if b.at < 0 {
				t.Skip("it lies outside the array")
			}
			w.p.Lead(b.slot, b.at, b.spare, 1)
			w.m.lead(b)
		},
		"lead no more": func(t *rapid.T) {
			w := one(t)
			if len(w.m.begins) == 0 {
				t.Skip("nobody is to begin")
			}
			i := rapid.IntRange(0, len(w.m.begins)-1).Draw(t, "lead")
			b := w.m.begins[i]
			w.p.Lead(b.slot, b.at, b.spare, -1)
			w.m.leadNoMore(i)
		},
		"pass time": func(t *rapid.T) {
			w := one(t)
			w.m.now = min(w.m.now+between(t, 0, 5, "seconds"), horizon/2)
			w.p.Forget(w.m.now)
			w.p.AskFrom(w.m.now + between(t, 0, 5, "ask from"))
		},
		"set a slot": func(t *rapid.T) {
			w, id, capacity := one(t), rapid.IntRange(0, slots-1).Draw(t, "slot"), vector(t, 0, 8, "capacity")
			w.p.SetSlot(profile.SlotID(id), string(rune('a'+id)), capacity)
			w.m.setSlot(id, capacity)
		},
		"end a slot": func(t *rapid.T) {
			w, id := one(t), rapid.IntRange(0, slots-1).Draw(t, "slot")
			end := rapid.SampledFrom([]profile.Time{0, w.m.now + between(t, -5, 40, "end")}).Draw(t, "ends")
			w.p.SetEnd(profile.SlotID(id), max(0, end))
			w.m.setEnd(id, max(0, end))
		},
		"drop a slot": func(t *rapid.T) {
			w, id := one(t), rapid.IntRange(0, slots-1).Draw(t, "slot")
			w.p.DropSlot(profile.SlotID(id))
			w.m.up[id] = false
		},
		"clone": func(t *rapid.T) {
			w := one(t)
			c := &twin{w.p.Clone(), w.m.clone()}
			if len(twins) < 3 {
				twins = append(twins, c)
			} else {
				twins[rapid.IntRange(0, 2).Draw(t, "instead of")] = c
			}
		},
		"": func(t *rapid.T) {
			for _, w := range twins {
				for id, up := range w.m.up {
					require.Equal(t, up, w.p.Up(profile.SlotID(id)))
					at := between(t, w.m.now, horizon, "at")
					require.Equal(t, w.m.free[id][at], w.p.Free(profile.SlotID(id), at), "slot %d at %d", id, at)
					require.Equal(t, w.m.free[id][at][0], w.p.FreeOf(profile.SlotID(id), 0, at))
				}
			}
			for range 3 {
				w, r := one(t), request(t)
				from := between(t, w.m.now, w.m.now+20, "from") // near now, where spans are
				start := between(t, from, from+25, "start")
				limit := between(t, from, start, "limit")
				ask(t, w, r, from, limit, start)
			}
		},
	})
}

// ask compares the profile's answer to every kind of question with the model's. The searches look
// for starts at from or later. EarliestAhead gets start, which is not before limit, as the planned
// start.
func ask(t *rapid.T, w *twin, r profile.Request, from, limit, start profile.Time) {
	p, m := w.p, w.m
	askSums(t, w, r, from, limit)
	for id := range m.free {
		slot := profile.SlotID(id)
		if from < limit {
			low, high := make(profile.Vector, len(r.Chunk)), make(profile.Vector, len(r.Chunk))
			p.Bounds(slot, from, limit, low, high)
			wantLow, wantHigh := m.bounds(slot, from, limit)
			require.Equal(t, wantLow, low)
			require.Equal(t, wantHigh, high)
		}
		least, _ := m.bounds(slot, from, profile.Forever)
		require.Equal(t, slices.Min(least) < 0, p.Overfull(slot, from))
	}

	want := m.place(r, from)
	at, ok := p.Place(r, from)
	require.Equal(t, want, at)
	require.Equal(t, want != nil, ok)
	require.Equal(t, ok, p.HasPlace(r, from))
	if ok {
		require.NoError(t, p.Misfit(r, at, from))
	}
	for id := range m.free { // all chunks on one slot
		slot := profile.SlotID(id)
		i := slices.Index(r.Candidates.Slots, slot)
		fits := i >= 0 && opens(r.Candidates, i, from) && m.chunks(slot, r, from, from+r.Duration) == r.Nodes
		require.Equal(t, fits, p.Fits(r, profile.Placement{{Slot: slot, Count: r.Nodes}}, from))
	}

	for _, until := range []profile.Time{profile.Forever, limit} {
		first, found := m.earliest(r, from, until, profile.Forever)
		got, where, fits := p.EarliestFitBefore(r, from, until)
		require.Equal(t, found, fits)
		if found {
			require.Equal(t, first, got)
			require.Equal(t, m.place(r, first), where)
		}
	}
	first, found := m.earliest(r, from, limit, start)
	got, ok := p.EarliestAhead(r, start, from, limit)
	require.Equal(t, found, ok)
	if found {
		require.Equal(t, first, got)
	}

	if len(at) > 0 {
		require.Equal(t, m.end(r, at, from), p.Ends().Run(r, at, from))
	}
	closes := profile.Closing{Last: -profile.Forever}
	for i, id := range r.Candidates.Slots {
		if m.up[id] {
			last := profile.Forever
			if all := r.Candidates.Windows; all != nil && len(all[i]) > 0 {
				last = all[i][len(all[i])-1].To
			}
			last = min(last, m.ends[id])
			if closes.Places++; last <= from || m.ends[id] < from+r.Duration {
				closes.Soon++
			}
			closes.Last = max(closes.Last, last)
		}
	}
	if p.Ends().Count() > 0 {
		require.Equal(t, closes, p.Ends().Closes(r, from))
	}

	empty := &model{rule: m.rule}
	for id, capacity := range m.capacity {
		empty.setSlot(id, capacity)
	}
	copy(empty.up, m.up)
	always := r
	always.Candidates = &profile.Candidates{Slots: r.Candidates.Slots, Least: r.Candidates.Least}
	require.Equal(t, empty.place(always, 0) != nil, p.EverFits(r))
}

// setEnd lets a slot end at an instant; 0: it has no end.
func (m *model) setEnd(id int, end profile.Time) {
	if end == 0 {
		end = profile.Forever
	}
	for t := range profile.Time(horizon + 1) {
		if m.ends[id] <= t {
			m.free[id][t].AddScaled(m.capacity[id], 1)
		}
		if end <= t {
			m.free[id][t].AddScaled(m.capacity[id], -1)
		}
	}
	m.ends[id] = end
}

// until returns when the request ends on a slot if it starts at start.
func (m *model) until(id profile.SlotID, r profile.Request, start profile.Time) profile.Time {
	if r.ToEnd && m.up[id] {
		return min(start+r.Duration, max(m.ends[id], start+1))
	}
	return start + r.Duration
}

// end returns when the request ends if it starts at start, placed so.
func (m *model) end(r profile.Request, at profile.Placement, start profile.Time) profile.Time {
	end := start + r.Duration
	for _, c := range at {
		end = min(end, m.until(c.Slot, r, start))
	}
	return end
}
