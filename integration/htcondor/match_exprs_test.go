package htcondor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What NEGOTIATOR_MATCH_EXPRS lists reaches the ads of matched jobs.
func TestMatchExprsReachTheJob(t *testing.T) {
	t.Parallel()
	pool := ours(t, nil, `Site = "north"`, "Half = Cpus / 2", "NEGOTIATOR_MATCH_EXPRS = Site, Half")
	jobs := pool.Submit("alice", "executable = /bin/sleep\narguments = 8\nrequest_cpus = 1\n+EstimatedRunTime = 20\nqueue\n")
	pool.WaitStatus(2, 30*time.Second, jobs...)
	ads := pool.Queue()
	require.Len(t, ads, 1)
	require.Equal(t, "north", ads[0].Text("MATCH_EXP_NegotiatorMatchExprSite"), ads[0])
	require.Contains(t, ads[0], "MATCH_EXP_NegotiatorMatchExprHalf")
	pool.WaitDone(30*time.Second, jobs...)
	pool.Audit().Check(t)
}
