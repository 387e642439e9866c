package matchmaker

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A START that wants little to be free counts now as what is free now, and may hold later whatever is
// planned.
func TestLittleThatMustBeFree(t *testing.T) {
	const slot = "of 1 slot 1 is "
	for _, c := range []struct {
		start, why string
		with       map[int64]bool // by cpus that are free: whether it is open
		least      int64          // that must stay free until the job begins
	}{
		{"Cpus <= 4", slot + "open only while at most 4 cpus of it are free", map[int64]bool{8: false, 5: false, 4: true, 1: true}, 0},
		{"Cpus < 8", slot + "open only while at most 7 cpus of it are free", map[int64]bool{8: false, 7: true}, 0},
		{"Cpus <= 4 && KeyboardIdle > 900", slot + "open only while at most 4 cpus of it are free", map[int64]bool{4: true}, 0},
		{"Cpus >= 2 && Cpus <= 4", slot + "open only while at most 4 cpus of it are free", map[int64]bool{8: false, 3: true, 1: false}, 3},
		{"Cpus <= 4 && Memory >= 800", slot + "open only while at most 4 cpus of it are free", map[int64]bool{8: false, 4: true}, 4},
	} {
		t.Run(c.start, func(t *testing.T) {
			p := newPool()
			var free backfill.Vector
			p.Free = func(backfill.SlotID) backfill.Vector { return free }
			p.add(slotAd(t, "a", 8, "KeyboardIdle = 1000; Requirements = START; START = "+c.start))
			id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1; RequestMemory = 10"))
			require.False(t, p.WantsLittle())
			for now := range backfill.Time(3) {
				for cpus, open := range c.with {
					free = backfill.Vector{cpus, 1000}
					_, err := p.Match(context.Background(), now)
					require.NoError(t, err)
					require.True(t, p.WantsLittle())
					found := p.clusters[id].candidates
					require.Equal(t, []backfill.SlotID{0}, found.Slots)
					fit := p.Fit(id, func(backfill.SlotID) bool { return true })
					if open {
						require.Equal(t, []backfill.Window{{From: now, To: now + 1}}, found.Windows[0])
						require.Equal(t, 1, fit.Matching)
						require.Equal(t, c.least != 0, found.Least != nil)
						if c.least != 0 {
							require.Equal(t, cpus, found.Least[0][0])
						}
						continue
					}
					require.Equal(t, unforeseen, found.Windows[0])
					require.Equal(t, c.why, fit.DescribeClosed(nil))
				}
			}
		})
	}
	p := newPool()
	p.add(slotAd(t, "a", 8, "Requirements = Cpus <= 4 && TARGET.RequestCpus > 1"))
	id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1"))
	p.match(t)
	require.Empty(t, p.clusters[id].candidates.Slots)
}

// What is found of one slot serves all that are alike, in all Matches: a pool in which nothing changes
// evaluates nothing.
func TestLittleIsJudgedOnce(t *testing.T) {
	p := newPool()
	p.Free = func(id backfill.SlotID) backfill.Vector { return backfill.Vector{int64(id % 8), 1000} }
	for i := range 80 {
		p.add(slotAd(t, fmt.Sprintf("s%02d", i), 8, "Requirements = Cpus <= 4"))
	}
	id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1"))
	p.match(t)
	require.LessOrEqual(t, p.looks, 20)
	require.Len(t, p.clusters[id].candidates.Slots, 80)
	_, err := p.Match(context.Background(), 10)
	require.NoError(t, err)
	require.Zero(t, p.looks)
}

// A slot that is used already is chosen, and a whole one is not broken, as by its startd: two jobs of 4
// cpus and one of 2 wait for another to break it.
func TestHowManyJobsMustRunThere(t *testing.T) {
	p := newCountingPool()
	free := backfill.Vector{8, 10}
	p.Free = func(backfill.SlotID) backfill.Vector { return free }
	p.add(busyAd(t, "NumDynamicSlots >= 1"))
	id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
	p.match(t)
	require.Equal(t, unforeseen, p.clusters[id].candidates.Windows[0])
	fit := p.Fit(id, func(backfill.SlotID) bool { return true })
	require.Equal(t, "of 1 slot 1 is open only while at least 1 job runs there", fit.DescribeClosed(nil))
	free = backfill.Vector{6, 9}
	p.match(t)
	require.Equal(t, []backfill.Window{{From: 0, To: 1}}, p.clusters[id].candidates.Windows[0])
}

// With the clock in it, a START that wants little to be free is judged anew as time goes on.
func TestLittleAndTheClock(t *testing.T) {
	const hour = 3600
	p := newPool()
	p.Free = func(backfill.SlotID) backfill.Vector { return backfill.Vector{4, 1000} }
	p.add(slotAd(t, "a", 8, "ClockMin = time() % 86400 / 60; Requirements = Cpus <= 4 && ClockMin < 480"))
	id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1"))
	for _, c := range []struct {
		at   backfill.Time
		open int
	}{{12 * hour, 0}, {23 * hour, 0}, {25 * hour, 1}, {31 * hour, 1}, {33 * hour, 0}, {50 * hour, 1}} {
		require.Len(t, p.at(c.at, id), c.open, "at %d", c.at)
	}
}
