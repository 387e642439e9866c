package htcondor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stuck is a group of so many jobs of a user that wait for a machine that is not there.
func stuck(owner string, cluster, jobs int) string {
	var ids strings.Builder
	for i := range jobs {
		fmt.Fprintf(&ids, " %d.%d", cluster, i)
	}
	return fmt.Sprintf("ClusterId = %d\nProcId = 0\nUser = \"%s@test\"\nOwner = \"%[2]s\"\nJobUniverse = 5\nJobStatus = 1\n"+
		"QDate = 1699990000\nRequestCpus = 1\nRequestMemory = 128\nRequirements = TARGET.Arch == \"PPC\"\n"+
		"JobIds = \"%s\"\nJobCount = %d", cluster, owner, ids.String(), jobs)
}

// TestStuckArray: a user's old array that cannot start does not keep his other job from an idle
// pool.
func TestStuckArray(t *testing.T) {
	w := newWorld(t, "conservative", &node{name: "n1", cpus: 4, memory: 4096})
	w.odd = map[string][]string{"Group": {stuck("alice", 7, 30_000)}}
	j := w.submit(&sleeper{cluster: 900, cpus: 1, seconds: 10, estimate: 10})
	w.pass(20)
	require.Equal(t, 1, j.runs)
	facts := w.pool.Last()
	require.Equal(t, 5_000, facts.LeftOut)
	require.Equal(t, []string{
		"more jobs wait than there is room for, and 5000 are not planned yet: among them jobs of alice@test at schedd " +
			w.schedd.Name,
	}, facts.Problems)
}

// TestPromiseBesideArray: a job that was promised a start keeps that when an older array of its user
// is released.
func TestPromiseBesideArray(t *testing.T) {
	w := newWorld(t, "conservative", &node{name: "n1", cpus: 4, memory: 4096})
	w.odd = map[string][]string{"Group": {stuck("alice", 7, 2)}}
	w.submit(&sleeper{cluster: 800, cpus: 4, seconds: 60, estimate: 60, owner: "bob"})
	w.pass(8)
	j := w.submit(&sleeper{cluster: 900, cpus: 4, seconds: 10, estimate: 10})
	w.pass(8)
	require.NotEmpty(t, w.promised)
	w.odd["Group"][0] = stuck("alice", 7, 25_000)
	w.pass(100)
	require.Equal(t, 1, j.runs)
	require.Zero(t, w.broken)
	require.Empty(t, w.lost)
}

// TestStuckUsers: sixty users with 5,000 jobs each that cannot start keep nobody else's job from an
// idle pool.
func TestStuckUsers(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 4096})
	w.odd = map[string][]string{}
	for u := range 60 {
		w.odd["Group"] = append(w.odd["Group"], stuck(fmt.Sprintf("u%d", u), 7+u, 5_000))
	}
	j := w.submit(&sleeper{cluster: 900, cpus: 1, seconds: 10, estimate: 10, owner: "zoe"})
	w.pass(12)
	require.Equal(t, 1, j.runs)
	require.Equal(t, 60*5_000-100_000, w.pool.Last().LeftOut)
}
