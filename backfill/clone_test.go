package backfill_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// read calls what daemons call on a copy of the state, and returns the answers.
func read(s *backfill.State) (text []string) {
	for _, j := range s.Snapshot().Jobs {
		r, _ := s.Reason(j.Job.ID)
		text = append(text, fmt.Sprint(j.Job.ID, " ", s.Describe(r,
			func(j *backfill.Job) string { return fmt.Sprint(j.ID) })))
	}
	for _, slot := range s.Slots() {
		text = append(text, fmt.Sprint(slot.Name, s.SlotUp(slot.ID), s.Free(slot.ID, s.Now())))
	}
	_ = s.FirstWaiting(3)
	_ = s.Snapshot()
	return append(text, fmt.Sprint(s.Now(), s.NextWake(), s.ReservedIdle(), s.Use(), s.Capacity()))
}

// TestCopiesAreReadWhileTheOriginalGoesOn reads a copy of the state in another goroutine while the
// original decides further rounds. The copy must give the same answers as one that was read at
// once, and the race detector must find no race.
func TestCopiesAreReadWhileTheOriginalGoesOn(t *testing.T) {
	var readers sync.WaitGroup
	defer readers.Wait()
	watch := func(t *testing.T, s *backfill.State) {
		t.Helper()
		copied, again := s.Clone(), s.Clone()
		want := read(copied)
		readers.Go(func() {
			if got := read(again); !slices.Equal(want, got) {
				t.Errorf("a copy says %v, and another copy of the same state says %v later", want, got)
			}
		})
	}
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			run, err := conformance.Start(0, link(t, spec.Name, nil))
			require.NoError(t, err)
			for range 60 {
				_, err = run.Next(t.Context())
				require.NoError(t, err)
				watch(t, run.Host.State)
			}
			h := newHost(t, busyPool(t, 100), spec.Name, "fcfs")
			for range 30 {
				watch(t, h.State)
				var done []backfill.Event
				for _, j := range h.State.Snapshot().Jobs {
					if j.Running && len(done) < 20 {
						done = append(done, jobEvent(backfill.Completed, j.Job.ID))
					}
				}
				decide(t, h, h.State.Now()+1, done...)
			}
			readers.Wait()
		})
	}
}

// busyPool returns a state with so many slots and as many waiting jobs, of twenty autoclusters and
// without reservations. A job runs on each slot, all of it.
func busyPool(tb testing.TB, slots int) *backfill.State {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	snap := backfill.Snapshot{Resources: []string{"cpus", "memory"}, Rule: profile.ByRank}
	requests := make([]backfill.Vector, 20)
	for i := range requests {
		requests[i] = backfill.Vector{int64(1 + i%4*2), int64(1000 * (1 + i%5))}
		sets := map[backfill.SlotID]bool{0: true}
		for id := range slots {
			sets[backfill.SlotID(id)] = i == 0 || random.IntN(4) > 0
		}
		maps.DeleteFunc(sets, func(_ backfill.SlotID, in bool) bool { return !in })
		snap.Candidates = append(snap.Candidates, backfill.CandidateSet{
			ID:         i,
			Candidates: backfill.Candidates{Slots: slices.Sorted(maps.Keys(sets))},
		})
	}
	add := func(j backfill.JobState) {
		set, id := random.IntN(len(requests)), backfill.JobID(len(snap.Jobs))
		j.Job = &backfill.Job{
			ID: id, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
			Candidates: set, Request: requests[set], Estimate: backfill.Time(600 * (1 + random.IntN(100))),
		}
		if j.Running {
			j.End = j.Job.Estimate
			j.Job.Request = backfill.Vector{8, 32_000}
		}
		snap.Jobs = append(snap.Jobs, j)
	}
	for id := range slots {
		slot := backfill.Slot{
			ID: backfill.SlotID(id), Name: fmt.Sprintf("slot%05d", id),
			Capacity: backfill.Vector{8, 32_000},
		}
		snap.Slots = append(snap.Slots, backfill.SlotState{Slot: slot, Up: true})
		add(backfill.JobState{Standing: backfill.Standing{Running: true}, Placement: on(id, 1)})
		add(backfill.JobState{})
	}
	s, err := backfill.Restore(snap)
	require.NoError(tb, err)
	return s
}

// BenchmarkClone measures how long it takes to copy a large pool.
func BenchmarkClone(b *testing.B) {
	s := busyPool(b, 10_000)
	for b.Loop() {
		s.Clone()
	}
}
