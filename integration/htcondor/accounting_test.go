package htcondor_test

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestAccountingThereAndBack has usage grow and priorities set under HTCondor's own negotiator,
// then under ours, which takes them over, and under HTCondor's own again, which takes them back.
// condor_userprio shows each time what it showed before, but for how priorities age and what runs
// meanwhile.
func TestAccountingThereAndBack(t *testing.T) {
	t.Parallel()
	pool := pooltest.Start(t, "CPUS=4", "EXTRA=BACKFILL_DEFAULT_ESTIMATE = 60\nGROUP_NAMES = physics\n"+
		"GROUP_QUOTA_physics = 2\nGROUP_ACCEPT_SURPLUS = True\nPRIORITY_HALFLIFE = 1000")
	pool.Install(built(t, "../../negotiator/cmd/negotiator"))
	setup := func(how ...string) string {
		t.Helper()
		out := pool.As("root", append([]string{"negotiator", "setup"}, how...)...)
		t.Log(out)
		return out
	}

	pool.WaitDone(2*time.Minute, append(pool.Submit("alice", sleep(3, 2, 2)),
		pool.Submit("carol", sleep(3, 1, 1, "accounting_group = physics"))...)...)
	for _, set := range [][]string{
		{"-setfactor", "bob@pool.test", "77.25"},
		{"-setprio", "bob@pool.test", "33.5"},
		{"-setfloor", "bob@pool.test", "1"},
		{"-setceil", "alice@pool.test", "30"},
		{"-setaccum", "dave@pool.test", "123456.789"},
		{"-setbegin", "dave@pool.test", "1700000000"},
		{"-setlast", "dave@pool.test", "1700003600"},
	} {
		pool.As("root", append([]string{"condor_userprio"}, set...)...)
	}
	// What runs on while negotiators change goes on being charged.
	runs := pool.Submit("alice", sleep(240, 1, 1, "+EstimatedRunTime = 300"))
	pool.WaitStatus(pooltest.Running, time.Minute, runs...)
	charged := func() {
		t.Helper()
		before := accounts(pool)["alice@pool.test"].Used
		pool.Wait("usage of what runs", time.Minute, func() bool { return accounts(pool)["alice@pool.test"].Used > before })
	}
	charged()
	stock := accounts(pool)
	require.Subset(t, slices.Collect(maps.Keys(stock)),
		[]string{"alice@pool.test", "bob@pool.test", "dave@pool.test", "physics.carol@pool.test"})
	require.Positive(t, stock["physics.carol@pool.test"].Used)

	require.Contains(t, pool.As("root", "negotiator", "import-accounting", "--dry-run"),
		"would be imported: 4 submitters, 2 groups")
	out, err := pool.Try("root", "negotiator", "import-accounting", "--wait", "0s")
	require.Error(t, err)
	require.Contains(t, out+err.Error(), "still writes /var/spool/condor/Accountantnew.log: end it first")
	require.Contains(t, setup("--live", "--move-accounting"), "plans and matches (policy ")
	ours := accounts(pool)
	continues(t, stock, ours)
	out, err = pool.Try("root", "negotiator", "export-accounting", "--wait", "0s")
	require.Error(t, err)
	require.Contains(t, out+err.Error(), "our negotiator works with the state in /var/spool/condor/backfill: end it first")

	charged()
	pool.As("root", "condor_userprio", "-setfactor", "carol@pool.test", "5000")
	pool.WaitDone(time.Minute, pool.Submit("bob", sleep(2, 1, 1))...)
	ours = accounts(pool)
	require.Contains(t, setup("--back", "--move-accounting"), "HTCondor's own negotiator is at work: ")
	stock = accounts(pool)
	continues(t, ours, stock)
	require.InDelta(t, 5000, stock["carol@pool.test"].Factor, 0)
	require.NotContains(t, pool.Log("NegotiatorLog"), "FIXING", "its own check of who uses what finds nothing wrong")
	charged()

	// And once more there: nothing has been lost, so nobody needs --replace.
	setup("--live", "--move-accounting")
	continues(t, stock, accounts(pool))
	pool.As("alice", "condor_rm", runs[0].String())
	setup("--back", "--move-accounting")
}

// told is what condor_userprio tells of a user.
type told struct {
	Priority, Factor, Used, Weighted float64
	Begin, Last, Ceiling, Floor      float64
	at                               time.Time
}

// accounts returns what condor_userprio tells of all submitters.
func accounts(pool *pooltest.Pool) map[string]told {
	found := map[string]told{}
	pool.Wait("an answer", time.Minute, func() bool {
		out, err := pool.Try("root", "condor_userprio", "-allusers", "-af:t", "Name", "Priority", "PriorityFactor",
			"AccumulatedUsage", "WeightedAccumulatedUsage", "BeginUsageTime", "LastUsageTime", "Ceiling", "Floor")
		for line := range strings.Lines(out) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 9 || !strings.Contains(fields[0], "@") {
				continue
			}
			var v [8]float64
			for i := range v {
				v[i], _ = strconv.ParseFloat(fields[i+1], 64)
			}
			found[fields[0]] = told{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], time.Now()}
		}
		return err == nil && len(found) > 0
	})
	return found
}

// continues requires accounts to go on where they were: settings and dates are the same, usage has
// not shrunk, nor grown faster than what ran, and priorities have aged at most.
func continues(t *testing.T, former, present map[string]told) {
	t.Helper()
	for name, before := range former {
		after, there := present[name]
		require.True(t, there, name)
		passed := after.at.Sub(before.at).Seconds() + 30 // told is what was charged up to half a minute ago
		require.InDelta(t, before.Factor, after.Factor, 1e-5, name)
		require.InDelta(t, before.Begin, after.Begin, 0, name)
		require.InDelta(t, before.Ceiling, after.Ceiling, 0, name)
		require.InDelta(t, before.Floor, after.Floor, 0, name)
		busy := 0.0
		if name == "alice@pool.test" || name == "bob@pool.test" {
			busy = 4 // the whole slot, for a moment
		} else {
			require.InDelta(t, before.Last, after.Last, 0, name)
		}
		require.GreaterOrEqual(t, after.Used, before.Used-1e-3, name)
		require.LessOrEqual(t, after.Used, before.Used+busy*passed+1e-3, name)
		require.GreaterOrEqual(t, after.Weighted, before.Weighted-1e-3, name)
		require.LessOrEqual(t, after.Weighted, before.Weighted+busy*passed+1e-3, name)
		idle, slack := math.Exp2(-passed/1000), 1e-3*before.Factor
		require.GreaterOrEqual(t, after.Priority, before.Priority*idle-slack, name)
		require.LessOrEqual(t, after.Priority, before.Priority+busy*before.Factor*(1-idle)+slack, name)
	}
}
