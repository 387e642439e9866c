package picture_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

func builtIn(tb testing.TB, name string) string {
	tb.Helper()
	text, err := fs.ReadFile(configs.Files(), name)
	require.NoError(tb, err)
	return string(text)
}

// sink is called with a picture after each cycle.
type sink struct {
	tb   testing.TB
	make func(r *negotiator.Report, s *picture.Scene)
	seen func(r *negotiator.Report, p *picture.Picture)
	// learns has the order of the queue go by run times that are learned; so plays know them.
	learns bool
}

// Cycle implements [negotiator.Sink].
func (s sink) Cycle(r *negotiator.Report) error {
	n := r.Negotiator()
	scene := picture.Scene{Outlook: outlook.New(n), Settled: n.Settled().Jobs}
	for _, j := range n.State().FirstWaiting(1000) {
		scene.Waiting = append(scene.Waiting, n.Job(j.ID))
	}
	if s.make != nil {
		s.make(r, &scene)
	}
	s.seen(r, scene.Picture())
	return nil
}

// simulate runs the built-in jobs on four nodes of eight cpus.
func simulate(tb testing.TB, policy string, s sink) {
	tb.Helper()
	run(tb, policy, builtIn(tb, configs.FourNodes), builtIn(tb, configs.NPB54), s)
}

// run runs jobs on a pool.
func run(tb testing.TB, policy, pool, jobs string, s sink) {
	tb.Helper()
	s.tb = tb
	slots, err := pools.Read(strings.NewReader(pool), "pool")
	require.NoError(tb, err)
	found, err := formats.Read(strings.NewReader(jobs), "jobs",
		condorsim.ReadingFor(slots, formats.Options{Ads: history.Options{Whole: true}}))
	require.NoError(tb, err)
	w, err := condorsim.Queued(found, slots, nil)
	require.NoError(tb, err)
	spec, err := policies.Named(policy)
	require.NoError(tb, err)
	decider, err := backfill.Link(spec, nil)
	require.NoError(tb, err)
	c := negotiator.Config{Policy: decider, Fallback: decider}
	if s.learns {
		c.Estimates, err = estimate.New(estimate.Settings{Order: "learned"}, nil, spec.Guarantees, false, nil)
		require.NoError(tb, err)
	}
	_, err = condorsim.Run(tb.Context(), w, c, nil, s)
	require.NoError(tb, err)
}

// TestPicturesAreTrue compares each picture of a simulation with the schedule: who runs and waits, what is
// in use, and that at no instant a slot has more jobs than cpus.
func TestPicturesAreTrue(t *testing.T) {
	for _, policy := range []string{"easy", "slack", "conservative", "maui"} {
		pictures := 0
		simulate(t, policy, sink{seen: func(r *negotiator.Report, p *picture.Picture) {
			pictures++
			s, h := r.State, p.Head
			require.Equal(t, int64(s.Now()), h.Now)
			require.Equal(t, s.Waiting(), h.Waiting)
			require.Equal(t, s.RunningJobs(), h.Running)
			require.Zero(t, h.Further)
			require.Equal(t, 4, h.Slots)
			running, waiting, reserved := int64(0), 0, 0
			for i := range p.Jobs {
				j := &p.Jobs[i]
				switch j.Situation {
				case "runs":
					require.True(t, s.IsRunning(j.ID))
					running += j.Cpus
				case "reserved":
					reserved++
					fallthrough
				case "waits":
					require.True(t, s.IsWaiting(j.ID))
					waiting++
					require.Equal(t, waiting, j.Position)
				}
				if start, at, planned := s.Planned(j.ID); planned {
					require.Equal(t, picture.At(start), j.Start)
					require.Len(t, j.At, len(at))
				}
				if latest, promised := s.Guaranteed(j.ID); promised {
					require.Equal(t, picture.At(latest), j.Guarantee)
				}
			}
			require.Equal(t, s.Use()[0], running)
			require.Equal(t, s.Waiting(), waiting)
			require.Equal(t, reserved, h.Reserved)
			fits(t, p)
		}})
		require.Greater(t, pictures, 50)
	}
}

// TestPlaysFit draws jobs where plays have them: whatever policies promise and predict, no two jobs are drawn
// in the same place. That holds also for a job that starts at its reservation: this lasts for as long as
// the job requests, and others come as soon as it is expected to end.
func TestPlaysFit(t *testing.T) {
	for _, named := range []string{"easy", "slack", "pc", "slack learned"} {
		policy, learns := strings.CutSuffix(named, " learned")
		var twins outlook.Twins
		t.Cleanup(twins.Close)
		elsewhere := 0
		simulate(t, policy, sink{
			learns: learns,
			make: func(r *negotiator.Report, s *picture.Scene) {
				starts, err := twins.Starts(t.Context(), s.Outlook, ahead.Bounds{Rounds: 100_000}, nil)
				require.NoError(t, err)
				require.Len(t, starts, r.State.Waiting())
				s.Told = func(id backfill.JobID) (told picture.Told) {
					if b, waits := starts[id]; waits {
						told.Start, told.Played, told.Placement = picture.At(b.At+5), picture.At(b.At), b.Placement
					}
					return told
				}
			},
			seen: func(_ *negotiator.Report, p *picture.Picture) {
				fits(t, p)
				for _, j := range p.Jobs {
					if j.Reserved.Known {
						elsewhere++
						require.NotEqual(t, j.Start, j.Reserved)
					}
				}
			},
		})
		if policy == "slack" {
			require.Positive(t, elsewhere, "jobs start before their reservations")
		}
	}
}

// fits checks that no slot has more than its cpus in use at any start.
func fits(tb testing.TB, p *picture.Picture) {
	tb.Helper()
	bars := p.Bars()
	for _, at := range bars {
		used := map[backfill.SlotID]int64{}
		for _, other := range bars {
			if other.Start.At <= at.Start.At && at.Start.At < other.End.At {
				for _, piece := range other.At {
					used[piece.Slot] += piece.Cpus
				}
			}
		}
		for _, slot := range p.Slots {
			require.LessOrEqual(tb, used[slot.ID], slot.Capacity[0], "on %s at %d", slot.Name, at.Start.At)
		}
	}
}

// TestDifferences checks that a viewer who applies each difference has what the picture has.
func TestDifferences(t *testing.T) {
	var last *picture.Picture
	slots, bars := map[backfill.SlotID]picture.Slot{}, map[backfill.JobID]picture.Bar{}
	changes, jobs := 0, 0
	simulate(t, "slack", sink{
		make: func(r *negotiator.Report, s *picture.Scene) {
			if now := int64(r.Delta.Now); now > 100 { // a slot is drained meanwhile
				s.Drains = drains.BookOf([]drains.Drain{{Slot: "slot1@node1.cluster", By: 400, AskedAt: 100}})
			}
		},
		seen: func(_ *negotiator.Report, p *picture.Picture) {
			if last == nil {
				last = &picture.Picture{}
			}
			text, err := json.Marshal(p.Since(last))
			require.NoError(t, err)
			var d picture.Difference
			require.NoError(t, json.Unmarshal(text, &d))
			for _, s := range d.Slots {
				slots[s.ID] = s
			}
			for _, b := range d.Jobs {
				bars[b.ID] = b
			}
			for _, id := range d.JobsGone {
				require.Contains(t, bars, id)
				delete(bars, id)
			}
			changes, jobs = changes+len(d.Jobs), jobs+len(p.Bars())
			require.Equal(t, p.Slots, slices.SortedFunc(maps.Values(slots), func(a, b picture.Slot) int { return int(a.ID - b.ID) }))
			require.Len(t, bars, len(p.Bars()))
			for _, b := range p.Bars() {
				require.Equal(t, b, bars[b.ID])
			}
			require.Empty(t, p.Since(p).Jobs)
			last = p
		},
	})
	require.Less(t, changes, jobs/2, "differences are smaller than pictures")
	require.NotNil(t, slots[0].Drain)
}

// TestTold checks that what is told of a job stands above what the schedule has.
func TestTold(t *testing.T) {
	found := false
	simulate(t, "easy", sink{
		make: func(_ *negotiator.Report, s *picture.Scene) {
			s.Uncounted = "memory"
			s.Told = func(backfill.JobID) picture.Told {
				return picture.Told{
					Start: picture.At(5000), Low: picture.At(4000), High: picture.At(backfill.Forever), Reason: "why", Behind: "1.0",
					Played:    picture.At(6000),
					Placement: backfill.Placement{{Slot: 2, Count: 1}},
				}
			}
		},
		seen: func(_ *negotiator.Report, p *picture.Picture) {
			require.Equal(t, []string{"cpus", "disk", "gpus"}, p.Head.Resources)
			require.Len(t, p.Head.Capacity, 3)
			require.Len(t, p.Slots[0].Capacity, 3)
			for _, j := range p.Jobs {
				if j.Situation != "waits" {
					continue
				}
				found = true
				require.Equal(t, picture.At(6000), j.Start)
				require.Equal(t, picture.At(5000), j.Likely)
				require.Equal(t, picture.At(5000), j.Told())
				require.Equal(t, picture.At(4000), j.Low)
				require.False(t, j.High.Known, "never is no instant")
				require.Greater(t, j.End.At, int64(6000))
				require.Equal(t, backfill.SlotID(2), j.At[0].Slot)
				require.Equal(t, "why", j.Reason)
				require.Equal(t, "1.0", j.Behind)
			}
		},
	})
	require.True(t, found)
}

// TestFind finds jobs by name, and those of several queues also without the queue.
func TestFind(t *testing.T) {
	p := &picture.Picture{Jobs: []picture.Job{
		{Bar: picture.Bar{Name: "1.0@a"}}, {Bar: picture.Bar{Name: "1.0@b"}}, {Bar: picture.Bar{Name: "2.0@b"}},
	}}
	for name, want := range map[string]int{"1.0@b": 1, "1.0": 0, "2.0": 2, "2.0@a": -1, "": -1, "3": -1} {
		require.Equal(t, want, p.Find(name), name)
	}
}

// BenchmarkPicture makes a picture of 10,000 slots and 50,000 jobs, of which 10,000 wait, and its difference
// from one in which a tenth of them has moved.
func BenchmarkPicture(b *testing.B) {
	var jobs strings.Builder
	jobs.WriteString("; MaxProcs: 40000\n")
	for i := range 50_000 {
		fmt.Fprintf(&jobs, "%d %d -1 100000 1 -1 -1 1 %d -1 1 %d -1 -1 -1 -1 -1 -1\n", i+1, i/40_000, 100_000+i%1000, i%300)
	}
	var scene picture.Scene
	text := jobs.String()
	seen := 0
	run(b, "easy", "classes: [{name: m, count: 10000, cpus: 4}]\n", text, sink{
		make: func(r *negotiator.Report, s *picture.Scene) {
			s.Waiting = nil
			for _, j := range r.State.FirstWaiting(10_000) {
				s.Waiting = append(s.Waiting, r.Negotiator().Job(j.ID))
			}
			if seen++; seen == 2 {
				scene = *s
			}
		},
		seen: func(_ *negotiator.Report, _ *picture.Picture) {},
	})
	first := scene.Picture()
	require.Len(b, first.Jobs, 50_000)
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			scene.Picture()
		}
	})
	next := *first
	next.Jobs = slices.Clone(first.Jobs)
	for i := range next.Jobs {
		if i%10 == 0 {
			next.Jobs[i].End.At++
		}
	}
	b.Run("difference", func(b *testing.B) {
		for b.Loop() {
			next.Since(first)
		}
	})
	b.Run("encode", func(b *testing.B) {
		size := 0
		for b.Loop() {
			text, err := first.AppendJSON(nil)
			require.NoError(b, err)
			size = len(text)
		}
		b.ReportMetric(float64(size)/50_000, "bytes/job")
	})
}

// TestWiresAreNoSlots: a partitioned machine has midplanes, which run jobs, and wires between them, which
// do not; those are not shown, and not counted either.
func TestWiresAreNoSlots(t *testing.T) {
	jobs := "; MaxProcs: 32\n1 0 -1 60 16 -1 -1 16 60 -1 1 1 1 -1 -1 -1 -1 -1\n"
	seen := false
	run(t, "easy", builtIn(t, "pools/tiny-bgp.yaml"), jobs, sink{seen: func(_ *negotiator.Report, p *picture.Picture) {
		seen = true
		require.Len(t, p.Slots, 8)
		require.Equal(t, 8, p.Head.Slots)
	}})
	require.True(t, seen)
}
