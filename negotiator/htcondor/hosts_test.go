package htcondor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edits are what users may write of a job that runs on n1.
var edits = map[string]string{
	"none": "", "nowhere": "\nRemoteHost = \"slot1@nowhere\"", "RemoteHosts nowhere": "\nRemoteHosts = \"slot1@nowhere\"",
	"no host": "\nRemoteHost = \"\"", "a part": "\nRemoteHost = \"slot1_1@n2\"\nRequestCpus = 4",
	"a whole slot": "\nRemoteHost = \"slot1@n2\"\nRequestCpus = 4", "RemoteHosts": "\nRemoteHosts = \"slot1@n2\"",
	"a new shadow": "\nRemoteHost = \"slot1@n2\"\nNumShadowStarts = 9",
	"a gang":       "\nRemoteHosts = \"slot1@n2,slot1@n3\"\nRequestCpus = 4\nJobUniverse = 11\nMinHosts = 2\nMaxHosts = 2",
}

// TestRunsWhereItsSlotSays: whatever a user writes into his running job, it holds the slot that names it,
// and no others, for which two jobs wait.
func TestRunsWhereItsSlotSays(t *testing.T) {
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "conservative", small(4), small(4), small(4))
			w.nodes[1].name, w.nodes[2].name = "n2", "n3"
			w.nodes[1].closed, w.nodes[2].closed = true, true
			w.pass(8)
			eve := w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 5000, estimate: 6000})
			w.pass(30)
			require.Equal(t, 1, eve.runs)
			eve.extra = edit
			w.nodes[1].closed, w.nodes[2].closed = false, false
			w.pass(30)
			two := []*sleeper{
				w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 2000, estimate: 3000}),
				w.submit(&sleeper{owner: "carol", cpus: 4, seconds: 2000, estimate: 3000}),
			}
			w.pass(30)
			require.Equal(t, []int{1, 1}, []int{two[0].runs, two[1].runs}, w.log)
			told := strings.Count(w.log.String(), "a job runs elsewhere than its queue says")
			require.LessOrEqual(t, told, 1)
		})
	}
}

// TestChargedWhereverItRuns: of a license there is one, whatever the jobs that use it say of where they
// run.
func TestChargedWhereverItRuns(t *testing.T) {
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true})
			w.account(map[string]string{"LIC_LIMIT": "1"})
			for range 4 {
				w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 500, estimate: 600, extra: "\nConcurrencyLimits = \"lic\""})
			}
			for range 60 {
				w.pass(1)
				for _, j := range w.jobs {
					if j.status == 2 {
						j.extra = "\nConcurrencyLimits = \"lic\"" + edit
					}
				}
				require.LessOrEqual(t, w.running(), 1)
			}
			require.Equal(t, 1, w.running())
		})
	}
}
