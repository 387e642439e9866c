package htcondor_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// observed is what negotiator observe-report --json prints, as far as tests look at it.
type observed struct {
	Started   int `json:"started"`
	Unwatched int `json:"unwatched"`
	Waiting   struct {
		Jobs int `json:"jobs"`
	} `json:"waiting"`
	All, Wide observedGroup
	Users     []observedGroup `json:"users"`
	Promises  struct {
		Made int `json:"made"`
	} `json:"promises"`
	Record struct {
		Files   int      `json:"files"`
		Damaged []string `json:"damaged"`
	} `json:"record"`
}

// observedGroup is a group of jobs in it.
type observedGroup struct {
	Name                              string
	Jobs, Earlier, Same, Later, Never int
	Theirs, Ours                      struct{ Mean float64 }
}

// TestTheObserversReport: beside the stock negotiator an observer keeps a record, also over kill
// -9, and the report tells the waits that jobs really had, by user, and the wide job's. It says of
// each of them how it would have done.
func TestTheObserversReport(t *testing.T) {
	t.Parallel()
	pool := pooltest.Start(t, "NODES=1", "CPUS=4", "EXTRA=BACKFILL_START_SLACK = 5\nMASTER_BACKOFF_CONSTANT = 5")
	pool.Install(built(t, "../../negotiator/cmd/negotiator"))
	pool.As("root", "negotiator", "setup", "--observe")
	pool.Wait("the observer's first frame", time.Minute, func() bool {
		_, err := pool.Try("root", "negotiator", "observe-report")
		return err == nil
	})
	report := func() (r observed) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(pool.As("root", "negotiator", "observe-report", "--json")), &r))
		return r
	}
	out, err := pool.Try("alice", "negotiator", "observe-report")
	require.Error(t, err)
	require.Contains(t, out+err.Error(), "run this as root")

	const nap = "+EstimatedRunTime = 12"
	jobs := pool.Submit("alice", sleep(12, 1, 10, nap))
	jobs = append(jobs, pool.Submit("carol", sleep(12, 4, 1, nap))...)
	jobs = append(jobs, pool.Submit("bob", sleep(12, 1, 6, nap))...)
	pool.WaitStatus(pooltest.Running, 2*time.Minute, jobs[0])
	pool.Wait("a decision in the record", time.Minute, func() bool { return report().Started+report().Waiting.Jobs > 0 })

	pids := regexp.MustCompile(`Started (?:DaemonCore )?process "/usr/local/bin/negotiator", pid and pgroup = (\d+)`).
		FindAllStringSubmatch(pool.Log("MasterLog"), -1)
	require.Len(t, pids, 1)
	pool.As("root", "kill", "-9", pids[0][1])
	pool.WaitDone(5*time.Minute, jobs...)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := pool.Try("root", "sh", "-c", "zcat $(condor_config_val SPOOL)/backfill-observe/observed-*")
			t.Log(out)
		}
	})
	pool.Wait("all starts in the record", time.Minute, func() bool { return report().Started == len(jobs) })

	r := report()
	t.Log(pool.As("root", "negotiator", "observe-report"))
	require.Empty(t, r.Record.Damaged)
	require.LessOrEqual(t, r.Unwatched, 4, "a restart is no gap; what began meanwhile is not judged")
	require.Zero(t, r.Waiting.Jobs)
	require.Equal(t, len(jobs), r.All.Jobs+r.Unwatched)
	require.Equal(t, r.All.Jobs, r.All.Earlier+r.All.Same+r.All.Later+r.All.Never)
	require.Zero(t, r.All.Never)
	require.Equal(t, 1, r.Wide.Jobs)
	require.Positive(t, r.Promises.Made)
	require.Len(t, r.Users, 3)

	audit, waited := pool.Audit(), map[bool]float64{}
	for _, id := range jobs {
		run := runsOf(audit, id)[0]
		waited[id == jobs[10]] += run.Start.Sub(submitted(t, pool, id)).Seconds()
	}
	require.InDelta(t, waited[true], r.Wide.Theirs.Mean, 5)
	require.InDelta(t, (waited[true]+waited[false])/float64(len(jobs)), r.All.Theirs.Mean, 15)

	pool.As("root", "negotiator", "observe-report", "--html", "/tmp/report.html")
	page := pool.As("root", "cat", "/tmp/report.html")
	require.Contains(t, page, "Who would have started when")
	require.Contains(t, page, "carol")
}

// submitted is when a job was submitted.
func submitted(t *testing.T, pool *pooltest.Pool, id pooltest.JobID) time.Time {
	t.Helper()
	ads := pool.History(id.String())
	require.Len(t, ads, 1)
	return time.Unix(int64(ads[0].Int("QDate")), 0)
}
