package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOddSlots: ads of one startd, however they change, and a job of one schedd that says to run at
// it, stop nobody's cycles.
func TestOddSlots(t *testing.T) {
	ad := func(w *world, lines string) string {
		return fmt.Sprintf("Machine = \"evil\"\nMyAddress = \"<evil>\"\nRequirements = false\nMyCurrentTime = %d\n%s", w.now, lines)
	}
	slot := func(lines string) string { return "Name = \"slot1@evil\"\nActivity = \"Busy\"\nMemory = 1\n" + lines }
	const idle = "Name = \"slot1@evil\"\nState = \"Unclaimed\"\nActivity = \"Idle\"\nPartitionableSlot = true\nCpus = 1\nMemory = 0\n"
	run := "\nJobStatus = 2\nRemoteHost = \"slot1@evil\"\nJobCurrentStartDate = 1700000001"
	for name, c := range map[string]struct {
		ads []([]string) // what is advertised, one after the other
		job string       // of a job that comes first and leaves at last
	}{
		"static, a part, then of no amount": {ads: [][]string{
			{slot("State = \"Unclaimed\"\nCpus = 1")},
			{slot("State = \"Unclaimed\"\nCpus = 1\nDynamicSlot = true")},
			{slot("State = \"Claimed\"\nCpus = strcat(\"a\")")},
		}},
		"a part, and static in the same look of a claim": {ads: [][]string{
			{slot("State = \"Claimed\"\nCpus = 1\nDynamicSlot = true")},
			{slot("State = \"Claimed\"\nCpus = 1")},
			{slot("State = \"Claimed\"\nCpus = 1\nDynamicSlot = true")},
		}},
		"data in a slot of nothing": {ads: [][]string{{
			idle + "TotalSlotCpus = 1\nTotalSlotMemory = 0\nOffline = true",
			"Name = \"data1_1@evil\"\nState = \"Claimed\"\nActivity = \"Idle\"\nDynamicSlot = true\nIsDataSlot = true\nCpus = 0\nMemory = 0",
		}}},
		"a run of no number of cpus": {ads: [][]string{{idle}}, job: run + "\nRequestCpus = \"x\""},
		"a run of no user":           {ads: [][]string{{idle}}, job: run + "\nUser = \"a b\""},
		"a run of a gang of no host": {ads: [][]string{{idle}}, job: run + "\nMaxHosts = 0\nJobUniverse = 11"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "conservative",
				&node{name: "n1", cpus: 4, memory: 4096, policy: true}, &node{name: "n2", cpus: 4, memory: 4096, policy: true})
			w.odd = map[string][]string{}
			w.pass(8)
			left := []*sleeper{}
			if c.job != "" {
				left = append(left, w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 500, estimate: 600, extra: c.job}))
			}
			pass := func(ads []string, seconds int) {
				for range seconds {
					w.odd["Machine"] = nil
					for _, lines := range ads {
						w.odd["Machine"] = append(w.odd["Machine"], ad(w, lines))
					}
					w.publish()
					w.pass(1)
				}
			}
			for _, ads := range c.ads {
				pass(ads, 40)
			}
			for _, j := range left {
				j.done = true
			}
			pass(c.ads[len(c.ads)-1], 40)
			alices := w.submit(&sleeper{owner: "alice", cpus: 1, seconds: 10, estimate: 20})
			pass(c.ads[len(c.ads)-1], 40)
			require.True(t, alices.done)
		})
	}
}
