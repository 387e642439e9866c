package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/drains"
)

// TestPilotsEnd says that a slot takes a job that ends before the slot does, and none that would not,
// whatever says when the slot ends; where nothing that is heeded does, it takes both.
func TestPilotsEnd(t *testing.T) {
	const ends = 1_700_000_000 + 600
	for name, c := range map[string]struct {
		ad        string
		heeds     []string
		takesLong bool
	}{
		"a pilot's end":           {ad: fmt.Sprint("GLIDEIN_ToDie = ", ends), heeds: []string{"GLIDEIN_ToDie"}},
		"which nobody heeds":      {ad: fmt.Sprint("GLIDEIN_ToDie = ", ends), takesLong: true},
		"one's own attribute":     {ad: fmt.Sprint("Until = ", ends), heeds: []string{"None", "Until", "GLIDEIN_ToDie"}},
		"a shutdown":              {ad: fmt.Sprint("DaemonShutdown = time() >= ", ends)},
		"by another attribute":    {ad: fmt.Sprint("DaemonShutdown = Over\nOver = CurrentTime >= ", ends)},
		"a shutdown of idle ones": {ad: "DaemonShutdown = State == \"Unclaimed\" && time() > 0", takesLong: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true, start: "true\n" + c.ad})
			w.settings = func(s *Settings) { s.Schema.SlotEnds = c.heeds }
			w.negotiator("easy", nil)
			short := &sleeper{cpus: 1, seconds: 10, estimate: 60}
			long := &sleeper{cpus: 1, seconds: 10, estimate: 1200}
			w.submit(short)
			w.submit(long)
			w.pass(60)
			require.True(t, short.done)
			require.Equal(t, c.takesLong, long.done)
		})
	}
}

// TestLeasesHeedEnds says that a claim that is lent takes up no job that would not end before its slot
// does, or before the slot is to be empty, and takes up others until then.
func TestLeasesHeedEnds(t *testing.T) {
	for name, lender := range lenders {
		for kind, n := range map[string]node{
			"partitionable": {cpus: 4, memory: 4096},
			"static":        {cpus: 1, memory: 1024, static: true},
		} {
			for _, mixed := range []bool{false, true} {
				drained, policy := mixed == n.static, "easy"
				if mixed {
					policy = "conservative"
				}
				t.Run(fmt.Sprintf("%s/%s/drained %v/%s", name, kind, drained, policy), func(t *testing.T) {
					leaseUntilTheEnd(t, lender, policy, n, drained, mixed)
				})
			}
		}
	}
}

// leaseUntilTheEnd has jobs of three minutes, and of twenty if they are mixed, run on a slot that ends in
// ten minutes.
func leaseUntilTheEnd(
	t *testing.T, lender func(*testing.T, string, ...*node) *world, policy string, n node, drained, mixed bool,
) {
	t.Helper()
	const ends = 1_700_000_000 + 600
	n.name, n.start = "n1", "true"
	if !drained {
		n.start += fmt.Sprint("\nGLIDEIN_ToDie = ", ends)
	}
	w := lender(t, policy, &n)
	if drained {
		w.pool.Drain(drains.BookOf([]drains.Drain{{Slot: "slot1@n1", By: ends, AskedBy: "root@test", AskedAt: w.now}}))
	}
	for i := range 60 {
		w.submit(&sleeper{cpus: 1, seconds: 50, estimate: 180})
		if mixed && i%10 == 0 {
			w.submit(&sleeper{cpus: 1, seconds: 50, estimate: 1200})
		}
	}
	last := int64(0)
	for w.now < ends {
		w.pass(10)
		for _, j := range w.jobs {
			if j.runs > 0 {
				require.LessOrEqual(t, j.began+j.estimate, int64(ends), "%d.%d", j.cluster, j.proc)
				last = max(last, j.began)
			}
		}
	}
	require.Greater(t, last, int64(ends-180-120), "it is used until nothing would end in time")
}
