package htcondor_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestOddNames says that jobs with accounting groups that no tool of HTCondor accepts wait, as under
// the stock negotiator, and that all others are started and charged meanwhile, those of groups with
// quotas too, also after a restart of the negotiator; and that a job which gets such a group while it
// runs is charged to its user.
func TestOddNames(t *testing.T) {
	pooltest.Need(t)
	groups := "\n" + strings.Join([]string{
		"GROUP_NAMES = group_a", "GROUP_QUOTA_group_a = 2", "GROUP_ACCEPT_SURPLUS = False", "",
	}, "\n")
	long := sleep(600, 1, 1, estimate+"600")
	grouped := sleep(600, 1, 1, estimate+"600", "accounting_group = group_a", "accounting_group_user = carol")
	run := func(t *testing.T, pool *pooltest.Pool, odd ...string) {
		t.Helper()
		edit := func(job pooltest.JobID, group string) {
			pool.As("bob", "condor_qedit", job.String(), "AccountingGroup", strconv.Quote(group))
		}
		runs := pool.Submit("bob", long)
		pool.WaitStatus(pooltest.Running, time.Minute, runs...)
		edit(runs[0], "a b")
		var waits []pooltest.JobID
		for _, group := range odd {
			job := pool.Submit("bob", "hold = true\n"+long)
			edit(job[0], group)
			waits = append(waits, job...)
		}
		pool.As("bob", "condor_release", "bob")
		pool.WaitStatus(pooltest.Running, time.Minute, pool.Submit("alice", long)...)
		pool.WaitStatus(pooltest.Running, time.Minute, pool.Submit("carol", grouped)...)
		usage := regexp.MustCompile(`(?m)^(alice@pool.test|group_a.carol@pool.test) [1-9]`)
		pool.Wait("usage", time.Minute, func() bool {
			out, err := pool.Try("root", "condor_userprio", "-allusers", "-af", "Name", "AccumulatedUsage")
			return err == nil && len(usage.FindAllString(out, -1)) == 2
		})
		pool.Kill("negotiator")
		pool.WaitStatus(pooltest.Running, 2*time.Minute, pool.Submit("carol", grouped)...)
		for _, job := range waits {
			require.Equal(t, pooltest.Idle, pool.Statuses()[job])
		}
	}
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		pool := ours(t, []string{"CPUS=8"}, groups)
		run(t, pool.Pool, "a b", strings.Repeat("g", 200-len("@pool.test")), strings.Repeat("g", 4200), strings.Repeat("g", 33<<10))
		require.Positive(t, pool.usage(t)["bob@pool.test"])
		// A schedd reads 199 bytes of a submitter's name.
		almost := pool.Submit("bob", sleep(600, 1, 1, estimate+"600", "accounting_group = "+strings.Repeat("h", 199-len(".bob@pool.test")), "accounting_group_user = bob"))
		pool.WaitStatus(pooltest.Running, time.Minute, almost...)
		for _, job := range pool.Queue("-constraint", `JobStatus == 1`) {
			require.Contains(t, pool.As("bob", "negotiator", "explain", job.Job().String()), "is no name")
		}
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		run(t, pooltest.Start(t, stockPace+groups), "a b") // with longer names it starts nobody's jobs
	})
}
