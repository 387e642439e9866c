package htcondor_test

import (
	"testing"
	"time"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// weightKnobs have each of eight slots weigh two, and only half of them count for the size of the
// pool.
const weightKnobs = `
BACKFILL_POLICY = easy
UPDATE_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 0
SCHEDD_INTERVAL_TIMESLICE = 1
NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = SlotID <= 4
GROUP_NAMES = a, b
GROUP_QUOTA_a = 4
GROUP_QUOTA_DYNAMIC_b = 0.5
GROUP_ACCEPT_SURPLUS = False
`

// TestStagedWeights stages what HTCondor's manual says of slot weights, for which it has no test:
// quotas and ceilings are in the weight that startds tell, or the negotiator's own, if it is
// forced, or in slots.
func TestStagedWeights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		knobs   string
		a, b    int // how many of each group's jobs run
		ceiling int // of two jobs
	}{
		"the startds'": {"SLOT_WEIGHT = 2", 2, 1, 4},
		"forced": {
			"STARTD.SLOT_WEIGHT = 1\nNEGOTIATOR.SLOT_WEIGHT = Cpus * 2\nFORCE_NEGOTIATOR_SLOT_WEIGHT = True", 2, 1, 4,
		},
		"not heeded": {"SLOT_WEIGHT = 2\nNEGOTIATOR_USE_SLOT_WEIGHTS = False", 4, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, knobs := []string{"CPUS=8", "SLOTS=static"}, weightKnobs+c.knobs+"\n"
			scenarios := []scenario{
				{"quotas", weightedQuotas(c.a, c.b)}, {"ceiling", weightedCeiling(c.ceiling)},
			}
			if name == "forced" { // HTCondor 25 has it, and 23.9 not yet
				ours(t, settings, knobs).runAll(t, scenarios)
				return
			}
			bothRun(t, settings, knobs, scenarios)
		})
	}
}

// weightedQuotas returns a scenario in which both groups want more than their quotas.
func weightedQuotas(a, b int) func(*testing.T, *ourPool) {
	return func(t *testing.T, pool *ourPool) {
		t.Helper()
		want := map[string]int{"a.user": a}
		if b > 0 {
			want["b.user"] = b
		}
		pool.Submit("alice", sleep(3600, 1, 8, asUser("a"), estimate+"3600"))
		pool.Submit("alice", sleep(3600, 1, 8, asUser("b"), estimate+"3600"))
		pool.settles(t, "AccountingGroup", want)
	}
}

// weightedCeiling returns a scenario in which two jobs have all of a ceiling. No more come before
// slots report these: the stock negotiator would give too many.
func weightedCeiling(weight int) func(*testing.T, *ourPool) {
	return func(t *testing.T, pool *ourPool) {
		t.Helper()
		defer pool.userprio("-setceil", "alice", weight, -1)()
		pool.Submit("alice", sleep(600, 1, 2, estimate+"600"))
		pool.settles(t, "Owner", map[string]int{"alice": 2})
		pool.waitBusy(2)
		pool.Submit("alice", sleep(600, 1, 2, estimate+"600"))
		pool.settles(t, "Owner", map[string]int{"alice": 2})
	}
}

// TestStagedIgnoringPriorities stages NEGOTIATOR_IGNORE_USER_PRIORITIES: who has the best priority
// has all that he wants, where he would have three quarters otherwise.
func TestStagedIgnoringPriorities(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=8", "SLOTS=static"}, `
BACKFILL_POLICY = easy
NEGOTIATOR_IGNORE_USER_PRIORITIES = True
`, []scenario{{"the best has all", func(t *testing.T, pool *ourPool) {
		t.Helper()
		defer pool.userprio("-setfactor", "bob", 3000, 1000)()
		full := pool.Submit("carol", sleep(600, 1, 8, estimate+"600"))
		pool.WaitStatus(pooltest.Running, time.Minute, full...)
		pool.Submit("alice", sleep(600, 1, 8, estimate+"600")) // bob's first job has no promise before
		pool.Submit("bob", sleep(600, 1, 8, estimate+"600"))
		pool.moreCycles(1)
		pool.As("carol", "condor_rm", "carol")
		pool.settles(t, "Owner", map[string]int{"alice": 8})
	}}})
}
