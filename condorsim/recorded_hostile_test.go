package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// TestAnAnonymousRecordOfHeldJobs: why jobs are held, and whom the policy's options limit, decides alike under
// pseudonyms, even where users, groups and commands are called like the words of which reasons are made.
func TestAnAnonymousRecordOfHeldJobs(t *testing.T) {
	users := []string{"which", "fits", "time", "needs", "more"}
	var jobs []workload.Job
	for i := range 60 {
		jobs = append(jobs, workload.Job{
			Submit: int64(i) * 20, Run: 100, Procs: 1 + int64(i%5), User: users[i%len(users)], Queue: "can be",
		})
	}
	for policy, options := range map[string]map[string]string{
		"slack": nil,
		"maui":  {"usercfg": "[fits] MAXPROC=2,3 [needs] MAXJOB=1,2 [DEFAULT] MAXPROC=3,4"},
	} {
		w := onDescribed(t, "classes: [{name: node, cpus: 4, count: 3}]\npack: {chunk_cpus: 4}\nlimits: {matlab: 3}\n", jobs...)
		for i := range w.Jobs {
			if i%7 == 0 {
				w.Jobs[i].Ad = w.Jobs[i].Ad.Clone()
				w.Jobs[i].Ad.SetString("ConcurrencyLimits", "matlab:5")
			}
		}
		path := written(t, w, link(t, policy, options), record.Options{Anonymous: true, FileSize: 1})
		former, err := record.Former(path)
		require.NoError(t, err)
		r := replayed(t, append(former, path)...)
		require.Equal(t, len(former)+1, r.States, policy)
		require.Positive(t, r.Own)
	}
}
