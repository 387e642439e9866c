package htcondor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnesNamesAreNothingToOthers: what one user's jobs refer to does not divide the jobs of others,
// and plans and matches see the right values: a slot's, or the job's own.
func TestOnesNamesAreNothingToOthers(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 4096, start: "TARGET.Level =?= undefined || Level < 5"})
	mallory := func(requirements string) *sleeper {
		return w.submit(&sleeper{
			owner: "mallory", cpus: 1, seconds: 20, estimate: 30,
			extra: "\nEnvironment = \"A=1\"\nOwn = MY.Environment\nRequirements = " + requirements,
		})
	}
	runs := []*sleeper{
		mallory(`TARGET.Environment =?= undefined && TARGET.Arch == "X86_64"`),
		mallory(`MY.Environment == "A=1" && Environment == "A=1"`),
		mallory(`MY.Own == "A=1" && Cpus > 0`),
		mallory(`Level == 3` + "\nLevel = 3"),
	}
	waits := []*sleeper{
		mallory(`TARGET.Environment == "A=1"`),
		mallory(`Arch == "VAX"`),
		mallory(`true` + "\nLevel = 7"),
	}
	var theirs []*sleeper
	for i := range 30 {
		theirs = append(theirs, w.submit(&sleeper{
			cluster: 100, proc: int64(i), cpus: 8, seconds: 500, estimate: 600,
			extra: fmt.Sprintf("\nEnvironment = \"RUN=%d\"", i),
		}))
	}
	w.pass(12)
	for _, g := range w.pool.last.Schedds["schedd@test"].Groups {
		if g.Spec.Submitter() == "alice@test" && !g.Runs() {
			require.GreaterOrEqual(t, len(g.Jobs), len(theirs)-1, "one group for all that wait")
		}
	}
	w.pass(16)
	for i, j := range runs {
		require.Equal(t, 1, j.runs, i)
	}
	for i, j := range waits {
		require.Zero(t, j.runs, i)
	}
}

// TestAHugeAd: a job whose ad is too large waits, and is told why; others run. A job that becomes so
// while it runs counts as running until it ends.
func TestAHugeAd(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	grows := w.submit(&sleeper{owner: "mallory", cpus: 2, seconds: 100, estimate: 120})
	w.pass(8)
	require.Equal(t, 1, grows.runs)
	large := fmt.Sprintf("\nRank = size(%q)", strings.Repeat("x", 300<<10))
	grows.extra = large
	huge := w.submit(&sleeper{owner: "mallory", cpus: 1, seconds: 10, estimate: 10, extra: large})
	ours := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(40)
	require.True(t, ours.done)
	require.Zero(t, huge.runs)
	require.Equal(t, 1, grows.runs)
	require.EqualValues(t, 2, w.n.State().Use()[0], "it runs on")
	why, _ := w.pool.Why(w.pool.Find(fmt.Sprintf("%d.0", huge.cluster))[0])
	require.Contains(t, why.Why, "its ad has more than 262144 bytes")
	require.Contains(t, fmt.Sprint(w.pool.Last().Problems), "the ads of 2 jobs in the queue of schedd schedd@test are too large or cannot be read")
	w.pass(80)
	require.True(t, grows.done)
	require.Zero(t, w.n.State().Use()[0])
	huge.extra = ""
	w.pass(40)
	require.True(t, huge.done)
	require.Empty(t, w.pool.Last().Problems)
}
