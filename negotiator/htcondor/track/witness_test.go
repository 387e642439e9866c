package track

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// witnessed is a pool in which job 1, which states a second, runs on a slot whose ad names it.
func witnessed(t *testing.T) *pool {
	t.Helper()
	p := begun(t)
	p.job(1, is("lie", func(s *observe.Spec) { s.Estimate = 1 }))
	p.look()
	p.start(1, sent, "a")
	p.runs(1, "a")
	p.slotRuns("a")
	require.Equal(t, "arrived #1", p.look())
	return p
}

// slotRuns has a slot's ad, which is new, name job 1.
func (p *pool) slotRuns(name string) {
	p.slot(name, func(s *observe.Slot) {
		if s.Changed = p.now; !s.Claimed {
			s.ClaimedSince = p.unix()
		}
		s.Claimed, s.Runs = true, key(1)
	})
	delete(p.named, full(name))
}

// TestWhatUsersEditWhileTheyRun: whatever a user writes into his running job, from its first second
// on or later, his slot is charged to him, his place is taken again after a minute, and his record
// has how long he ran, by when his slot has told so. Nothing of this changes for those whose jobs
// only end.
func TestWhatUsersEditWhileTheyRun(t *testing.T) {
	for status := range int64(8) {
		for _, gone := range []bool{false, true} {
			for _, at := range []int{0, 10} {
				t.Run(fmt.Sprint(status, gone, at), func(t *testing.T) {
					p := begun(t)
					p.job(1, is("lie", func(s *observe.Spec) { s.Estimate = 1 }))
					p.look()
					p.start(1, sent, "a")
					began := p.now
					var taught []backfill.Time
					held := 0
					for second := range 300 {
						p.now = began.Add(time.Duration(second) * time.Second)
						switch {
						case second >= at && gone: // it is not even asked for
							p.leaves(1)
						case second >= at:
							p.job(1, func(g *observe.Group) { g.Status = status })
						case second == 0:
							p.runs(1, "a")
						}
						if second%20 == 0 {
							p.slotRuns("a")
						}
						p.belief.See(p.snapshot())
						out := p.belief.Diff(p.dispatched)
						for _, id := range append(append(out.Arrived, out.Failed...), out.Over...) {
							delete(p.dispatched.Flights, id)
						}
						require.Equal(t, 1, p.belief.Use()[""].Slots, "after %d s", second)
						for _, run := range append(out.Delta.Outliving, out.Delta.Taught...) {
							taught = append(taught, run.Ran)
						}
						for _, ran := range out.Delta.Ran {
							require.Equal(t, backfill.Time(unknownRun), ran)
						}
						if j := p.belief.JobOf(key(1)); j != nil && j.Phase == Running {
							held++
						}
					}
					require.GreaterOrEqual(t, held, 300-80)
					require.NotEmpty(t, taught)
					for _, ran := range taught {
						require.Greater(t, ran, backfill.Time(startSlack))
					}
					p.slot("a", func(s *observe.Slot) { s.Claimed, s.Runs, s.Changed = false, observe.JobKey{}, p.now })
					p.leaves(1)
					p.look()
					require.Zero(t, p.belief.Use()[""].Slots)
				})
			}
		}
	}
}

// TestTaughtWhenTheSlotSaysSo: a job that leaves its queue while its slot names it is taught when
// the slot does not any more.
func TestTaughtWhenTheSlotSaysSo(t *testing.T) {
	for late, ran := range map[int]backfill.Time{1: 30, 9: 30, 40: 70} {
		p := witnessed(t)
		p.now = p.now.Add(30 * time.Second)
		p.leaves(1)
		p.belief.See(p.snapshot())
		out := p.belief.Diff(p.dispatched)
		require.Equal(t, map[backfill.JobID]backfill.Time{1: unknownRun}, out.Delta.Ran)
		p.now = p.now.Add(time.Duration(late) * time.Second)
		p.slot("a", func(s *observe.Slot) { s.Claimed, s.Runs, s.Changed = false, observe.JobKey{}, p.now })
		p.belief.See(p.snapshot())
		out = p.belief.Diff(p.dispatched)
		require.Len(t, out.Delta.Taught, 1)
		require.Equal(t, ran, out.Delta.Taught[0].Ran)
	}
}

// TestSuspendedBySlots: only a slot can stop the clock of a run that it names.
func TestSuspendedBySlots(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		p := witnessed(t)
		p.job(1, func(g *observe.Group) { g.Suspend(!suspended) })
		p.slot("a", func(s *observe.Slot) { s.Suspended = suspended })
		for range 3 {
			p.now = p.now.Add(10 * time.Second)
			p.look()
		}
		want := backfill.Time(0)
		if suspended {
			want = 20
		}
		require.Equal(t, want, p.belief.JobOf(key(1)).paused())
	}
}

// gangOf is a pool in which a gang runs on n slots, while its queue says that it runs on others, too.
func gangOf(tb testing.TB, n int) *pool {
	tb.Helper()
	p := begun(tb)
	var at, said []string
	for i := range n {
		at, said = append(at, lentSlot(int64(i))), append(said, lentSlot(int64(i/2+(i%2)*n)))
		p.slot(at[i])
	}
	p.job(1, gang(n))
	p.look()
	p.start(1, sent, at...)
	p.runs(1, at...)
	for _, name := range at {
		p.slotRuns(name)
	}
	p.look()
	p.says(1, said...)
	return p
}

// What a look costs by the nodes of a gang whose user has edited where it runs.
func BenchmarkWitness(b *testing.B) {
	for _, n := range []int{1000, 4000, 16000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			p := gangOf(b, n)
			for b.Loop() {
				b.StopTimer()
				p.belief.See(p.snapshot())
				b.StartTimer()
				p.belief.Diff(p.dispatched)
			}
			require.Equal(b, Running, p.belief.JobOf(key(1)).Phase)
		})
	}
}

// TestHostsFound: where slots say that a job runs is found as if each name were compared with each.
func TestHostsFound(t *testing.T) {
	p := begun(t)
	names := []string{"slot1@a", "slot1@b", "slot1@c", "slot1@d", "slot1@e"}
	for _, name := range names {
		p.slot(name)
	}
	p.look()
	c := &comparison{b: p.belief}
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string) []string { return rapid.SliceOfN(rapid.SampledFrom(names), 0, 6).Draw(t, label) }
		at := slices.Compact(slices.Sorted(slices.Values(some("places"))))
		j := &Job{Phase: rapid.SampledFrom([]Phase{Running, Waiting}).Draw(t, "phase"), Spec: specOf("a job", func(s *observe.Spec) {
			s.Parallel, s.Nodes = rapid.Bool().Draw(t, "parallel"), rapid.IntRange(1, 4).Draw(t, "nodes")
		})}
		for _, name := range at {
			j.Places = append(j.Places, Place{Slot: name, Chunks: 1})
		}
		for _, name := range names {
			require.Equal(t, j.Phase == Running && slices.Contains(at, name), j.runsAt(name))
		}
		j.Group = &observe.Group{Spec: j.Spec, Hosts: some("hosts")}
		named, slots := slices.Compact(slices.Sorted(slices.Values(append(some("named"), "slot1@a")))), []*observe.Slot{}
		named = rapid.Permutation(named).Draw(t, "order")
		for _, name := range named {
			slots = append(slots, p.belief.Slot(name))
		}
		others := 0
		for _, host := range j.Group.Hosts {
			if !slices.Contains(named, host) {
				others++
			}
		}
		want, spec, said := slices.Sorted(slices.Values(named)), j.Spec, len(j.Group.Hosts)
		if !spec.Parallel {
			first := slices.IndexFunc(want, func(name string) bool { return j.Phase == Running && slices.Contains(at, name) })
			want = want[max(0, first):][:1]
		}
		switch {
		case others == 0 && (spec.Parallel && said > 0 || said == 1),
			spec.Parallel && (others < said || said == 0) && len(named) != spec.Nodes,
			j.Phase == Running && slices.Equal(p.belief.places(j.Group), j.Places):
			want = nil
		}
		require.Equal(t, want, c.hosts(j, slots))
	})
}

// TestWitnessAllocates: what slots say takes a few allocations for each job that runs, and none for
// each slot of a gang.
func TestWitnessAllocates(t *testing.T) {
	const n = 512
	measure := func(p *pool) float64 {
		p.belief.See(p.snapshot())
		return testing.AllocsPerRun(20, (&comparison{b: p.belief, delta: &negotiator.Delta{}}).witness)
	}
	require.Less(t, measure(gangOf(t, n)), 64.0)
	p := begun(t)
	for i := range int64(n) {
		name := lentSlot(i)
		p.slot(name)
		p.runs(i+1, name)
		p.slot(name, func(s *observe.Slot) { s.Claimed, s.Runs, s.ClaimedSince = true, key(i+1), p.unix() })
	}
	p.look()
	require.Less(t, measure(p), 8.0*n)
}
