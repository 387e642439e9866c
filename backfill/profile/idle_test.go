package profile_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestReachesChangeNothing checks that a profile that uses reaches gives the same answers as a
// clone that searches every slot. Many slots of the pools are equal and idle, and they go through
// every kind of change, so a bound or a note of an idle slot that is out of date gives a wrong
// answer.
func TestReachesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clones := []*pool{drawPool(t)}
		profile.AskMany(clones[0].p, 2, 1000)
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				r := w.request(t)
				end := w.now + r.Duration
				if rapid.IntRange(0, 9).Draw(t, "stays") == 0 {
					end = profile.Forever
				}
				if at, ok := w.p.Place(r, w.now); ok {
					w.add(span{at, r.Chunk, w.now, end})
				}
			},
			"reserve": func(t *rapid.T) {
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				r := w.request(t)
				if start, at, ok := w.p.EarliestFit(r, w.now); ok {
					w.add(span{at, r.Chunk, start, start + r.Duration})
				}
			},
			"end": func(t *rapid.T) { // before or after the span's own end
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				if len(w.spans) == 0 {
					t.Skip("there are no spans")
				}
				i := rapid.IntRange(0, len(w.spans)-1).Draw(t, "span")
				s := w.spans[i]
				w.p.Remove(s.at, s.chunk, s.start, s.end)
				w.spans = slices.Delete(w.spans, i, i+1)
			},
			"pass time": func(t *rapid.T) {
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				w.now += profile.Time(rapid.IntRange(1, 8).Draw(t, "seconds"))
				w.p.Forget(w.now)
			},
			"ask from": func(t *rapid.T) { // later than some questions to come, or earlier than the last
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				w.p.AskFrom(w.now + profile.Time(rapid.IntRange(0, 6).Draw(t, "ahead")))
			},
			"lose or change a slot": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "seldom") > 0 {
					t.Skip("not now")
				}
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				id := profile.SlotID(rapid.IntRange(0, w.slots-1).Draw(t, "slot"))
				switch rapid.IntRange(0, 3).Draw(t, "how") {
				case 0, 1:
					w.p.DropSlot(id)
				case 2: // the same capacity; the slot may have been dropped
					w.p.SetSlot(id, w.name(id), w.p.CapacityOf(id))
				default:
					w.p.SetSlot(id, w.name(id), drawCapacity(t))
				}
			},
			"add a slot": func(t *rapid.T) {
				w := rapid.SampledFrom(clones).Draw(t, "pool")
				w.p.SetSlot(profile.SlotID(w.slots), w.name(profile.SlotID(w.slots)), drawCapacity(t))
				if rapid.Bool().Draw(t, "not at all") {
					w.p.DropLastSlot()
					return
				}
				set := &profile.Candidates{Slots: slices.Clone(w.sets[0].Slots), Rank: slices.Clone(w.sets[0].Rank)}
				if set.Slots = append(set.Slots, profile.SlotID(w.slots)); set.Rank != nil {
					set.Rank = append(set.Rank, 1)
				}
				w.sets = append([]*profile.Candidates{set}, w.sets[1:]...)
				w.slots++
			},
			"clone": func(t *rapid.T) {
				c := *rapid.SampledFrom(clones).Draw(t, "pool")
				c.p, c.spans = c.p.Clone(), slices.Clone(c.spans)
				if clones = append(clones, &c); len(clones) > 3 {
					clones = slices.Delete(clones, 0, 1)
				}
			},
			"": func(t *rapid.T) {
				for _, w := range clones {
					r := w.request(t)
					from := w.now + profile.Time(rapid.IntRange(0, 6).Draw(t, "from"))
					start, at, ok := w.p.EarliestFit(r, from)
					has := w.p.HasPlace(r, from)
					now, fits := w.p.Place(r, from)
					require.Equal(t, fits, has)
					plain := profile.OneByOne(w.p)
					wantStart, want, found := plain.EarliestFit(r, from)
					require.Equal(t, found, ok)
					require.Equal(t, wantStart, start)
					require.Equal(t, want, at)
					want, found = plain.Place(r, from)
					require.Equal(t, found, fits)
					require.Equal(t, want, now)
				}
			},
		})
	})
}

// TestAskFrom checks that questions about instants before AskFrom's are answered correctly,
// although the bounds computed after AskFrom do not cover them.
func TestAskFrom(t *testing.T) {
	p, all := newPool(profile.Pack, []hand{{"a", vec(1), nil}, {"b", vec(1), nil}})
	profile.AskMany(p, 2, 12)
	p.Add(place(0, 1, 1, 1), vec(1), 5, 20)
	r := profile.Request{Chunk: vec(1), Nodes: 1, Duration: 3, Candidates: all}
	earliest := func(from profile.Time) profile.Time {
		start, at, ok := p.EarliestFit(r, from)
		require.True(t, ok)
		require.Equal(t, place(0, 1), at)
		return start
	}
	p.AskFrom(5)
	require.EqualValues(t, 20, earliest(5))
	require.EqualValues(t, 1, earliest(1), "a start before AskFrom's instant")
	require.EqualValues(t, 20, earliest(5))
	p.AskFrom(0)
	require.EqualValues(t, 0, earliest(0))
	p.Forget(6)
	p.AskFrom(0)
	require.EqualValues(t, 20, earliest(6))
}

// pool is a profile, and what the test needs to change it: the time, the requests and the spans.
type pool struct {
	p      *profile.Profile
	now    profile.Time
	slots  int
	sets   []*profile.Candidates
	chunks []profile.Vector
	spans  []span
}

// drawPool draws an idle pool whose slots have one of four capacities. Requests reuse three sets of
// candidates and three chunks, so that they find reaches that earlier ones made.
func drawPool(t *rapid.T) *pool {
	rule := rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack, profile.Spread}).Draw(t, "rule")
	w := &pool{p: profile.New(rule), slots: rapid.IntRange(2, 150).Draw(t, "slots")}
	for id := range profile.SlotID(w.slots) {
		w.p.SetSlot(id, w.name(id), drawCapacity(t))
	}
	for range 3 {
		set := &profile.Candidates{}
		every := rapid.IntRange(1, 3).Draw(t, "every")
		ranks := rapid.Int32Range(0, 2).Draw(t, "ranks")
		for id := profile.SlotID(0); int(id) < w.slots; id += profile.SlotID(every) {
			set.Slots = append(set.Slots, id)
			if ranks > 0 {
				set.Rank = append(set.Rank, int32(id)*7%(ranks+1))
			}
		}
		w.sets, w.chunks = append(w.sets, set), append(w.chunks, drawVector(t, 4))
	}
	return w
}

func drawCapacity(t *rapid.T) profile.Vector {
	return rapid.SampledFrom([]profile.Vector{{1, 2}, {2, 4}, {4, 4}, {4, 0}}).Draw(t, "capacity")
}

// name gives slots names whose order differs from that of their IDs.
func (w *pool) name(id profile.SlotID) string { return fmt.Sprint("slot", int(id)*37%101, "-", id) }

func (w *pool) request(t *rapid.T) profile.Request {
	return profile.Request{
		Chunk: rapid.SampledFrom(w.chunks).Draw(t, "chunk"), Nodes: rapid.SampledFrom([]int{1, 1, 1, 2, 5, 60}).Draw(t,
			"nodes"),
		Duration: profile.Time(rapid.IntRange(1, 12).Draw(t, "duration")), Candidates: rapid.SampledFrom(w.sets).Draw(t,
			"candidates"),
	}
}

func (w *pool) add(s span) {
	w.p.Add(s.at, s.chunk, s.start, s.end)
	w.spans = append(w.spans, s)
}

// TestASlotThatEndsIsNotIdle: a request that may run to a slot's end gets the slot without an end, also
// where nothing tells them apart but that, as they have nothing.
func TestASlotThatEndsIsNotIdle(t *testing.T) {
	p := profile.New(profile.ByRank)
	profile.AskMany(p, 1, 100)
	for id, name := range []string{"a", "b"} {
		p.SetSlot(profile.SlotID(id), name, vec(0))
	}
	p.SetEnd(0, 1)
	all := &profile.Candidates{Slots: []profile.SlotID{0, 1}}
	at, ok := p.Place(profile.Request{Chunk: vec(0), Nodes: 1, Duration: 2, Candidates: all, ToEnd: true}, 0)
	require.True(t, ok)
	require.Equal(t, profile.Placement{{Slot: 1, Count: 1}}, at)
}
