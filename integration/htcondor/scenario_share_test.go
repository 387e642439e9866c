package htcondor_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestFairShare lets users, groups and licences share a pool.
func TestFairShare(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=12", "SLOTS=consumption"}, "BACKFILL_POLICY = easy",
		"GROUP_NAMES = group_a, group_b", "GROUP_QUOTA_group_a = 4", "GROUP_QUOTA_group_b = 8",
		"GROUP_ACCEPT_SURPLUS = False",
		"LIC_LIMIT = 2")
	pool.Wait("the first cycle", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })

	// Bob's factor is half of Alice's: he gets twice as much.
	pool.As("root", "condor_userprio", "-setfactor", "alice@pool.test", "1000")
	pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "500")
	full := pool.Submit("carol", sleep(300, 12, 1, estimate+"300"))
	pool.WaitStatus(pooltest.Running, time.Minute, full...)
	pool.Submit("alice", sleep(300, 1, 12, estimate+"300"))
	pool.Submit("bob", sleep(300, 1, 12, estimate+"300"))
	pool.Wait("all to be seen", time.Minute, func() bool { return len(pool.startTimes(t)) == 24 })
	pool.As("carol", "condor_rm", "carol")
	pool.Wait("a full pool", time.Minute, func() bool { return len(pool.Queue("-constraint", "JobStatus == 2")) == 12 })
	// The event log may lag behind; the queue does not.
	require.Len(t, pool.Queue("-constraint", `JobStatus == 2 && Owner == "alice"`), 4)
	require.Len(t, pool.Queue("-constraint", `JobStatus == 2 && Owner == "bob"`), 8)
	eight := regexp.MustCompile(`bob@pool\.test +\S+ +500\.00 +8 `)
	pool.Wait("condor_userprio to show it", time.Minute,
		func() bool { return eight.MatchString(pool.As("root", "condor_userprio", "-allusers")) })

	// Usage is kept until somebody resets it.
	pool.Wait("usage", time.Minute, func() bool {
		used := pool.usage(t)
		return used["bob@pool.test"] > used["alice@pool.test"] && used["alice@pool.test"] > 0
	})
	pool.remove()
	pool.Wait("a cycle without jobs", time.Minute, func() bool {
		return strings.Contains(pool.As("root", "condor_userprio", "-allusers", "-af", "Name", "ResourcesUsed"),
			"bob@pool.test 0\n")
	})
	pool.As("root", "condor_userprio", "-resetusage", "bob@pool.test")
	require.Zero(t, pool.usage(t)["bob@pool.test"])
	require.Positive(t, pool.usage(t)["alice@pool.test"])
	_, err := pool.Try("alice", "condor_userprio", "-setfactor", "bob@pool.test", "1000000")
	t.Logf("a user who changes a factor: %v", err)
	require.Contains(t, pool.As("root", "condor_userprio", "-allusers"), " 500.00 ", "only administrators do that")

	limited := pool.Submit("alice", sleep(3, 1, 6, "concurrency_limits = lic", estimate+"3"))
	grouped := pool.Submit("bob", sleep(3, 1, 8, "accounting_group = group_a", "accounting_group_user = bob",
		estimate+"3"))
	other := pool.Submit("carol", sleep(3, 1, 8, "accounting_group = group_b", "accounting_group_user = carol",
		estimate+"3"))
	pool.WaitDone(2*time.Minute, limited...)
	pool.WaitDone(2*time.Minute, grouped...)
	pool.WaitDone(2*time.Minute, other...)
	audit := pool.Audit()
	require.Equal(t, 2, most(audit, limited...))
	require.Equal(t, 4, most(audit, grouped...))
	require.LessOrEqual(t, most(audit, other...), 8)
	require.Contains(t, pool.As("root", "condor_userprio", "-allusers"), "group_a")
}
