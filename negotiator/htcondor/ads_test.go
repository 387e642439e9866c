package htcondor

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// besieged is a world whose jobs must run although a stranger advertises what he likes.
func besieged(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "conservative",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true, renews: 4, started: 1_699_000_000},
		&node{name: "n2", cpus: 4, memory: 4096, policy: true, renews: 4, started: 1_699_000_000})
	w.odd = map[string][]string{}
	return w
}

// requireRuns submits jobs, and requires that all run once, as fast as they do in peace.
func requireRuns(t *testing.T, w *world) {
	t.Helper()
	var jobs []*sleeper
	for range 16 {
		jobs = append(jobs, w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30}))
	}
	w.pass(100)
	for _, j := range jobs {
		require.True(t, j.done, w.pool.Last().Problems)
		require.Equal(t, 1, j.runs)
	}
}

// evilSlot is a stranger's partitionable slot that takes no jobs.
func evilSlot(more string) string {
	return "Name = \"slot1@evil\"\nMachine = \"evil\"\nMyAddress = \"<evil>\"\nState = \"Unclaimed\"\nActivity = \"Idle\"\n" +
		"PartitionableSlot = true\nSlotType = \"Partitionable\"\nCpus = 1000\nMemory = 100000000\nTotalSlotCpus = 1000\n" +
		"TotalSlotMemory = 100000000\nRequirements = false\n" + more
}

// What one slot takes of a job changes nothing on others.
func TestAGreedySlot(t *testing.T) {
	for _, policy := range []string{"ConsumptionCpus = 900\nConsumptionMemory = 100", "ConsumptionCpus = 4\nConsumptionMemory = 4096"} {
		w := besieged(t)
		w.odd["Machine"] = []string{evilSlot(policy)}
		w.pass(8)
		requireRuns(t, w)
	}
}

// A dynamic slot which its parent's newer ad does not list is none, whatever it says of its claim.
func TestAPartThatIsNone(t *testing.T) {
	for name, start := range map[string]string{"none": "", "zero": "JobStart = 0", "later": "JobStart = 99999999999"} {
		t.Run(name, func(t *testing.T) {
			w := besieged(t)
			for _, n := range w.nodes {
				w.odd["Machine"] = append(w.odd["Machine"], fmt.Sprintf("Name = \"slot1_77@%s\"\nMyAddress = \"<%[1]s>\"\n"+
					"State = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\nCpus = 4\nMemory = 4096\nRequirements = true\n"+start, n.name))
			}
			w.pass(60)
			requireRuns(t, w)
		})
	}
}

// A second ad of a schedd, at its address, is not the schedd's.
func TestASecondAdOfASchedd(t *testing.T) {
	for name, more := range map[string]string{"limit": "MaxJobsRunning = 0\nTotalRunningJobs = 0\n", "curb": "CurbMatchmaking = true\n"} {
		t.Run(name, func(t *testing.T) {
			w := besieged(t)
			w.strangers = []string{fmt.Sprintf("MyType = \"Scheduler\"\nName = \"schedd@test\"\nMyAddress = \"<66.6.6.6:6>\"\n"+
				"ScheddIpAddr = %q\nMyCurrentTime = 1\n%s", w.schedd.Address().String(), more)}
			w.pass(8)
			requireRuns(t, w)
			require.Contains(t, fmt.Sprint(w.pool.Last().Problems), "two ads")
		})
	}
}

// A second ad of a submitter changes nothing, either.
func TestASecondAdOfASubmitter(t *testing.T) {
	w := besieged(t)
	w.odd["Submitter"] = []string{fmt.Sprintf("MyType = \"Submitter\"\nName = \"alice@test\"\nScheddName = \"schedd@test\"\n"+
		"MyAddress = \"<66.6.6.6:6>\"\nScheddIpAddr = %q\nSubmitterTag = \"bogus\"\nIdleJobs = 1\nRunningJobs = 0\n"+
		"LastHeardFrom = 99999999999\nCapability = \"<1.1.1.1:1>#1#1#[]x\"\n", w.schedd.Address().String())}
	w.pass(8)
	requireRuns(t, w)
	for _, h := range w.schedd.Headers() {
		tag, _ := h.Text("SubmitterTag")
		require.NotEqual(t, "bogus", tag)
	}
}

// Slots with a machine's name at another address say nothing of when its startd started, whether
// the negotiator restarts with what it knew or without.
func TestAnothersStart(t *testing.T) {
	for name, saved := range map[string]bool{"without state": false, "with state": true} {
		t.Run(name, func(t *testing.T) {
			w := besieged(t)
			w.pass(8)
			var s *track.SavedState
			if saved {
				data, err := json.Marshal(w.pool.Saved(w.n.Checkpoint()))
				require.NoError(t, err)
				s = &track.SavedState{}
				require.NoError(t, json.Unmarshal(data, s))
			}
			for _, n := range w.nodes {
				w.odd["Machine"] = append(w.odd["Machine"], fmt.Sprintf("Name = \"evil@%s\"\nMyAddress = \"<66.6.6.6:6>\"\n"+
					"State = \"Owner\"\nActivity = \"Busy\"\nCpus = 1\nMemory = 1\nRequirements = false\nDaemonStartTime = 1700000000", n.name))
			}
			w.publish()
			w.negotiator("conservative", s)
			requireRuns(t, w)
		})
	}
}
