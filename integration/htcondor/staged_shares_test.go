package htcondor_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// limitKnobs are the limits of HTCondor's test_concurrency_limits. Slots report often, since the
// stock negotiator learns from their ads how much of a limit is in use.
const limitKnobs = `
BACKFILL_POLICY = easy
XSW_LIMIT = 4
CONCURRENCY_LIMIT_DEFAULT = 2
CONCURRENCY_LIMIT_DEFAULT_SMALL = 3
CONCURRENCY_LIMIT_DEFAULT_LARGE = 1
UPDATE_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 0
SCHEDD_INTERVAL_TIMESLICE = 1
`

// TestStagedLimits stages HTCondor's test_concurrency_limits, on both kinds of slots that it has,
// and what its manual says of submitters' ceilings and floors, for which it has no test.
func TestStagedLimits(t *testing.T) {
	t.Parallel()
	limits := []scenario{
		{"a named limit", limitOf("XSW", 4)},
		{"two of the default limit", limitOf("UNDEFINED:2", 1)},
		{"the default of small", limitOf("small.license", 3)},
		{"the default of large", limitOf("large.license", 1)},
	}
	for slots, more := range map[string][]scenario{
		"static": {{"ceiling", ceiling}, {"floor", floor}}, "partitionable": nil,
	} {
		t.Run(slots, func(t *testing.T) {
			t.Parallel()
			bothRun(t, []string{"CPUS=12", "SLOTS=" + slots}, limitKnobs, append(slices.Clone(limits), more...))
		})
	}
}

// limitOf returns a scenario of jobs that share a limit which has room for so many of them: one
// more is rejected, with the limit's name, and starts as soon as one of the others is held; then
// that one is rejected. Never do more run.
func limitOf(limits string, room int) func(*testing.T, *ourPool) {
	return func(t *testing.T, pool *ourPool) {
		t.Helper()
		jobs := pool.Submit("alice", sleep(3600, 1, 2*(room+1), estimate+"3600", "hold = true",
			"concurrency_limits = "+limits))
		name, _, _ := strings.Cut(strings.ToLower(limits), ":")
		full := jobs[:room]
		pool.command("condor_release", full...)
		pool.WaitStatus(pooltest.Running, time.Minute, full...)
		pool.waitBusy(room)

		next := jobs[room]
		pool.command("condor_release", next)
		pool.waitRejected(next, name)
		pool.command("condor_hold", next, jobs[0])
		pool.WaitStatus(pooltest.Held, time.Minute, next, jobs[0])
		pool.command("condor_release", next)
		full = append(slices.Clone(jobs[1:room]), next)
		pool.WaitStatus(pooltest.Running, time.Minute, full...)
		pool.waitBusy(room)

		pool.command("condor_release", jobs[0])
		pool.waitRejected(jobs[0], name)
		pool.WaitStatus(pooltest.Running, time.Second, full...)
		require.Equal(t, room, most(pool.Audit(), jobs...))
	}
}

// command runs a tool on jobs and has the schedd count its queue.
func (p *ourPool) command(tool string, jobs ...pooltest.JobID) {
	args := []string{tool}
	for _, job := range jobs {
		args = append(args, fmt.Sprintf("%d.%d", job.Cluster, job.Proc))
	}
	p.As("root", args...)
	p.As("root", "condor_reschedule")
}

// waitBusy waits until so many slots report that they run a job.
func (p *ourPool) waitBusy(slots int) {
	p.Wait(fmt.Sprint("busy slots: ", slots), time.Minute, func() bool {
		return len(p.Slots("-constraint", `State == "Claimed" && Activity == "Busy"`)) == slots
	})
}

// waitRejected waits until the negotiator's match log says that a job is rejected by a limit, and
// the job knows that as well.
func (p *ourPool) waitRejected(job pooltest.JobID, limit string) {
	name := "concurrency limit " + regexp.QuoteMeta(limit) + " reached"
	line := regexp.MustCompile(fmt.Sprintf(`(?m)Rejected %d\.%d .*: %s$`, job.Cluster, job.Proc, name))
	p.Wait("a rejection by "+limit, time.Minute, func() bool { return line.MatchString(p.Log("MatchLog")) })
	reason := regexp.MustCompile(name)
	p.Wait("the reason", time.Minute, func() bool {
		ads := p.Queue("-constraint", fmt.Sprintf("ClusterId == %d && ProcId == %d", job.Cluster, job.Proc))
		return len(ads) == 1 && reason.MatchString(ads[0].Text("LastRejMatchReason"))
	})
}

// running counts the running jobs by an attribute of theirs.
func (p *ourPool) running(attribute string) map[string]int {
	count := map[string]int{}
	for _, ad := range p.Queue("-constraint", fmt.Sprint("JobStatus == ", pooltest.Running)) {
		count[ad.Text(attribute)]++
	}
	return count
}

// settles waits until the running jobs, counted by an attribute, are as wanted, and fails if they
// are not any more a few of the negotiator's cycles later.
func (p *ourPool) settles(t *testing.T, attribute string, wanted map[string]int) {
	t.Helper()
	p.Wait(fmt.Sprint("running: ", wanted), 2*time.Minute, func() bool {
		return fmt.Sprint(p.running(attribute)) == fmt.Sprint(wanted)
	})
	p.moreCycles(3)
	require.Equal(t, wanted, p.running(attribute))
}

// moreCycles waits until either negotiator has begun and ended that many more cycles.
func (p *ourPool) moreCycles(more int) {
	count := func() int { return strings.Count(p.Log("NegotiatorLog"), "Finished Negotiation Cycle") }
	all := count() + 1 + more
	p.Wait("more cycles", time.Minute, func() bool { return count() >= all })
}

// userprio sets something about a user, and returns what sets it back.
func (p *ourPool) userprio(option, user string, value, normal int) (back func()) {
	set := func(v int) { p.As("root", "condor_userprio", option, user+"@pool.test", strconv.Itoa(v)) }
	set(value)
	return func() { set(normal) }
}

// ceiling checks that a submitter gets no more cores than its ceiling although others are free,
// that others are not bound by it, and that it gets more once the ceiling is higher. No more jobs
// than may run come before slots report those that do: the stock negotiator would give too many.
func ceiling(t *testing.T, pool *ourPool) {
	t.Helper()
	defer pool.userprio("-setceil", "alice", 3, -1)()
	submit := func(owner string, count int) { pool.Submit(owner, sleep(600, 1, count, estimate+"600")) }
	submit("alice", 3)
	pool.settles(t, "Owner", map[string]int{"alice": 3})
	pool.waitBusy(3)
	submit("alice", 2)
	submit("bob", 5)
	pool.settles(t, "Owner", map[string]int{"alice": 3, "bob": 5})
	pool.userprio("-setceil", "alice", 5, -1)
	pool.settles(t, "Owner", map[string]int{"alice": 5, "bob": 5})
	pool.waitBusy(10)
	submit("alice", 2)
	pool.settles(t, "Owner", map[string]int{"alice": 5, "bob": 5})
}

// TestCeilingCountsCores has a ceiling of four cores for jobs of two. It is not for the stock
// negotiator: that takes a ceiling as reached which is below the weight of the least slot, so that
// it gives nothing of a partitionable slot of twelve cores.
func TestCeilingCountsCores(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=12"}, "BACKFILL_POLICY = easy")
	pool.userprio("-setceil", "alice", 4, -1)
	pool.Submit("alice", sleep(600, 2, 4, estimate+"600"))
	pool.settles(t, "Owner", map[string]int{"alice": 2})
}

// floor checks that a submitter gets as many cores as its floor although its priority is far worse
// than that of another, who wants all, and no more than those.
func floor(t *testing.T, pool *ourPool) {
	t.Helper()
	defer pool.userprio("-setfactor", "alice", 100_000_000, 1000)()
	defer pool.userprio("-setfloor", "alice", 3, 0)()
	full := pool.Submit("carol", sleep(600, 1, 12, estimate+"600"))
	pool.WaitStatus(pooltest.Running, time.Minute, full...)
	pool.Submit("bob", sleep(600, 1, 12, estimate+"600"))
	pool.Submit("alice", sleep(600, 1, 12, estimate+"600"))
	pool.moreCycles(1)
	pool.As("carol", "condor_rm", "carol")
	pool.settles(t, "Owner", map[string]int{"alice": 3, "bob": 9})
}

// asUser returns the line that puts jobs into an accounting group, as one of its users.
func asUser(group string) string { return `+AccountingGroup = "` + group + `.user"` }

// TestStagedAutoregroup stages HTCondor's job_hgq_autoregroup_basic_van: groups have their quotas
// in the order of GROUP_SORT_EXPR, and then what is left.
func TestStagedAutoregroup(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=4", "SLOTS=static"}, `
BACKFILL_POLICY = easy
NEGOTIATOR_USE_SLOT_WEIGHTS = False
GROUP_QUOTA_ROUND_ROBIN_RATE = 100000000
GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 1
GROUP_NAMES = a, b
GROUP_QUOTA_a = 1
GROUP_QUOTA_b = 1
GROUP_ACCEPT_SURPLUS = False
GROUP_AUTOREGROUP = True
GROUP_SORT_EXPR = ifThenElse(AccountingGroup=?="a", 2, ifThenElse(AccountingGroup=?="b", 1, 3.40282e+38))
`, []scenario{{"autoregroup", autoregroup}, {"sorted groups", sortedGroups}})
}

func autoregroup(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.Submit("alice", sleep(3600, 1, 2, asUser("a"), estimate+"3600"))
	pool.Submit("alice", sleep(3600, 1, 2, asUser("b"), estimate+"3600"))
	pool.settles(t, "AccountingGroup", map[string]int{"a.user": 2, "b.user": 2})
}

// sortedGroups checks whose jobs have the one slot that is free first.
func sortedGroups(t *testing.T, pool *ourPool) {
	t.Helper()
	full := pool.Submit("carol", sleep(600, 1, 4, estimate+"600"))
	pool.WaitStatus(pooltest.Running, time.Minute, full...)
	a := pool.Submit("alice", sleep(1, 1, 1, asUser("a"), estimate+"1"))
	b := pool.Submit("alice", sleep(1, 1, 1, asUser("b"), estimate+"1"))
	pool.moreCycles(1)
	pool.command("condor_rm", full[0])
	startsInTurn(t, pool, b[0], a[0])
}

// TestStagedSurplus stages HTCondor's job_hgq_negfail_basic_van: what a group leaves of its quota,
// since its jobs match nothing, is for its neighbour, and two groups compete for too few slots.
func TestStagedSurplus(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=40", "SLOTS=static"}, `
BACKFILL_POLICY = easy
NEGOTIATOR_USE_SLOT_WEIGHTS = False
GROUP_QUOTA_ROUND_ROBIN_RATE = 1.0
GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 3
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
`, []scenario{{"as submitted there", surplus(false)}, {"jobs that match nothing first", surplus(true)}})
}

// surplus returns a scenario in which the jobs that match no slot are submitted first or, as in the
// original, second.
func surplus(failFirst bool) func(*testing.T, *ourPool) {
	return func(t *testing.T, pool *ourPool) {
		t.Helper()
		batches := []string{
			sleep(3600, 1, 20, "requirements = SlotID > 10", asUser("a.a"), estimate+"3600"),
			sleep(3600, 1, 10, "requirements = False", asUser("a.b"), estimate+"3600"),
			sleep(3600, 1, 10, "requirements = SlotID <= 10", asUser("b.a"), estimate+"3600"),
			sleep(3600, 1, 10, "requirements = SlotID <= 10", asUser("b.b"), estimate+"3600"),
		}
		if failFirst {
			batches[0], batches[1] = batches[1], batches[0]
		}
		pool.Submit("alice", strings.Join(batches, "\n"))
		pool.settles(t, "AccountingGroup", map[string]int{"a.a.user": 20, "b.a.user": 5, "b.b.user": 5})
	}
}

// TestStagedConsumption stages HTCondor's job_cp_cclim_acctgrp_basic_van: matches from one slot
// with a consumption policy stay within quotas and a concurrency limit.
func TestStagedConsumption(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=8", "MEMORY=150", "SLOTS=consumption"}, `
BACKFILL_POLICY = easy
CONSUMPTION_CPUS = 1
CONSUMPTION_MEMORY = 25
CONSUMPTION_DISK = 100
SLOT_WEIGHT = floor(Memory / 25)
MUST_MODIFY_REQUEST_EXPRS = False
NEGOTIATOR_USE_SLOT_WEIGHTS = True
NEGOTIATOR_MATCHLIST_CACHING = False
ENABLE_CLASSAD_CACHING = False
YYZ_LIMIT = 2
GROUP_NAMES = a, b, c
GROUP_QUOTA_a = 1
GROUP_QUOTA_b = 2
GROUP_QUOTA_c = 3
GROUP_ACCEPT_SURPLUS = False
GROUP_AUTOREGROUP = False
`, []scenario{{"quotas and a limit", quotasAndLimit}})
}

func quotasAndLimit(t *testing.T, pool *ourPool) {
	t.Helper()
	for _, more := range []string{"group = a", "group = b", "group = c\nconcurrency_limits = yyz"} {
		pool.Submit("alice", sleep(3600, 1, 5, "request_memory = 25", "accounting_"+more, estimate+"3600"))
	}
	pool.settles(t, "AcctGroup", map[string]int{"a": 1, "b": 2, "c": 2})
}
