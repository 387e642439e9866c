package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// claimOfEnded is a node on which the ad of a job's dynamic slot outlives the job.
func claimOfEnded(t *testing.T) (w *world, n *node, ad func(heard int64) string) {
	t.Helper()
	n = &node{name: "n1", cpus: 4, memory: 4096}
	w = newWorld(t, "easy", n)
	ad = func(heard int64) string {
		return fmt.Sprintf("Name = \"slot1_7@n1\"\nMyAddress = \"<n1>\"\nState = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\n"+
			"Cpus = 1\nMemory = 128\nRequirements = true\nJobId = \"1.0\"\nGlobalJobId = \"schedd@test#1.0#1\"\n"+
			"LastHeardFrom = %d", heard)
	}
	j := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30})
	w.pass(16)
	require.Equal(t, 1, j.runs)
	n.strangers = []string{ad(w.now)}
	w.pass(16)
	require.True(t, j.done)
	return w, n, ad
}

// TestAdThatOutlivesItsJob: the collector may keep the ad of a dynamic slot that was deleted. If
// the ad has not changed since its job ended, it counts as no claim.
func TestAdThatOutlivesItsJob(t *testing.T) {
	w, _, _ := claimOfEnded(t)
	for range 120 {
		w.pass(1)
		require.Zero(t, w.pool.Last().Foreign)
	}
}

// TestClaimThatOutlivesItsJob: a claim that its startd still advertises long after its job has
// ended is planned around.
func TestClaimThatOutlivesItsJob(t *testing.T) {
	w, n, ad := claimOfEnded(t)
	for range 40 {
		n.strangers = []string{ad(w.now)}
		w.pass(1)
		require.Zero(t, w.pool.Last().Foreign)
	}
	for range 40 {
		n.strangers = []string{ad(w.now)}
		w.pass(1)
	}
	require.EqualValues(t, 1, w.n.State().Use()[0], "the job runs on, whatever its queue says")
	n.strangers = nil
	w.pass(8)
	require.Zero(t, w.n.State().Use()[0])
}

func TestStrangersClaim(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	n := w.nodes[0]
	n.strangers = []string{"Name = \"slot1_9@n1\"\nMyAddress = \"<n1>\"\nState = \"Claimed\"\nActivity = \"Busy\"\n" +
		"DynamicSlot = true\nCpus = 3\nMemory = 128\nRequirements = true\nJobId = \"7.0\"\nGlobalJobId = \"other@test#7.0#1\"\n" +
		"RemoteUser = \"eve@test\""}
	w.pass(20)
	require.EqualValues(t, 3, w.n.State().Use()[0], "it takes room, of which we know nothing else")
	j := w.submit(&sleeper{cpus: 2, seconds: 5, estimate: 5})
	w.pass(10)
	require.Zero(t, j.runs)
	n.strangers = nil
	w.pass(20)
	require.True(t, j.done)
	require.Zero(t, w.n.State().Use()[0])
}
