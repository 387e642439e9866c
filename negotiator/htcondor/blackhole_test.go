package htcondor

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBlackHoleThatExcusesItself: a startd whose slots start nothing, and that says at each look that it
// has just restarted, or has an address for each slot, delays honest jobs, but keeps none from running.
func TestBlackHoleThatExcusesItself(t *testing.T) {
	for _, addresses := range []bool{false, true} {
		t.Run(strconv.FormatBool(addresses), func(t *testing.T) {
			var nodes []*node
			for i := range 4 {
				nodes = append(nodes, &node{name: fmt.Sprint("n", i+1), cpus: 4, memory: 4096, policy: true})
			}
			w := newWorld(t, "easy", nodes...)
			evil := func() {
				w.odd = map[string][]string{}
				for i := range 40 {
					name, address := fmt.Sprintf("slot%d@evil", i), "<10.9.9.9:1>"
					if addresses {
						address = fmt.Sprintf("<10.9.9.%d:1>", i)
					}
					w.odd["Machine"] = append(w.odd["Machine"], fmt.Sprintf("Name = %q\nMachine = \"evil\"\nMyAddress = %q\n"+
						"State = \"Unclaimed\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 128\nArch = \"X86_64\"\n"+
						"Requirements = true\nTotalSlotCpus = 1000\nDaemonStartTime = %d\nMyCurrentTime = %d", name, address, w.now-1, w.now))
					w.odd["MachinePrivate"] = append(w.odd["MachinePrivate"], fmt.Sprintf("Name = %q\nMyAddress = %q\n"+
						"ClaimId = \"<evil>#1#%d#[]xclaim%d\"", name, address, i, i))
				}
			}
			evil()
			w.pass(8)
			var jobs []*sleeper
			for range 40 {
				jobs = append(jobs, w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30, extra: liked}))
			}
			for range 700 {
				evil()
				w.step()
				if w.now%4 == 0 {
					w.cycle()
				}
				w.failed = nil // these are meant
			}
			for _, j := range jobs {
				require.True(t, j.done)
			}
		})
	}
}
