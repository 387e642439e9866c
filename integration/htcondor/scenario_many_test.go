package htcondor_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestManyJobsOnOneSlot starts 200 jobs on a slot with a consumption policy in one cycle. It runs
// alone: 200 shadows talk to one startd at once, and give up after SEC_TCP_SESSION_TIMEOUT.
func TestManyJobsOnOneSlot(t *testing.T) {
	pool := ours(t, []string{"CPUS=256", "MEMORY=65536", "SLOTS=consumption"}, "SEC_TCP_SESSION_TIMEOUT = 120")
	jobs := pool.Submit("alice", sleep(30, 1, 200, estimate+"60"))
	pool.WaitDone(4*time.Minute, jobs...)
	audit := pool.Audit()
	first, last := audit.Runs[0].Start, audit.Runs[len(audit.Runs)-1].Start
	for _, job := range jobs {
		require.Len(t, runsOf(audit, job), 1)
	}
	cycle := regexp.MustCompile(`cycle \d+: .* started=200 .*`).FindString(pool.Log("NegotiatorLog"))
	require.NotEmpty(t, cycle, "one cycle started all")
	t.Logf("%s", cycle)
	t.Logf("submitted %s, matched %s to %s, ran from %s to %s", clock(audit.Submits[jobs[0]]),
		clock(pool.logged(t, "matched: job="+jobs[0].String()+" ")),
		clock(pool.logged(t, "matched: job="+jobs[199].String()+" ")), clock(first), clock(last))
}

func clock(at time.Time) string { return at.Format("15:04:05.0") }
