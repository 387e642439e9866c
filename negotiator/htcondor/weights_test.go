package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
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

// TestSlotWeights: who uses memory is charged for it, by the slots' own SlotWeight or the pool's:
// ceilings, quotas, use and shares are in this unit.
func TestSlotWeights(t *testing.T) {
	const byMemory = "max({real(Cpus), Memory / 1024.0})"
	for name, c := range map[string]struct {
		weighs  string
		weights config.Weights
	}{
		"the startd's":       {weighs: byMemory},
		"the pool's":         {weights: config.Weights{SlotWeight: byMemory}},
		"the pool's, forced": {weighs: "Cpus", weights: config.Weights{SlotWeight: byMemory, Forced: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 64, memory: 65536, weighs: c.weighs, policy: true})
			w.settings = func(s *Settings) { s.Weights = c.weights }
			a := w.account(map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_DYNAMIC_G": "0.25"})
			require.NoError(t, a.SetCeiling("eve@test", 9))
			for range 20 {
				w.submit(&sleeper{owner: "eve", cpus: 1, memory: 4096, seconds: 1000, estimate: 1000})
				w.submit(&sleeper{
					owner: "mallory", group: "g.mallory", cpus: 1, memory: 2560, seconds: 1000, estimate: 1000,
				})
			}
			w.pass(60)
			require.Equal(t, map[string]accountant.Use{
				"eve@test":       {Slots: 2, Weight: 8},
				"g.mallory@test": {Slots: 6, Weight: 15}, // of 16
			}, w.pool.Use())
		})
	}
}

// Users share by weight: who asks for eight times the memory has an eighth of the jobs.
func TestSharesByWeight(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 64, memory: 16384, weighs: "Memory / 1024.0", policy: true})
	w.account(nil)
	for range 200 {
		w.submit(&sleeper{owner: "eve", cpus: 1, memory: 1024, seconds: 20, estimate: 20})
	}
	for range 40 {
		w.submit(&sleeper{owner: "bob", cpus: 1, memory: 4096, seconds: 20, estimate: 20})
	}
	w.pass(12)
	require.Equal(t, map[string]accountant.Use{
		"eve@test": {Slots: 8, Weight: 8}, "bob@test": {Slots: 2, Weight: 8},
	}, w.pool.Use())
}

// TestCeilingOfLentClaims: nobody has more than his ceiling, and no group more than its quota,
// although claims serve job after job and schedds fill slots by themselves.
func TestCeilingOfLentClaims(t *testing.T) {
	for name, lends := range lenders {
		for _, kind := range []string{"partitionable", "with a consumption policy", "static"} {
			for _, limit := range []string{"ceiling", "quota"} {
				t.Run(name+"/"+kind+"/"+limit, func(t *testing.T) {
					nodes := []*node{{name: "n1", cpus: 8, memory: 8192, policy: kind == "with a consumption policy"}}
					if kind == "static" {
						nodes = nil
						for i := range 8 {
							nodes = append(nodes, &node{name: fmt.Sprint("n", i), cpus: 1, memory: 1024, static: true})
						}
					}
					w := lends(t, "easy", nodes...)
					w.calm = true
					group := ""
					if limit == "quota" {
						group = "g.alice"
						w.account(map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "3"})
					} else {
						require.NoError(t, w.account(nil).SetCeiling("alice@test", 3))
					}
					for range 60 {
						w.submit(&sleeper{group: group, cpus: 1, seconds: 3, estimate: 5})
					}
					most := 0
					for range 60 {
						w.pass(1)
						most = max(most, w.runningJobs())
					}
					if name == "by default" && kind == "partitionable" { // a claim each: the schedd would fill the slot
						require.LessOrEqual(t, most, 3)
					} else {
						require.Equal(t, 3, most)
					}
					require.Greater(t, w.startsOf()["alice"], 30)
				})
			}
		}
	}
}

// runningJobs counts the jobs that run.
func (w *world) runningJobs() (n int) {
	for _, j := range w.jobs {
		if j.status == 2 {
			n++
		}
	}
	return n
}
