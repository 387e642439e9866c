package htcondor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// While the jobs of a machine drain, it takes the jobs that condor_drain -start admits, no others.
func TestDrainingMachineTakesWhatItsStartAdmits(t *testing.T) {
	t.Parallel()
	pool := ours(t, nil, "MAXJOBRETIREMENTTIME = 3600")
	const sleep = "executable = /bin/sleep\nrequest_cpus = 1\n"
	before := pool.Submit("alice", sleep+"arguments = 30\n+EstimatedRunTime = 40\nqueue\n")
	pool.WaitStatus(2, 30*time.Second, before...)
	pool.As("root", "condor_drain", "-start", "TARGET.EstimatedRunTime <= 60", pooltest.Host)
	long := pool.Submit("alice", sleep+"arguments = 1\n+EstimatedRunTime = 600\nqueue\n")
	short := pool.Submit("alice", sleep+"arguments = 1\n+EstimatedRunTime = 30\nqueue 2\n")
	pool.WaitDone(20*time.Second, short...) // while the first job runs
	require.Equal(t, 2, pool.Statuses()[before[0]])
	pool.Wait("an explanation", 20*time.Second, func() bool {
		out, err := pool.Try("alice", "negotiator", "explain", long[0].String())
		return err == nil && strings.Contains(out, "cannot run now: of 1 slot 1 is draining")
	})
	require.Contains(t, pool.As("alice", "negotiator", "start-times"), "of 1 slot 1 is draining")
	pool.WaitDone(40*time.Second, before...)
	pool.cycles(t, 2)
	require.Equal(t, 1, pool.Statuses()[long[0]], "the long job must wait")
	pool.As("root", "condor_drain", "-cancel", pooltest.Host)
	pool.WaitDone(30*time.Second, long...)
	pool.Audit().Check(t)
}
