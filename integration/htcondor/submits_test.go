package htcondor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// asSince2514 has submits announced as by schedds of 25.14 where other jobs wait: not at all, and
// schedds count their queues every five minutes.
const asSince2514 = "SUBMIT_SEND_RESCHEDULE = False\nSCHEDD_SEND_RESCHEDULE = False\nSCHEDD_INTERVAL = 300\n" +
	"NEGOTIATOR_INTERVAL = 600\nSCHEDD_DEBUG = D_MATCH D_SUB_SECOND\n"

// TestUnannouncedSubmits measures how soon jobs start whose schedd announces no submits, while another
// user's jobs wait that cannot start.
func TestUnannouncedSubmits(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=4"}, asSince2514)
	known := pool.Submit("bob", sleep(1, 1, 1, estimate+"5"))
	pool.Submit("alice", sleep(600, 8, 20)) // no slot is as large
	pool.As("root", "condor_reschedule")    // the schedd counts its queue, and advertises both
	pool.WaitDone(2*time.Minute, known...)
	var matched, started []time.Duration
	for i := range 20 {
		job := pool.Submit("bob", sleep(1, 1, 1, estimate+"5"))[0]
		pool.WaitDone(time.Minute, job)
		submitted := pool.at(t, job, pooltest.Submitted)
		matched = append(matched, pool.negotiated(t, "bob@pool.test", submitted).Sub(submitted))
		started = append(started, pool.at(t, job, pooltest.Executed).Sub(submitted))
		time.Sleep(time.Duration(i) * 97 * time.Millisecond) // at no fixed time after the last cycle
	}
	require.NotContains(t, pool.Log("NegotiatorLog"), "command=RESCHEDULE")
	slices.Sort(matched)
	slices.Sort(started)
	t.Logf("from submit to match: median %v, all %v", matched[len(matched)/2], matched)
	t.Logf("from submit to start: median %v, all %v", started[len(started)/2], started)
	require.Less(t, matched[0], time.Second)
}

// negotiated returns when the schedd heard of the first match for a submitter after a time.
func (p *ourPool) negotiated(t *testing.T, submitter string, after time.Time) time.Time {
	t.Helper()
	const format = "01/02/06 15:04:05.000"
	for line := range strings.Lines(p.Log("SchedLog")) {
		_, whom, negotiated := strings.Cut(line, "Negotiating for ")
		if !negotiated || !strings.Contains(whom, submitter) {
			continue
		}
		at, err := time.Parse(format, line[:len(format)])
		require.NoError(t, err)
		if at.After(after) {
			return at
		}
	}
	t.Fatalf("nobody negotiated for %s", submitter)
	return time.Time{}
}

// at returns when something became of a job for the first time.
func (p *ourPool) at(t *testing.T, job pooltest.JobID, what int) time.Time {
	t.Helper()
	for _, e := range p.Events() {
		if e.Job == job && e.Type == what {
			return e.At
		}
	}
	t.Fatalf("nothing of type %d became of job %s", what, job)
	return time.Time{}
}
