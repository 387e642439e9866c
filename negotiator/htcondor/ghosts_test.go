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
