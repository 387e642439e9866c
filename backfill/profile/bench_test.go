package profile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// reserved returns a pool of one slot with 1024 cpus and n reservations, each at its earliest
// start.
func reserved(b *testing.B, n int) (*profile.Profile, *profile.Candidates, []span) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	p, all := newPool(profile.Pack, []hand{{"a", vec(1024, 1<<20), nil}})
	spans := make([]span, n)
	for i := range spans {
		r := profile.Request{
			Chunk: vec(1+random.Int64N(512), random.Int64N(1<<18)), Nodes: 1,
			Duration: 60 + profile.Time(random.IntN(36000)), Candidates: all,
		}
		start, at, ok := p.EarliestFit(r, 0)
		require.True(b, ok)
		spans[i] = span{at, r.Chunk, start, start + r.Duration}
		p.Add(at, r.Chunk, start, start+r.Duration)
	}
	return p, all, spans
}

// BenchmarkOneSlot measures searches and changes on one slot with 10 to 30000 reservations.
func BenchmarkOneSlot(b *testing.B) {
	for _, n := range []int{10, 1000, 30000} {
		p, all, spans := reserved(b, n)
		for name, r := range map[string]profile.Request{
			"EarliestFit-narrow": {Chunk: vec(1, 1), Nodes: 1, Duration: 60, Candidates: all},
			"EarliestFit-wide":   {Chunk: vec(1000, 1), Nodes: 1, Duration: 36000, Candidates: all},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					_, _, ok := p.EarliestFit(r, 0)
					require.True(b, ok)
				}
			})
		}
		b.Run(fmt.Sprintf("RemoveAdd/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := spans[i%len(spans)]
				p.Remove(s.at, s.chunk, s.start, s.end)
				p.Add(s.at, s.chunk, s.start, s.end)
			}
		})
		b.Run(fmt.Sprintf("RemoveAddSlide/%d", n), func(b *testing.B) { // a second later, and back
			for i := 0; b.Loop(); i++ {
				s := spans[i%len(spans)]
				p.Remove(s.at, s.chunk, s.start, s.end)
				p.Add(s.at, s.chunk, s.start+1, s.end+1)
				require.True(b, p.Slide(s.at[0], s.chunk, s.start+1, s.end+1, s.start, s.end))
			}
		})
		b.Run(fmt.Sprintf("Fits/%d", n), func(b *testing.B) {
			r := profile.Request{Chunk: vec(1, 1), Nodes: 1, Duration: 36000, Candidates: all}
			for i := 0; b.Loop(); i++ {
				p.Fits(r, spans[0].at, spans[i%len(spans)].start)
			}
		})
		b.Run(fmt.Sprintf("CloneAndAdd/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := spans[i%len(spans)]
				p.Clone().Remove(s.at, s.chunk, s.start, s.end)
			}
		})
	}
}

// BenchmarkGang measures requests of one chunk, and of a chunk for every tenth slot, on pools of
// many slots with reservations on each.
func BenchmarkGang(b *testing.B) {
	for _, slots := range []int{100, 1000, 10000} {
		random := rand.New(rand.NewPCG(1, 2))
		hands := make([]hand, slots)
		for i := range hands {
			hands[i] = hand{fmt.Sprintf("slot%05d", i), vec(64, 1<<18), nil}
		}
		p, all := newPool(profile.Pack, hands)
		for i := range hands {
			for t := profile.Time(0); t < 36000; {
				end := t + 60 + profile.Time(random.IntN(7200))
				p.Add(place(i, 1), vec(random.Int64N(65), random.Int64N(1<<18)), t, end)
				t = end
			}
		}
		for _, nodes := range []int{1, slots / 10} {
			r := profile.Request{Chunk: vec(32, 1<<14), Nodes: nodes, Duration: 3600, Candidates: all}
			b.Run(fmt.Sprintf("EarliestFit/%d-of-%d", nodes, slots), func(b *testing.B) {
				for b.Loop() {
					_, _, ok := p.EarliestFit(r, 0)
					require.True(b, ok)
				}
			})
			b.Run(fmt.Sprintf("Fits/%d-of-%d", nodes, slots), func(b *testing.B) {
				start, at, _ := p.EarliestFit(r, 0)
				for b.Loop() {
					require.True(b, p.Fits(r, at, start))
				}
			})
		}
		b.Run(fmt.Sprintf("Forget/%d", slots), func(b *testing.B) {
			copied, now := p.Clone(), profile.Time(1<<20)
			for b.Loop() { // nothing is left to forget
				copied.Forget(now)
				now++
			}
		})
		b.Run(fmt.Sprintf("Clone/%d", slots), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Clone()
			}
		})
	}
}

// BenchmarkGangOfAll measures the search for a start at which one chunk fits on every slot, if the
// slots become free one after the other.
func BenchmarkGangOfAll(b *testing.B) {
	for _, slots := range []int{10, 100, 1000} {
		hands := make([]hand, slots)
		for i := range hands {
			hands[i] = hand{fmt.Sprintf("slot%05d", i), vec(64), nil}
		}
		p, all := newPool(profile.Pack, hands)
		for i := range hands {
			p.Add(place(i, 1), vec(64), 0, profile.Time(60+i*60))
		}
		r := profile.Request{Chunk: vec(64), Nodes: slots, Duration: 3600, Candidates: all}
		b.Run(strconv.Itoa(slots), func(b *testing.B) {
			for b.Loop() {
				start, _, ok := p.EarliestFit(r, 0)
				require.True(b, ok)
				require.Equal(b, profile.Time(slots*60), start)
			}
		})
	}
}

// partitionedMachine returns a machine of Intrepid's size: 80 midplanes, 60 wires, and some 300
// bundles of 1 to 80 adjacent midplanes. A bundle of several midplanes has wires too. There is one
// set of candidates for each size of bundle, the smallest size first.
func partitionedMachine() (p *profile.Profile, bySize []*profile.Candidates) {
	const midplanes, wires = 80, 60
	p = profile.New(profile.ByRank)
	for i := range midplanes + wires {
		p.SetSlot(profile.SlotID(i), fmt.Sprintf("slot%03d", i), vec(512, 1<<20))
	}
	bundles := 0
	for _, size := range []int{1, 2, 4, 8, 16, 32, 48, 64, 80} {
		set := &profile.Candidates{}
		for first := 0; first+size <= midplanes; first += max(1, size/4) {
			var slots []profile.SlotID
			for i := range size {
				slots = append(slots, profile.SlotID(first+i))
			}
			for i := 1; i < size; i *= 2 { // some of the wires between them
				slots = append(slots, profile.SlotID(midplanes+(first+i)*wires/(2*midplanes)))
			}
			slices.Sort(slots)
			p.AddBundle(fmt.Sprintf("R%02d-%d", first, size), slices.Compact(slots))
			set.Bundles = append(set.Bundles, profile.BundleID(bundles))
			bundles++
		}
		bySize = append(bySize, set)
	}
	return p, bySize
}

// BenchmarkBundles measures requests for bundles of three sizes, on a partitioned machine with up
// to 500 reservations, each at its earliest start.
func BenchmarkBundles(b *testing.B) {
	for _, n := range []int{0, 50, 500} {
		random := rand.New(rand.NewPCG(1, 2))
		p, bySize := partitionedMachine()
		for range n {
			r := profile.Request{
				Whole: true, Nodes: 1, Duration: 60 + profile.Time(random.IntN(36000)),
				Candidates: bySize[min(random.IntN(9), random.IntN(9))],
			}
			start, at, ok := p.EarliestFit(r, 0)
			require.True(b, ok)
			p.Add(at, nil, start, start+r.Duration)
		}
		for i, candidates := range bySize {
			if i%3 > 0 {
				continue
			}
			r := profile.Request{Whole: true, Nodes: 1, Duration: 3600, Candidates: candidates}
			b.Run(fmt.Sprintf("EarliestFit/%d-of-%d-sizes/%d", i, len(bySize), n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _, ok := p.EarliestFit(r, 0)
					require.True(b, ok)
				}
			})
			b.Run(fmt.Sprintf("Place/%d-of-%d-sizes/%d", i, len(bySize), n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Place(r, 0)
				}
			})
		}
	}
}
