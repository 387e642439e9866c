package htcondor

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// capacityOf adds up the slots that are up.
func capacityOf(s *backfill.State) backfill.Vector {
	sum := make(backfill.Vector, len(s.Resources()))
	for _, slot := range s.Slots() {
		if s.SlotUp(slot.ID) {
			sum.AddScaled(slot.Capacity, 1)
		}
	}
	return sum
}

// requireOrder requires, under the order area, that the queue is sorted by the slots that are up.
func (w *world) requireOrder() {
	if w.order != "area" {
		return
	}
	area, err := backfill.OrderNamed(w.order)
	require.NoError(w.t, err)
	s := w.n.State()
	at := backfill.Moment{Now: s.Now(), Capacity: capacityOf(s)}
	waiting := s.FirstWaiting(1 << 20)
	sorted := slices.SortedFunc(slices.Values(waiting), func(a, b *backfill.Job) int {
		keyA, _ := area(a, at)
		keyB, _ := area(b, at)
		return cmp.Or(cmp.Compare(keyA, keyB), backfill.Compare(a, b))
	})
	require.Equal(w.t, sorted, waiting, w.log)
}

// TestAreaInAnyWorld: whatever happens to slots and jobs, and over restarts, the queue is in the
// order of area for the slots as the negotiator knows them at any time.
func TestAreaInAnyWorld(t *testing.T) {
	for _, policy := range []string{"easy", "pc"} {
		for seed := range *worlds {
			w := newWorld(t, policy, mixed()...)
			w.order = "area"
			w.negotiator(policy, nil)
			r := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a test
			for range 5 {
				w.random(r, 30)
				grown := w.nodes[r.IntN(3)]
				grown.cpus, grown.memory = grown.cpus+r.Int64N(3), grown.memory+r.Int64N(2)*2048
			}
			require.Greater(t, w.starts, 20, "%s, seed %d", policy, seed)
		}
	}
}

// TestAreaFollowsTheSlots: the job that waits first is another one when the slot with most of the
// memory is gone, and again when another slot gets more or less memory. A slot that is drained is
// still there.
func TestAreaFollowsTheSlots(t *testing.T) {
	large := &node{name: "n2", cpus: 4, memory: 30_000}
	w := newWorld(t, "fcfs", small(4), large)
	w.order = "area"
	w.negotiator("fcfs", nil)
	for range 2 {
		w.submit(&sleeper{cpus: 4, seconds: 1000, estimate: 1000})
	}
	w.pass(8)
	require.Equal(t, 2, w.n.State().RunningJobs())
	wide := w.submit(&sleeper{cpus: 3, seconds: 100, estimate: 200})
	hungry := w.submit(&sleeper{cpus: 1, memory: 3500, seconds: 100, estimate: 200})
	first := func(want *sleeper) {
		t.Helper()
		job := w.n.Job(w.n.State().FirstWaiting(1)[0].ID)
		require.Contains(t, job.Name, fmt.Sprintf("%d.%d", want.cluster, want.proc), "%v", w.n.State().Capacity())
	}
	w.pass(8)
	first(hungry) // an eighth of the cpus, a tenth of the memory; the other one, three eighths of the cpus
	large.closed = true
	w.pass(8)
	first(hungry)
	large.closed = false
	w.kill(large)
	w.pass(40)
	first(wide) // 3/4 of the cpus that are left, and the other one 7/8 of the memory
	w.nodes[0].memory = 8192
	w.pass(8)
	first(hungry)
	w.nodes[0].memory = 4096
	w.pass(8)
	first(wide)
}

// TestQDateOfAUser: a user who writes into his jobs that they were submitted long ago does not keep
// others from starting, before and after a restart. A job that was on hold keeps its place.
func TestQDateOfAUser(t *testing.T) {
	lie := func(w *world) {
		w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 50, estimate: 60, extra: "\nQDate = 1"})
	}
	for _, restart := range []bool{false, true} {
		w := newWorld(t, "easy", small(1))
		lie(w)
		w.pass(8)
		bob := w.submit(&sleeper{owner: "bob", cpus: 1, seconds: 20, estimate: 30})
		w.pass(8)
		for i := range 10 {
			lie(w)
			if restart && i == 0 {
				w.publish()
				w.negotiator("easy", w.pool.Saved(w.n.Checkpoint()))
			}
			w.pass(40)
		}
		require.Equal(t, 1, bob.runs, restart)
	}

	w := newWorld(t, "easy", small(1))
	w.submit(&sleeper{cpus: 1, seconds: 300, estimate: 300})
	held := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	held.status, held.extra = 5, fmt.Sprintf("\nEnteredCurrentStatus = %d", w.now)
	w.pass(80)
	other := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(80)
	held.status = 1
	for held.runs+other.runs == 0 && w.now < 1_700_000_500 {
		w.pass(4)
	}
	require.Equal(t, 1, held.runs)
	require.Zero(t, other.runs)
}
