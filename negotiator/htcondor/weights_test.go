package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// startsOf counts the starts of each owner's jobs.
func (w *world) startsOf() map[string]int {
	starts := map[string]int{}
	for _, j := range w.jobs {
		starts[j.owner] += j.runs
	}
	return starts
}

// A job that asks for no cpus is charged for the one that its startd gives it, and gets no more of
// the pool than one that asks for it.
func TestNoCpusAreNotFree(t *testing.T) {
	for _, policy := range []bool{false, true} {
		w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 4096, policy: policy})
		w.account(nil)
		for range 30 {
			w.submit(&sleeper{owner: "mallory", cpus: 0, memory: 1024, seconds: 20, estimate: 20})
			w.submit(&sleeper{owner: "alice", cpus: 1, memory: 1024, seconds: 20, estimate: 20})
		}
		w.pass(12)
		require.Equal(t, accountant.Use{Slots: 2, Weight: 2}, w.pool.Use()["mallory@test"])
		w.pass(108)
		starts := w.startsOf()
		require.InDelta(t, starts["alice"], starts["mallory"], 2)
	}
}

// Jobs that ask for no cpus exceed no quota and no ceiling.
func TestNoCpusUnderLimits(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 16, memory: 16384})
	a := w.account(map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "2"})
	require.NoError(t, a.SetCeiling("eve@test", 2))
	for range 10 {
		w.submit(&sleeper{owner: "mallory", group: "g.mallory", cpus: 0, memory: 1024, seconds: 1000, estimate: 1000})
		w.submit(&sleeper{owner: "eve", cpus: 0, memory: 1024, seconds: 1000, estimate: 1000})
	}
	w.pass(40)
	two := accountant.Use{Slots: 2, Weight: 2}
	require.Equal(t, map[string]accountant.Use{"eve@test": two, "g.mallory@test": two}, w.pool.Use())
}

// Who has a static slot is charged for all of it, whatever the job asks for.
func TestStaticSlotsAreCharged(t *testing.T) {
	var nodes []*node
	for i := range 4 {
		nodes = append(nodes, &node{name: fmt.Sprintf("n%d", i), cpus: 8, memory: 8192, static: true})
	}
	w := newWorld(t, "easy", nodes...)
	a := w.account(nil)
	require.NoError(t, a.SetCeiling("eve@test", 8))
	for range 30 {
		w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 20, estimate: 20})
		w.submit(&sleeper{owner: "mallory", cpus: 1, seconds: 20, estimate: 20})
		w.submit(&sleeper{owner: "alice", cpus: 8, seconds: 20, estimate: 20})
	}
	w.pass(12)
	for name, use := range w.pool.Use() {
		require.InDelta(t, 8*use.Slots, use.Weight, 0, name)
	}
	require.Equal(t, accountant.Use{Slots: 1, Weight: 8}, w.pool.Use()["eve@test"])
	w.pass(228)
	starts := w.startsOf()
	require.Positive(t, starts["alice"])
	require.InDelta(t, starts["alice"], starts["mallory"], 2)
	require.Positive(t, starts["eve"])
}
