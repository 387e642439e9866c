package scavenge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/scavenge"
)

// manyOf is a pool of 2,000 slots of 8 cpus, and 100,000 waiting scavengers of 50 users in 500 autoclusters,
// whose chunks request so many cpus.
func manyOf(cpus int64) (*pool, *scavenge.Book) {
	all := make([]int64, 2000)
	for i := range all {
		all[i] = 8
	}
	p, b := newPool(all...), &scavenge.Book{}
	for i := range 100_000 {
		j := job(backfill.JobID(i+1), cpus, fmt.Sprint("user", i%50))
		j.Candidates = i / 7 % 500
		p.candidates[j.Candidates] = p.candidates[0]
		b.Put(j)
	}
	return p, b
}

// BenchmarkNothingFits is a cycle in which each slot has some idle cpus, which are too few for all who wait.
func BenchmarkNothingFits(b *testing.B) {
	p, book := manyOf(9)
	for in := p.idle(); b.Loop(); {
		require.Empty(b, book.Fill(in))
		_ = book.NextRelease(0)
	}
}

// BenchmarkAlmostNothingFits is one in which only slots that one autocluster does not match have enough.
func BenchmarkAlmostNothingFits(b *testing.B) {
	p, book := manyOf(8)
	p.free[0][0] = 9
	for id := 1; id < 2000; id++ {
		p.free[backfill.SlotID(id)][0] = 7
	}
	none := &backfill.Candidates{Slots: p.candidates[0].Slots[1:]}
	for c := range 500 {
		p.candidates[c] = none
	}
	for in := p.idle(); b.Loop(); {
		require.Empty(b, book.Fill(in))
		_ = book.NextRelease(0)
	}
}

// BenchmarkFillAll fills the empty pool.
func BenchmarkFillAll(b *testing.B) {
	p, book := manyOf(8)
	for b.Loop() {
		started := book.Fill(p.idle())
		require.Len(b, started, 2000)
		b.StopTimer()
		for _, r := range started {
			book.Return(r.Job)
		}
		b.StartTimer()
	}
}

// BenchmarkMakeWay has a job take the place of scavengers while very many wait.
func BenchmarkMakeWay(b *testing.B) {
	p, book := manyOf(8)
	started := book.Fill(p.idle())
	at := started[0].Placement[0].Slot
	p.free[at] = backfill.Vector{0, 0}
	claim := scavenge.Claim{Slots: []backfill.SlotID{at}}
	for b.Loop() {
		_, waits := book.MakeWay(p.others(), claim)
		require.True(b, waits)
		for range book.Leaving(claim) {
		}
	}
}

// BenchmarkOneUserHasManyMore is a cycle in which some of a user's million scavengers start, which are all alike, and
// come back.
func BenchmarkOneUserHasManyMore(b *testing.B) {
	p, book := newPool(slices.Repeat([]int64{8}, 2000)...), &scavenge.Book{}
	for i := range 1_000_000 {
		book.Put(job(backfill.JobID(i+1), 8, "ann"))
	}
	for b.Loop() {
		started := book.Fill(p.idle())
		require.Len(b, started, 2000)
		for _, r := range started {
			book.Return(r.Job)
		}
	}
}
