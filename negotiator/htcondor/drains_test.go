package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/drains"
)

// TestDrainBy: jobs that end in time fill a slot that is to be empty by an instant, one that would
// not goes on waiting. From then on none starts, until the drain is cancelled.
func TestDrainBy(t *testing.T) {
	n := &node{name: "n", cpus: 1, memory: 1024}
	w := newWorld(t, "easy", n)
	w.pass(4)
	deadline := w.now + 600
	w.pool.Drain(drains.BookOf([]drains.Drain{{Slot: "slot1@n", By: deadline, AskedBy: "root@test", AskedAt: w.now}}))
	long := w.submit(&sleeper{cpus: 1, seconds: 900, estimate: 900})
	var short []*sleeper
	for range 20 {
		short = append(short, w.submit(&sleeper{cpus: 1, seconds: 50, estimate: 50, owner: "bob"}))
	}
	ran := func() (jobs int) {
		for _, j := range short {
			if j.done {
				jobs++
			}
		}
		return jobs
	}
	for w.now < deadline {
		w.pass(4)
	}
	require.Zero(t, w.running(), "it is empty in time")
	before := ran()
	require.Greater(t, before, 5)
	require.Less(t, before, 12)
	require.Zero(t, long.runs)
	w.pass(100)
	require.Equal(t, before, ran())
	require.Zero(t, w.running())

	w.pool.Drain(drains.Book{})
	w.pass(1200)
	require.True(t, long.done)
}

// TestADrainThatIsOver: from then on the slot takes jobs.
func TestADrainThatIsOver(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n", cpus: 1, memory: 1024})
	w.pool.Drain(drains.BookOf([]drains.Drain{{Slot: "slot1@n", By: w.now, Until: w.now + 100, AskedAt: w.now}}))
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(90)
	require.Zero(t, j.runs)
	w.pass(60)
	require.True(t, j.done)
}
