package profile_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// model is a profile as an array: what is free on each slot in each second.
type model struct {
	capacity []profile.Vector
	free     [][]profile.Vector // slot, second
}

const horizon = 120 // seconds; spans end well before

func newModel(capacity []profile.Vector) *model {
	m := &model{capacity: capacity}
	for _, c := range capacity {
		seconds := make([]profile.Vector, horizon)
		for t := range seconds {
			seconds[t] = slices.Clone(c)
		}
		m.free = append(m.free, seconds)
	}
	return m
}

func (m *model) shift(s span, sign int64) {
	for _, c := range s.at {
		for t := s.start; t < s.end; t++ {
			m.free[c.Slot][t].AddScaled(s.chunk, sign*int64(c.Count))
		}
	}
}

// chunks is how many chunks fit the slot during the request at start.
func (m *model) chunks(slot profile.SlotID, r profile.Request, start profile.Time) int {
	for n := r.Nodes; n > 0; n-- {
		need := make(profile.Vector, len(r.Chunk))
		need.AddScaled(r.Chunk, int64(n))
		fits := true
		for t := start; t < min(start+r.Duration, horizon); t++ {
			for k, a := range need { // what is not asked for does not matter
				fits = fits && (a == 0 || a <= m.free[slot][t][k])
			}
		}
		if fits {
			return n
		}
	}
	return 0
}

func (m *model) earliest(r profile.Request, notBefore profile.Time) (profile.Time, bool) {
	for start := notBefore; start < horizon; start++ {
		total := 0
		for _, slot := range r.Candidates.Slots {
			total += m.chunks(slot, r, start)
		}
		if total >= r.Nodes {
			return start, true
		}
	}
	return 0, false
}

type span struct {
	at         profile.Placement
	chunk      profile.Vector
	start, end profile.Time
}

// TestProfileIsTheArrayModel drives a profile and the array through the same
// operations and asks both the same questions; a clone in between must not
// notice what happens to its origin.
func TestProfileIsTheArrayModel(t *testing.T) {
	t.Run("slot by slot", func(t *testing.T) { rapid.Check(t, profileIsTheModel) })
	t.Run("by reach", func(t *testing.T) {
		profile.AskMany(t, 2)
		rapid.Check(t, profileIsTheModel)
	})
}

func profileIsTheModel(t *rapid.T) {
	resources := rapid.IntRange(1, 3).Draw(t, "resources")
	vector := func(low, high int64, label string) profile.Vector {
		return rapid.SliceOfN(rapid.Int64Range(low, high), resources, resources).Draw(t, label)
	}
	rule := rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack, profile.Spread}).Draw(t, "rule")
	p := profile.New(rule)
	var capacity []profile.Vector
	var all profile.Candidates
	for i := range rapid.IntRange(1, 4).Draw(t, "slots") {
		capacity = append(capacity, vector(1, 8, "capacity"))
		p.SetSlot(profile.SlotID(i), string(rune('a'+i)), capacity[i])
		all.Slots = append(all.Slots, profile.SlotID(i))
		all.Rank = append(all.Rank, rapid.Int32Range(0, 1).Draw(t, "rank"))
	}
	m := newModel(capacity)
	var spans []span
	now := profile.Time(0)
	var clone *profile.Profile
	var cloned []profile.Vector // what the clone has at the time of cloning

	t.Repeat(map[string]func(*rapid.T){
		"place": func(t *rapid.T) {
			r := profile.Request{
				Chunk: vector(0, 4, "chunk"), Nodes: rapid.IntRange(1, 5).Draw(t, "nodes"),
				Duration: profile.Time(rapid.IntRange(1, 12).Draw(t, "duration")), Candidates: &all,
			}
			from := now + profile.Time(rapid.IntRange(0, 9).Draw(t, "from"))
			if from+40 > horizon || len(spans) > 12 {
				t.Skip("the array ends here")
			}
			start, at, ok := p.EarliestFit(r, from)
			wantStart, wantOK := m.earliest(r, from)
			require.Equal(t, wantOK, ok)
			if !ok {
				require.False(t, p.EverFits(r))
				return
			}
			require.Equal(t, wantStart, start)
			require.NoError(t, p.Misfit(r, at, start))
			if end := start + r.Duration; end < horizon {
				s := span{at, r.Chunk, start, end}
				p.Add(s.at, s.chunk, s.start, s.end)
				m.shift(s, -1)
				spans = append(spans, s)
			}
		},
		"remove": func(t *rapid.T) {
			if len(spans) == 0 {
				t.Skip("nothing is there")
			}
			i := rapid.IntRange(0, len(spans)-1).Draw(t, "span")
			p.Remove(spans[i].at, spans[i].chunk, spans[i].start, spans[i].end)
			m.shift(spans[i], 1)
			spans = slices.Delete(spans, i, i+1)
		},
		"pass time": func(t *rapid.T) {
			if now += profile.Time(rapid.IntRange(0, 5).Draw(t, "seconds")); now > horizon/2 {
				now = horizon / 2
			}
			p.Forget(now)
		},
		"clone": func(*rapid.T) {
			clone, cloned = p.Clone(), nil
			for _, slot := range all.Slots {
				cloned = append(cloned, p.Free(slot, now))
			}
		},
		"": func(t *rapid.T) {
			for slot := range m.free {
				for s := now; s < horizon; s += 7 {
					require.Equal(t, m.free[slot][s], p.Free(profile.SlotID(slot), s), "slot %d at %d", slot, s)
				}
			}
			if clone != nil && now == 0 {
				for i, slot := range all.Slots {
					require.Equal(t, cloned[i], clone.Free(slot, 0))
				}
			}
		},
	})
}
