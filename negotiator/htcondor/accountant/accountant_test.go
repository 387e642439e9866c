package accountant

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// at returns the instant that many seconds after the tests' start.
func at(seconds int64) time.Time { return time.Unix(1_795_311_976+seconds, 0) }

// knobs returns a lookup in a configuration text.
func knobs(text string) Lookup {
	known := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, "="); ok {
			known[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return func(name string) (string, bool) {
		value, ok := known[strings.ToLower(name)]
		return value, ok
	}
}

type fatal interface {
	require.TestingT
	Helper()
}

func settings(t fatal, text string) Settings {
	t.Helper()
	s, err := ParseSettings(knobs(text))
	require.NoError(t, err)
	s.NegotiatorName = "pool.test"
	return s
}

// database opens an empty database that does not wait for the disk.
func database(tb testing.TB) *statefile.File {
	tb.Helper()
	db, err := statefile.Open(filepath.Join(tb.TempDir(), "accounting"))
	require.NoError(tb, err)
	db.Unsynced()
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

func open(tb testing.TB, text string) *Accountant {
	tb.Helper()
	a, err := Open(database(tb), settings(tb, text))
	require.NoError(tb, err)
	return a
}

// empty empties a database for the next run of a property.
func empty(t fatal, db *statefile.File) {
	require.NoError(t, db.Update(func(tx *statefile.Tx) error { return tx.Drop(Bucket) }))
}

func TestPrioritiesAgeAsInHTCondor(t *testing.T) {
	a := open(t, "PRIORITY_HALFLIFE = 100")
	require.NoError(t, a.Update(at(0), map[string]Use{"alice@d": {Slots: 2, Weight: 8}}))
	require.InDelta(t, 500.0, a.Priority("alice@d"), 1e-9, "the use counts from now on")
	require.NoError(t, a.Update(at(100), map[string]Use{"alice@d": {Slots: 1, Weight: 4}}))
	require.InEpsilon(t, 1000*(0.5*0.5+8*0.5), a.Priority("alice@d"), 1e-12)
	require.NoError(t, a.Update(at(300), nil))
	require.InEpsilon(t, 1000*(4.25*0.25+4*0.75), a.Priority("alice@d"), 1e-12)
	ad := a.Ads()[1]
	expect(t, ad, map[string]float64{
		"AccumulatedUsage": 2*100 + 1*200, "WeightedAccumulatedUsage": 8*100 + 4*200,
		"BeginUsageTime": float64(at(100).Unix()), "LastUsageTime": float64(at(300).Unix()), "ResourcesUsed": 0,
		"WeightedResourcesUsed": 0,
	})
	require.NoError(t, a.Update(at(1e6), nil))
	require.InDelta(t, 500.0, a.Priority("alice@d"), 1e-9, "0.5 is the best")
}

func expect(t *testing.T, ad *classad.ClassAd, values map[string]float64) {
	t.Helper()
	for name, want := range values {
		got, ok := ad.Real(name)
		require.True(t, ok, name)
		require.InDelta(t, want, got, 1e-9*math.Abs(want), name)
	}
}

func TestManyShortUpdatesAreOneLong(t *testing.T) {
	db := database(t)
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		one, err := Open(db, DefaultSettings())
		require.NoError(t, err)
		empty(t, db)
		many, err := Open(db, DefaultSettings())
		require.NoError(t, err)
		use := map[string]Use{"alice@d": {Slots: 1, Weight: rapid.Float64Range(0, 1000).Draw(t, "weight")}}
		start := rapid.Float64Range(0, 2000).Draw(t, "priority")
		for _, a := range []*Accountant{one, many} {
			require.NoError(t, a.SetPriority("alice@d", start))
			require.NoError(t, a.Update(at(0), use))
		}
		now := int64(0)
		for _, step := range rapid.SliceOfN(rapid.Int64Range(0, 1_000_000), 1, 8).Draw(t, "steps") {
			now += step
			require.NoError(t, many.Update(at(now), use))
		}
		require.NoError(t, one.Update(at(now), use))
		require.InEpsilon(t, one.Priority("alice@d"), many.Priority("alice@d"), 1e-9)
		require.InDelta(t, one.accounts["alice@d"].Used, many.accounts["alice@d"].Used, 1e-9)
		require.InDelta(t, one.accounts["alice@d"].Weighted, many.accounts["alice@d"].Weighted, 1e-3)
	})
}

func TestTheClockMayJump(t *testing.T) {
	a := open(t, "")
	use := map[string]Use{"alice@d": {Slots: 4, Weight: 4}}
	require.NoError(t, a.Update(at(1000), use))
	require.NoError(t, a.Update(at(0), use))
	require.InDelta(t, 500.0, a.Priority("alice@d"), 1e-9)
	require.Zero(t, a.accounts["alice@d"].Weighted)
	require.NoError(t, a.Update(at(10), use))
	require.InDelta(t, 40.0, a.accounts["alice@d"].Weighted, 1e-9,
		"counted from the time that the clock was set back to")
	week := int64(7 * 86400)
	require.NoError(t, a.Update(at(10+week), use))
	require.InEpsilon(t, 4-3.5/128, a.accounts["alice@d"].Real, 1e-3, "seven half-lives on the way from 0.5 to 4")
	require.NoError(t, a.Update(time.Unix(-5, 0), use))
	require.NoError(t, a.Update(time.Unix(1<<40, 0), use))
	require.InEpsilon(t, 4, a.accounts["alice@d"].Real, 1e-9)
}

func TestNonsenseIsRefused(t *testing.T) {
	a := open(t, "GROUP_NAMES = g\nGROUP_QUOTA_g = 1")
	for _, use := range []map[string]Use{
		{"": {}},
		{"a b@d": {}},
		{"a@d": {Slots: -1}},
		{"a@d": {Weight: math.NaN()}},
		{"a@d": {Weight: math.Inf(1)}},
	} {
		require.Error(t, a.Update(at(0), use), use)
	}
	require.Error(t, a.Divide(math.NaN(), nil))
	require.Error(t, a.Divide(1, map[string]float64{"a@d": -1}))
	for name, err := range map[string]error{
		"factor": a.SetFactor("a@d", 0.5), "NaN": a.SetFactor("a@d", math.NaN()), "priority": a.SetPriority("a@d", -3),
		"usage": a.SetUsage("a@d", math.Inf(1)), "begin": a.SetBegin("a@d", -1), "last": a.SetLast("a@d", 1<<40),
		"ceiling": a.SetCeiling("a@d", -2), "floor": a.SetFloor("a@d", -1), "no group": a.SetFactor("h", 2),
		"blank": a.SetFactor("a @d", 2),
	} {
		require.Error(t, err, name)
	}
	require.NotContains(t, a.accounts, "a@d")
	require.NoError(t, a.SetFactor("g", 2))
	require.NoError(t, a.Delete("nobody@d"))
	_, err := Open(database(t), Settings{})
	require.ErrorContains(t, err, "PRIORITY_HALFLIFE")
}

func TestCommandsOfUserprio(t *testing.T) {
	db := database(t)
	a, err := Open(db, settings(t, "GROUP_NAMES = g\nGROUP_QUOTA_g = 1"))
	require.NoError(t, err)
	require.NoError(t, a.Update(at(0), map[string]Use{"bob@d": {Slots: 1, Weight: 2}}))
	require.NoError(t, a.Update(at(10), nil))
	require.NoError(t, a.SetPriority("a@d", 7))
	require.NoError(t, a.SetFactor("a@d", 3))
	require.InDelta(t, 21.0, a.Priority("a@d"), 1e-9)
	require.NoError(t, a.SetPriority("a@d", 0.1))
	require.InDelta(t, 1.5, a.Priority("a@d"), 1e-9)
	require.NoError(t, a.SetUsage("a@d", 99))
	require.NoError(t, a.SetBegin("a@d", 11))
	require.NoError(t, a.SetLast("a@d", 12))
	require.NoError(t, a.SetCeiling("a@d", 5))
	require.NoError(t, a.SetFloor("a@d", 4))
	want := map[string]float64{
		"Priority": 1.5, "PriorityFactor": 3, "AccumulatedUsage": 0, "WeightedAccumulatedUsage": 99,
		"BeginUsageTime": 11,
		"LastUsageTime":  12, "Ceiling": 5, "Floor": 4, "ResourcesUsed": 0, "LastUpdate": float64(at(10).Unix()),
	}
	expect(t, a.Ads()[2], want)
	a, err = Open(db, settings(t, ""))
	require.NoError(t, err)
	expect(t, a.Ads()[1], want) // g is no longer a group

	require.NoError(t, a.ResetUsage(at(20), "bob@d"))
	expect(t, a.Ads()[2], map[string]float64{
		"WeightedAccumulatedUsage": 0, "AccumulatedUsage": 0,
		"BeginUsageTime": float64(at(20).Unix()), "LastUsageTime": float64(at(10).Unix()),
	})
	require.NoError(t, a.ResetAll(at(30)))
	expect(t, a.Ads()[1], map[string]float64{
		"WeightedAccumulatedUsage": 0, "Priority": 1.5,
		"BeginUsageTime": float64(at(30).Unix()),
	})
	require.NoError(t, a.Delete("a@d"))
	require.NoError(t, a.Delete(rootGroup))
	a, err = Open(db, settings(t, ""))
	require.NoError(t, err)
	require.InDelta(t, 500.0, a.Priority("a@d"), 1e-9)
	require.Len(t, a.Ads(), 2)
}

func TestFactorsFollowFromNames(t *testing.T) {
	text := "GROUP_NAMES = g, g.h\nGROUP_QUOTA_g = 1\nGROUP_QUOTA_g.h = 1\nGROUP_PRIO_FACTOR_g.h = 7\n" +
		"ACCOUNTANT_LOCAL_DOMAIN = home\n"
	a := open(t, text)
	for name, factor := range map[string]float64{
		"a@home": 1000, "a@away": 1e7, "nice-user.a@home": 1e10, "G.H.a@away": 7, "g.a@home": 1000, "g.x.a@home": 1000,
		"g.a@away": 1e7,
	} {
		require.InDelta(t, factor/2, a.Priority(name), 1e-9, name)
	}
	require.NoError(t, a.Configure(settings(t, text+"DEFAULT_PRIO_FACTOR = 10")))
	require.InDelta(t, 5.0, a.Priority("a@home"), 1e-9, "what was not set follows the configuration")
}

// recorded is the output of condor_userprio -negotiator -long -legacy on a pool of 16 cpus with
// this configuration.
const recorded = `
GROUP_NAMES = physics, physics.cms, bio
GROUP_QUOTA_physics = 8
GROUP_QUOTA_DYNAMIC_bio = 0.25
GROUP_QUOTA_physics.cms = 4
GROUP_ACCEPT_SURPLUS_physics.cms = true
GROUP_PRIO_FACTOR_bio = 77`

// TestTheReportIsThatOfHTCondor replays the jobs of the recorded pool.
func TestTheReportIsThatOfHTCondor(t *testing.T) {
	for rollup, file := range map[bool]string{false: "priority.txt", true: "priority-rollup.txt"} {
		a := open(t, recorded)
		for now := int64(0); now <= 295; now += 5 { // the jobs were submitted twice
			use := map[string]Use{}
			for name, u := range map[string]struct {
				Use
				until, from int64
			}{
				"physics.cms.alice@pool.test": {Use{2, 4}, 35, 280}, "bio.alice@pool.test": {Use{1, 2}, 60, 290},
				"bob@pool.test": {Use{3, 3}, 30, 290},
			} {
				if now < u.until || now >= u.from {
					use[name] = u.Use
				}
			}
			require.NoError(t, a.Update(at(now), use))
		}
		limits := NewLimits(knobs("SW_A_LIMIT = 3"))
		require.NoError(t, a.Divide(16, map[string]float64{"physics.cms.alice@pool.test": 2, "bio.alice@pool.test": 2}))
		run(a, limits, Candidate{Limits: limited("SW_A:2")}, Candidate{Limits: limited("sw_a")})
		text, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		want, err := classad.ParseOld(string(text))
		require.NoError(t, err)
		got, err := classad.ParseOld(string(a.Report(rollup)))
		require.NoError(t, err)
		require.Equal(t, attributes(renumber(want)), attributes(got), file)
	}
}

// attributes returns the values of an ad, with reals rounded as condor_userprio prints them.
func attributes(ad *classad.ClassAd) map[string]string {
	values := map[string]string{}
	for name := range ad.All() {
		v := ad.Eval(name, nil)
		if n, ok := v.Number(); ok && v.Kind() == classad.Real {
			values[name] = fmt.Sprintf("%.5g", n)
		} else {
			values[name] = v.String()
		}
	}
	return values
}

// renumber sorts the submitters of a report as we do: HTCondor's report has no order.
func renumber(ad *classad.ClassAd) *classad.ClassAd {
	names, numbers := map[string]string{}, map[string]string{}
	for n := 5; n <= 7; n++ {
		name, _ := ad.Text(fmt.Sprintf("Name%d", n))
		names[name] = strconv.Itoa(n)
	}
	for i, name := range slices.Sorted(maps.Keys(names)) {
		numbers[names[name]] = strconv.Itoa(i + 5)
	}
	out := classad.New()
	for name, e := range ad.All() {
		stem := strings.TrimRight(name, "567")
		if n := numbers[name[len(stem):]]; n != "" {
			name = stem + n
		}
		out.Set(name, e)
	}
	return out
}

func TestAdsAreThoseOfHTCondor(t *testing.T) {
	a := open(t, recorded)
	require.NoError(t, a.Update(at(0), map[string]Use{"physics.cms.alice@pool.test": {2, 4}, "carol@d": {1, 1}}))
	require.NoError(t, a.Update(at(5), map[string]Use{"physics.cms.alice@pool.test": {2, 4}}))
	require.NoError(t, a.Divide(16, map[string]float64{"bob@pool.test": 0}))
	ads := a.ActiveAds()
	five := strconv.FormatInt(at(5).Unix(), 10)
	var names []string
	for _, ad := range ads {
		name, _ := ad.Text("Name")
		names = append(names, name)
	}
	require.Equal(t, []string{
		"<none>", "bio", "physics", "physics.cms", "bob@pool.test",
		"physics.cms.alice@pool.test",
	}, names)
	require.Len(t, a.Ads(), 7, "carol used something once")
	require.Equal(t, map[string]string{
		"AccountingGroup": `"physics"`, "AccumulatedUsage": "10", "BeginUsageTime": five, "ConfigQuota": "4",
		"EffectiveQuota": "4",
		"GroupSortKey":   "1", "IsAccountingGroup": "true", "LastUpdate": five, "LastUsageTime": five,
		"MyType": `"Accounting"`, "Name": `"physics.cms"`, "NegotiatorName": `"pool.test"`, "Priority": "500.14",
		"PriorityFactor": "1000",
		"Requested":      "4", "ResourcesUsed": "2", "SubtreeQuota": "4", "SurplusPolicy": `"byquota"`,
		"WeightedAccumulatedUsage": "20", "WeightedResourcesUsed": "4",
	}, attributes(ads[3]))
	require.Equal(t, map[string]string{
		"AccountingGroup": `"<none>"`, "AccumulatedUsage": "0", "BeginUsageTime": "0", "Ceiling": "-1", "Floor": "0",
		"IsAccountingGroup": "false",
		"LastUpdate":        five, "LastUsageTime": "0", "MyType": `"Accounting"`, "Name": `"bob@pool.test"`,
		"NegotiatorName": `"pool.test"`,
		"Priority":       "500", "PriorityFactor": "1000", "ResourcesUsed": "0", "SubmitterLimit": "6",
		"SubmitterShare":           "1",
		"WeightedAccumulatedUsage": "0", "WeightedResourcesUsed": "0",
	}, attributes(ads[4]))
}

// TestMain is also the process that TestKilledInTheMiddle kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("ACCOUNTANT_TEST_FILE"); path != "" {
		keepUpdating(path)
	}
	os.Exit(m.Run())
}

func keepUpdating(path string) {
	db, err := statefile.Open(path)
	if err != nil {
		panic(err)
	}
	a, err := Open(db, DefaultSettings())
	if err != nil {
		panic(err)
	}
	use := map[string]Use{}
	for i := range 100 {
		use[fmt.Sprintf("user%d@d", i)] = Use{1, 1}
	}
	for now := a.clock.Elapsed; ; now++ {
		if err := a.Update(at(now), use); err != nil {
			panic(err)
		}
		if _, err := fmt.Fprintln(os.Stdout, now); err != nil {
			panic(err)
		}
	}
}

func TestKilledInTheMiddle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounting")
	for round := range 5 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "ACCOUNTANT_TEST_FILE="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		var said int64
		for range 20 + 7*round {
			require.True(t, lines.Scan())
		}
		require.NoError(t, child.Process.Kill())
		for ok := true; ok; ok = lines.Scan() {
			_, err = fmt.Sscan(lines.Text(), &said)
			require.NoError(t, err)
		}
		require.Error(t, child.Wait(), "it was killed")

		db, err := statefile.Open(path)
		require.NoError(t, err)
		a, err := Open(db, DefaultSettings())
		require.NoError(t, err)
		require.GreaterOrEqual(t, a.clock.Elapsed, said, "what was said to be written is there")
		require.LessOrEqual(t, a.clock.Elapsed, said+1)
		for i := range 100 { // each update is there completely or not at all
			require.InDelta(t, float64(a.clock.Elapsed), a.accounts[fmt.Sprintf("user%d@d", i)].Weighted, 1e-9)
		}
		require.NoError(t, db.Close())
	}
}
