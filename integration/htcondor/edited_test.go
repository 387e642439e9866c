package htcondor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestEditedWhileItRuns has bob write into his running jobs that they do not run, and so on.
// HTCondor refuses some, which needs no defence of ours; for the others his slots are charged to
// him, and his jobs are known to run.
func TestEditedWhileItRuns(t *testing.T) {
	t.Parallel()
	edits := [][2]string{
		{"JobStatus", "1"},
		{"JobStatus", "3"},
		{"JobStatus", "4"},
		{"JobStatus", "5"},
		{"JobStatus", "7"},
		{"JobUniverse", "7"},
		{"RemoteHost", `""`},
		{"GlobalJobId", `"pool.test#1.0#1"`},
	}
	refused := []string{"Owner", "User", "ClusterId", "ProcId", "MyType", "TargetType"}
	pool := ours(t, []string{"CPUS=8"}, "UPDATE_INTERVAL = 5\nBACKFILL_LEASE_TIME = 0")
	pool.permit("start failed", "start late", "overrun", "job changed")
	jobs := pool.Submit("bob", sleep(600, 1, len(edits), estimate+"600"))
	pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
	for _, name := range refused {
		_, err := pool.Try("bob", "condor_qedit", jobs[0].String(), name, `"alice"`)
		require.ErrorContains(t, err, "immutable", name)
	}
	for i, edit := range edits {
		pool.As("bob", "condor_qedit", jobs[i].String(), edit[0], edit[1])
	}
	named := 0
	for _, slot := range pool.Slots() {
		if text := slot.Text("JobId"); slices.ContainsFunc(jobs, func(job pooltest.JobID) bool { return job.String() == text }) {
			named++
			require.Equal(t, pooltest.Host, slot.Text("RemoteScheddName"))
		}
	}
	require.Equal(t, len(edits), named)
	pool.Wait("the jobs are known to run", 3*time.Minute, func() bool {
		return strings.Count(pool.Log("NegotiatorLog"), "a job runs although its queue says that it does not") >= 5
	})
	out := pool.As("root", "condor_userprio", "-allusers", "-af", "Name", "WeightedResourcesUsed")
	require.Contains(t, out, "bob@pool.test 8", out)
}
