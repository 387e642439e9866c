package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// besieged is a world whose jobs must run although a stranger advertises what he likes.
func besieged(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "conservative",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true, renews: 4, started: 1_699_000_000},
		&node{name: "n2", cpus: 4, memory: 4096, policy: true, renews: 4, started: 1_699_000_000})
	w.odd = map[string][]string{}
	return w
}

// requireRuns submits jobs, and requires that all run once, as fast as they do in peace.
func requireRuns(t *testing.T, w *world) {
	t.Helper()
	var jobs []*sleeper
	for range 16 {
		jobs = append(jobs, w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30}))
	}
	w.pass(100)
	for _, j := range jobs {
		require.True(t, j.done, w.pool.Last().Problems)
		require.Equal(t, 1, j.runs)
	}
}

// evilSlot is a stranger's partitionable slot that takes no jobs.
func evilSlot(more string) string {
	return "Name = \"slot1@evil\"\nMachine = \"evil\"\nMyAddress = \"<evil>\"\nState = \"Unclaimed\"\nActivity = \"Idle\"\n" +
		"PartitionableSlot = true\nSlotType = \"Partitionable\"\nCpus = 1000\nMemory = 100000000\nTotalSlotCpus = 1000\n" +
		"TotalSlotMemory = 100000000\nRequirements = false\n" + more
}

// What one slot takes of a job changes nothing on others.
func TestAGreedySlot(t *testing.T) {
	for _, policy := range []string{"ConsumptionCpus = 900\nConsumptionMemory = 100", "ConsumptionCpus = 4\nConsumptionMemory = 4096"} {
		w := besieged(t)
		w.odd["Machine"] = []string{evilSlot(policy)}
		w.pass(8)
		requireRuns(t, w)
	}
}
