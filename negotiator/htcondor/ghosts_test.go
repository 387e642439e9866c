package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// more are slots of a startd besides the first.
func more(node string, started int64, slots ...int) (ads []string) {
	for _, i := range slots {
		ads = append(ads, fmt.Sprintf("Name = \"slot%d@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"Unclaimed\"\nCpus = 1\nMemory = 1024\nArch = \"X86_64\"\nRequirements = true\nDaemonStartTime = %d", i, node, node, node, started))
	}
	return ads
}

// A startd that has begun anew with fewer slots takes the others along, whether the
// collector still has their ads or not, even if they are most of the pool.
func TestSlotsThatAStartdDoesNotTellOfAnyMore(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		n := &node{name: "n1", cpus: 4, memory: 4096, started: 1}
		n.strangers = more("n1", 1, 2, 3, 4, 5)
		w := newWorld(t, "easy", n)
		w.pass(8)
		require.Equal(t, 5, w.pool.Last().Slots)
		n.started = 2
		if withdrawn {
			n.strangers = nil
		}
		w.pass(16)
		require.Equal(t, 1, w.pool.Last().Slots)
		w.pass(40)
		require.Equal(t, 1, w.pool.Last().Slots)
		require.Contains(t, w.pool.slots, "slot1@n1")
	}
}

// A startd that has begun anew tells of its slots one after the other.
func TestSlotsThatAStartdTellsOfLater(t *testing.T) {
	n := &node{name: "n1", cpus: 4, memory: 4096, started: 1}
	n.strangers = more("n1", 1, 2, 3)
	w := newWorld(t, "easy", n)
	w.pass(8)
	n.started, n.strangers = 2, nil
	w.pass(8)
	n.strangers = more("n1", 2, 2, 3)
	for range 30 {
		w.pass(1)
		require.Equal(t, 3, w.pool.Last().Slots)
	}
	require.NotContains(t, w.log.String(), "a slot is gone")
}

// A collector may get the last ad of a dynamic slot after the word that it is gone. A negotiator that
// begins then plans around no such claim: the slot that it was cut from tells which ones there are.
func TestDynamicSlotsThatTheirStartdDoesNotTellOf(t *testing.T) {
	const claim = "Name = \"slot1_2@n1\"\nState = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\nCpus = 3\nMemory = 128\nRequirements = true\n" +
		"JobId = \"7.0\"\nGlobalJobId = \"schedd@test#7.0#1\"\nRemoteUser = \"alice@test\"\nLastHeardFrom = 1\nEnteredCurrentState = %d"
	for _, test := range []struct {
		name    string
		silent  bool
		listed  bool
		since   int64 // before the slot's ad was made
		foreign int
	}{
		{"deleted", false, false, 10, 0},
		{"its startd does not tell", true, false, 10, 1},
		{"it is there", false, true, 10, 1},
		{"it has just begun", false, false, 0, 1},
		{"nobody knows since when", false, false, 1 << 60, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &node{name: "n1", cpus: 4, memory: 4096, silent: test.silent}
			w := newWorld(t, "easy", n)
			ads := []string{fmt.Sprintf(claim, max(0, w.now-test.since))}
			if n.deleted = ads; test.listed {
				n.deleted, n.strangers = nil, ads
			}
			w.negotiator("easy", nil)
			j := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 30})
			w.pass(4)
			require.Equal(t, test.foreign, w.pool.Last().Foreign)
			w.pass(40)
			require.Equal(t, test.foreign, w.pool.Last().Foreign)
			require.Equal(t, test.foreign == 0, j.done)
			n.deleted, n.strangers = nil, nil
			w.pass(40)
			require.Zero(t, w.pool.Last().Foreign)
			require.True(t, j.done)
		})
	}
}
