package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAHostOfManyBadSlots: a host whose slots are most of the pool's, and on which no claim comes to
// anything, delays jobs, but keeps none from running.
func TestAHostOfManyBadSlots(t *testing.T) {
	var nodes []*node
	for i := range 4 {
		nodes = append(nodes, &node{name: fmt.Sprint("n", i+1), cpus: 4, memory: 4096, policy: true})
	}
	w := newWorld(t, "conservative", nodes...)
	w.odd = map[string][]string{}
	for i := range 40 {
		name := fmt.Sprintf("slot%d@evil", i)
		w.odd["Machine"] = append(w.odd["Machine"], fmt.Sprintf("Name = %q\nMachine = \"evil\"\nMyAddress = \"<evil:1>\"\n"+
			"State = \"Unclaimed\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 128\nArch = \"X86_64\"\nRequirements = true", name))
		w.odd["MachinePrivate"] = append(w.odd["MachinePrivate"], fmt.Sprintf("Name = %q\nMyAddress = \"<evil:1>\"\n"+
			"ClaimId = \"<evil>#1#%d#[]xclaim%d\"", name, i, i))
	}
	w.pass(8)
	var jobs []*sleeper
	for range 40 {
		jobs = append(jobs, w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30}))
	}
	for range 1200 {
		w.step()
		if w.now%4 == 0 {
			w.cycle()
		}
		w.failed = nil // these are meant
	}
	done := 0
	for _, j := range jobs {
		if j.done {
			done++
		}
	}
	require.Equal(t, len(jobs), done)
}
