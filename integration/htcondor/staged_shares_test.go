package htcondor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestConcurrencyLimits stages test_concurrency_limits: a limit of its own, the default, and the
// defaults of two families, on static slots and on a partitionable one.
func TestConcurrencyLimits(t *testing.T) {
	t.Parallel()
	for _, slots := range []string{"static", "partitionable"} {
		t.Run(slots, func(t *testing.T) {
			t.Parallel()
			bothRun(t, []string{"CPUS=12", "SLOTS=" + slots}, `
BACKFILL_POLICY = easy
XSW_LIMIT = 4
CONCURRENCY_LIMIT_DEFAULT = 2
CONCURRENCY_LIMIT_DEFAULT_SMALL = 3
CONCURRENCY_LIMIT_DEFAULT_LARGE = 1
`, []scenario{
				limited("XSW", 4), limited("UNDEFINED:2", 1), limited("small.license", 3), limited("large.license", 1),
			})
		})
	}
}

// limited checks that jobs with a limit run up to it, that one more starts when another one leaves, and
// that there are never too many. Jobs are put on hold and released, as the original does.
func limited(limit string, count int) scenario {
	return scenario{limit, func(t *testing.T, pool *ourPool) {
		t.Helper()
		jobs := pool.Submit("alice", sleep(600, 1, 2*count+2, "hold = true", "concurrency_limits = "+limit, estimate+"600"))
		release := func(jobs ...pooltest.JobID) { pool.As("alice", append([]string{"condor_release"}, texts(jobs)...)...) }
		hold := func(jobs ...pooltest.JobID) { pool.As("alice", append([]string{"condor_hold"}, texts(jobs)...)...) }
		release(jobs[:count]...)
		pool.WaitStatus(pooltest.Running, time.Minute, jobs[:count]...)
		release(jobs[count])
		pool.negotiates(3)
		require.Equal(t, pooltest.Idle, pool.Statuses()[jobs[count]])
		name, _, _ := strings.Cut(strings.ToLower(limit), ":")
		pool.Wait("a line in the match log", time.Minute, func() bool {
			return strings.Contains(strings.ToLower(pool.Log("MatchLog")), "concurrency limit "+name+" reached")
		})
		hold(jobs[count], jobs[0])
		pool.WaitStatus(pooltest.Held, time.Minute, jobs[count], jobs[0])
		release(jobs[count])
		pool.WaitStatus(pooltest.Running, time.Minute, jobs[1:count+1]...)
		release(jobs[0])
		pool.negotiates(3)
		require.Equal(t, pooltest.Idle, pool.Statuses()[jobs[0]])
		require.Equal(t, count, most(pool.Audit(), jobs...))
		pool.As("alice", "condor_rm", "alice")
		pool.free()
	}}
}

// free waits until no slot is claimed.
func (p *ourPool) free() {
	p.Wait("free slots", time.Minute, func() bool { return len(p.Slots("-constraint", `State == "Claimed"`)) == 0 })
}

func texts(jobs []pooltest.JobID) (all []string) {
	for _, j := range jobs {
		all = append(all, j.String())
	}
	return all
}

// negotiates waits for a number of cycles, whichever the negotiator.
func (p *ourPool) negotiates(times int) {
	finished := func() int { return strings.Count(p.Log("NegotiatorLog"), "Finished Negotiation Cycle") }
	before := finished()
	p.Wait("cycles", time.Minute, func() bool { return finished() >= before+times })
}

// grouped are jobs of a user of an accounting group, to be put before others in a submit description.
func grouped(user string, count int, more ...string) string {
	return sleep(600, 1, count, append(more, fmt.Sprintf("+AccountingGroup = %q", user), estimate+"600")...) + "\n"
}

// runningByGroup counts the running jobs by their AccountingGroup.
func runningByGroup(pool *ourPool) map[string]int {
	n := map[string]int{}
	for _, ad := range pool.Queue("-constraint", "JobStatus == 2") {
		n[ad.Text("AccountingGroup")]++
	}
	return n
}

// shares waits until so many jobs of each group run, and checks that it stays so.
func shares(t *testing.T, pool *ourPool, want map[string]int) {
	t.Helper()
	all := 0
	for _, n := range want {
		all += n
	}
	pool.Wait("jobs to run", time.Minute, func() bool { return len(pool.Queue("-constraint", "JobStatus == 2")) >= all })
	require.Equal(t, want, runningByGroup(pool))
	pool.negotiates(3)
	require.Equal(t, want, runningByGroup(pool))
}

// noWeights are what the originals of the tests of groups have in common.
const noWeights = `
BACKFILL_POLICY = easy
NEGOTIATOR_USE_SLOT_WEIGHTS = False
NEGOTIATOR_CONSIDER_PREEMPTION = False
MAXJOBRETIREMENTTIME = 86400
`

// TestAutoregroup stages job_hgq_autoregroup_basic: groups whose quota is a core take what is left
// besides, and the one that GROUP_SORT_EXPR puts first is served first.
func TestAutoregroup(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=4", "SLOTS=static"}, noWeights+`
HFS_ROUND_ROBIN_RATE = 100000000
HFS_MAX_ALLOCATION_ROUNDS = 1
GROUP_NAMES = a, b
GROUP_QUOTA_a = 1
GROUP_QUOTA_b = 1
GROUP_ACCEPT_SURPLUS = False
GROUP_AUTOREGROUP = True
GROUP_SORT_EXPR = ifThenElse(AccountingGroup =?= "a", 2, ifThenElse(AccountingGroup =?= "b", 1, 3.4e+38))
`, []scenario{{"autoregroup", func(t *testing.T, pool *ourPool) {
		t.Helper()
		pool.Submit("alice", grouped("a.user", 2)+grouped("b.user", 2))
		shares(t, pool, map[string]int{"a.user": 2, "b.user": 2})
		pool.As("alice", "condor_rm", "alice")
		pool.free()
		const one = "requirements = SlotID == 1"
		pool.Submit("alice", grouped("a.user", 1, one)+grouped("b.user", 1, one))
		shares(t, pool, map[string]int{"b.user": 1})
	}}})
}

// TestFailedNegotiation stages job_hgq_negfail_basic: a group that cannot use its quota, because its
// jobs match nothing, leaves it to its sibling; jobs that compete for few slots share them. The stock
// negotiator of 23.9.6 gave all 10 slots to one group here, which its own test would not pass.
func TestFailedNegotiation(t *testing.T) {
	t.Parallel()
	ours(t, []string{"CPUS=40", "SLOTS=static"}, noWeights+`
HFS_ROUND_ROBIN_RATE = 1.0
HFS_MAX_ALLOCATION_ROUNDS = 3
GROUP_NAMES = a, b, a.a, a.b, b.a, b.b
GROUP_QUOTA_DYNAMIC_a = 0.5
GROUP_QUOTA_DYNAMIC_b = 0.5
GROUP_QUOTA_DYNAMIC_a.a = 0.5
GROUP_QUOTA_DYNAMIC_a.b = 0.5
GROUP_QUOTA_DYNAMIC_b.a = 0.5
GROUP_QUOTA_DYNAMIC_b.b = 0.5
GROUP_ACCEPT_SURPLUS = True
GROUP_ACCEPT_SURPLUS_a = False
GROUP_ACCEPT_SURPLUS_b = False
`).runAll(t, []scenario{{"surplus of a failed negotiation", func(t *testing.T, pool *ourPool) {
		t.Helper()
		pool.Signal("negotiator", stopped) // so that it decides on all of them together
		pool.Submit("alice", grouped("a.a.user", 20, "requirements = SlotID > 10")+
			grouped("a.b.user", 10, "requirements = False")+
			grouped("b.a.user", 10, "requirements = SlotID <= 10")+grouped("b.b.user", 10, "requirements = SlotID <= 10"))
		pool.Wait("the submitters", time.Minute, func() bool {
			return len(pool.Ads("-submitters", "-constraint", "IdleJobs >= 10")) == 4
		})
		pool.Signal("negotiator", resumed)
		shares(t, pool, map[string]int{"a.a.user": 20, "b.a.user": 5, "b.b.user": 5})
	}}})
}

// TestWeightedQuotas stages job_cp_cclim_acctgrp_basic: quotas in weighted slots, on a slot with a
// consumption policy, beside a concurrency limit.
func TestWeightedQuotas(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=8"}, `
BACKFILL_POLICY = easy
CONSUMPTION_POLICY = True
CONSUMPTION_CPUS = 1
CONSUMPTION_MEMORY = 25
CONSUMPTION_DISK = 100
SLOT_WEIGHT = floor(Memory / 25)
SLOT_TYPE_1 = cpus=8,memory=150,disk=100%
MUST_MODIFY_REQUEST_EXPRS = False
NEGOTIATOR_USE_SLOT_WEIGHTS = True
NEGOTIATOR_MATCHLIST_CACHING = False
YYZ_LIMIT = 2
GROUP_NAMES = a, b, c
GROUP_QUOTA_a = 1
GROUP_QUOTA_b = 2
GROUP_QUOTA_c = 3
GROUP_ACCEPT_SURPLUS = False
GROUP_AUTOREGROUP = False
`, []scenario{{"weighted quotas", func(t *testing.T, pool *ourPool) {
		t.Helper()
		of := func(group string, more ...string) string {
			return sleep(600, 1, 5, append(more, "request_memory = 25", "accounting_group = "+group, estimate+"600")...) + "\n"
		}
		pool.Submit("alice", of("a")+of("b")+of("c", "concurrency_limits = yyz"))
		running := func() map[string]int {
			n := map[string]int{}
			for user, count := range runningByGroup(pool) {
				group, _, _ := strings.Cut(user, ".")
				n[group] += count
			}
			return n
		}
		want := map[string]int{"a": 1, "b": 2, "c": 2}
		pool.Wait("jobs to run", time.Minute, func() bool { return len(pool.Queue("-constraint", "JobStatus == 2")) >= 5 })
		require.Equal(t, want, running())
		pool.negotiates(3)
		require.Equal(t, want, running())
	}}})
}

// TestCeilingAndFloor: a submitter gets no more than its ceiling, though cores are free, and as much as
// its floor before others, though theirs is the better priority.
func TestCeilingAndFloor(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=4", "SLOTS=static"}, "BACKFILL_POLICY = easy", []scenario{
		{"ceiling", func(t *testing.T, pool *ourPool) {
			t.Helper()
			pool.As("root", "condor_userprio", "-setceil", "alice@pool.test", "2")
			jobs := pool.Submit("alice", sleep(3, 1, 5, estimate+"3"))
			pool.WaitDone(2*time.Minute, jobs...)
			require.Equal(t, 2, most(pool.Audit(), jobs...))
		}},
		{"floor", func(t *testing.T, pool *ourPool) {
			t.Helper()
			pool.As("root", "condor_userprio", "-setfactor", "carol@pool.test", "1")
			pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "100000")
			pool.As("root", "condor_userprio", "-setfloor", "bob@pool.test", "3")
			full := pool.Submit("dave", sleep(600, 1, 4, estimate+"600"))
			pool.WaitStatus(pooltest.Running, time.Minute, full...)
			pool.Submit("carol", sleep(600, 1, 4, estimate+"600"))
			pool.Submit("bob", sleep(600, 1, 4, estimate+"600"))
			pool.negotiates(2)
			pool.As("dave", "condor_rm", "dave")
			pool.Wait("a full pool", time.Minute, func() bool {
				return len(pool.Queue("-constraint", `JobStatus == 2 && Owner != "dave"`)) == 4
			})
			require.Len(t, pool.Queue("-constraint", `JobStatus == 2 && Owner == "bob"`), 3)
		}},
	})
}
