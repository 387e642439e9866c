package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// playsSchedd has mallory advertise himself at a program of his own, which says that it has these
// jobs.
func (w *world) playsSchedd(jobs ...string) *fakes.Schedd {
	own := fakes.NewSchedd(w.t, "own@test")
	own.SetTime(w.now)
	own.SetJobs(jobs...)
	w.odd = map[string][]string{"Submitter": {
		own.SubmitterAd("mallory@test", "", 8, 0) + "AuthenticatedIdentity = \"mallory@test\"\n",
	}}
	return own
}

// invented is a job that a program plays.
func invented(cluster int, user, more string) string {
	return fmt.Sprintf("ClusterId = %d\nProcId = 0\nJobStatus = 1\nUser = %q\nQDate = 1600000000\nRequestCpus = 1\n"+
		"RequestMemory = 10\nJobUniverse = 5\nRequirements = true\n%s", cluster, user, more)
}

// TestAUsersOwnSchedd: whoever advertises himself, at the address of a program of his, has no place
// for jobs of others there, and nobody else is charged.
func TestAUsersOwnSchedd(t *testing.T) {
	for what, job := range map[string]func(i int) string{
		"others' jobs": func(i int) string { return invented(i, "bob@test", "") },
		"others' jobs in his group": func(i int) string {
			return invented(i, "bob@test", "AccountingGroup = \"mallory\"\n")
		},
		"others' jobs that run": func(i int) string {
			return invented(i, "bob@test", fmt.Sprintf("JobStatus = 2\nRemoteHost = \"slot1_%d@n1\"\nJobCurrentStartDate = 1\n", i))
		},
		"gangs": func(i int) string {
			return invented(i, "bob@test", "JobUniverse = 11\nMinHosts = 1\nMaxHosts = 1\nScheduler = \"DedicatedScheduler@own@test\"\n")
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8 * 128})
			w.account(nil)
			var jobs []string
			for i := range 8 {
				jobs = append(jobs, job(i+1))
			}
			own := w.playsSchedd(jobs...)
			bobs := w.submit(&sleeper{owner: "bob", cpus: 8, memory: 128, seconds: 100, estimate: 100})
			w.pass(12)
			require.Empty(t, own.Matches())
			require.Equal(t, 1, bobs.runs)
			require.Equal(t, 1, w.pool.Use()["bob@test"].Slots)
			require.Len(t, w.pool.Use(), 1)
		})
	}
}

// TestAJobThatBecomesAnothers: one of his own jobs is planned there, until he makes it another's.
func TestAJobThatBecomesAnothers(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8 * 128})
	w.submit(&sleeper{owner: "bob", cpus: 8, memory: 128, seconds: 1000, estimate: 1000})
	w.pass(8)
	own := w.playsSchedd(invented(1, "mallory@test", ""))
	w.pass(4)
	require.Equal(t, 1, w.n.State().Waiting())
	own.SetJobs(invented(1, "bob@test", "AccountingGroup = \"mallory\"\n"))
	w.pass(4)
	require.Zero(t, w.n.State().Waiting())
	why, _ := w.pool.Why(w.pool.Find("1.0@own@test")[0])
	require.Equal(t, "is of the submitter mallory@test, whom its schedd does not advertise for bob@test", why.Why)
}
