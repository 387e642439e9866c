package htcondor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// Jobs of submitters of whose ads NEGOTIATOR_SUBMITTER_CONSTRAINT is not true wait, as under the stock
// negotiator, and those who ask are told why.
func TestSubmitterConstraint(t *testing.T) {
	pooltest.Need(t)
	const constraint = "\nNEGOTIATOR_SUBMITTER_CONSTRAINT = Name =!= \"alice@pool.test\" && HeldJobs >= 0\n"
	const job = "executable = /bin/true\nrequest_cpus = 1\n+EstimatedRunTime = 5\nqueue\n"
	run := func(pool *pooltest.Pool) (waits []pooltest.JobID) {
		waits = pool.Submit("alice", job)
		for range 2 { // the second job's cycle comes after the first job's claim was seen
			pool.WaitDone(time.Minute, pool.Submit("bob", job)...)
		}
		return waits
	}
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		pool := ours(t, nil, constraint)
		waits := run(pool.Pool)
		require.Equal(t, 1, pool.Statuses()[waits[0]])
		require.Contains(t, pool.As("alice", "negotiator", "explain", waits[0].String()),
			"is of the submitter alice@pool.test, of which NEGOTIATOR_SUBMITTER_CONSTRAINT is not true")
		pool.reconfigure("", "the configuration is taken up")
		pool.WaitDone(time.Minute, waits...)
		pool.Audit().Check(t)
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		pool := pooltest.Start(t, stockPace+constraint)
		waits := run(pool)
		require.Equal(t, 1, pool.Statuses()[waits[0]])
	})
}
