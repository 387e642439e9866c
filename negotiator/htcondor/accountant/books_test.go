package accountant

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

// names makes this many names of submitters.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("invented%06d.eve@d", i)
	}
	return list
}

// each returns a map with the same value for each name.
func each[V any](list []string, v V) map[string]V {
	all := map[string]V{}
	for _, name := range list {
		all[name] = v
	}
	return all
}

// TestNamesThatOnlyWaitLeaveNothing checks that whoever invents accounting groups for jobs that
// never run makes no accounts.
func TestNamesThatOnlyWaitLeaveNothing(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.Update(at(0), nil))
	require.NoError(t, a.Divide(100, each(names(10_000), 1.0)))
	require.Len(t, a.ActiveAds(), 10_001, "while they wait they are told of")
	require.NoError(t, a.Update(at(60), nil))
	require.NoError(t, a.Divide(100, nil))
	require.Len(t, a.accounts, 1, "the group of all")
	require.Empty(t, a.active)
	require.Less(t, a.most, 10_000, "the map gives its room back")
	require.NoError(t, a.Update(at(120), nil))
	require.Empty(t, contents(t, a.file))
}

// TestIdleAccountsCostNothing checks that a cycle does not look at the accounts of those who
// neither use something nor wait, however many they are.
func TestIdleAccountsCostNothing(t *testing.T) {
	cycle := func(a *Accountant, now int64) {
		require.NoError(t, a.Update(at(now), map[string]Use{"alice@d": {1, 1}}))
		require.NoError(t, a.Divide(100, map[string]float64{"bob@d": 1}))
	}
	allocated := func(idle int) float64 {
		a := open(t, "")
		require.NoError(t, a.Update(at(0), each(names(idle), Use{1, 1})))
		cycle(a, 60)
		require.Len(t, a.active, 2)
		require.Len(t, a.accounts, idle+3)
		now := int64(60)
		return testing.AllocsPerRun(20, func() { now++; cycle(a, now) })
	}
	few := allocated(10)
	require.InDelta(t, few, allocated(5_000), few/4)
}

// TestThePastIsBounded checks that short jobs of invented names do not push out the past of those
// who have worked, in memory and in the file.
func TestThePastIsBounded(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.Update(at(0), map[string]Use{"alice@d": {1, 8}}))
	require.NoError(t, a.SetFactor("bob@d", 7))
	require.NoError(t, a.Update(at(3600), nil))
	all := names(mostPast + 2*mostPast/8)
	require.NoError(t, a.Update(at(3601), each(all, Use{1, 1})))
	require.NoError(t, a.Update(at(3602), nil))
	require.Less(t, len(a.accounts), mostPast+mostPast/8+4)
	for _, x := range []*Accountant{a, reopened(t, a)} {
		require.InDelta(t, 8*3600.0, x.accounts["alice@d"].Weighted, 1e-9)
		require.InDelta(t, 7.0, x.accounts["bob@d"].Factor, 1e-9)
	}
	require.Len(t, contents(t, a.file), len(a.accounts))
	require.NoError(t, a.Update(at(3603), map[string]Use{all[0]: {1, 1}}))
	require.Contains(t, a.accounts, all[0], "a forgotten one may come back")
	require.Contains(t, reopened(t, a).accounts, all[0])
}

// reopened opens the same file again.
func reopened(t *testing.T, a *Accountant) *Accountant {
	t.Helper()
	again, err := Open(a.file, DefaultSettings())
	require.NoError(t, err)
	return again
}

// TestAccountsEndWhenNothingIsLeftOfThem checks which accounts are kept after a long time.
func TestAccountsEndWhenNothingIsLeftOfThem(t *testing.T) {
	a := open(t, "GROUP_NAMES = g\nGROUP_QUOTA_g = 1")
	require.NoError(t, a.Update(at(0), nil))
	require.NoError(t, a.SetPriority("none@d", 7))
	require.NoError(t, a.SetFactor("factor@d", 7))
	require.NoError(t, a.SetCeiling("ceiling@d", 7))
	require.NoError(t, a.SetFloor("floor@d", 7))
	require.NoError(t, a.SetUsage("usage@d", 7))
	require.NoError(t, a.SetBegin("begin@d", 7))
	require.NoError(t, a.SetPriority("bad@d", 1e30))
	kept := []string{rootGroup, "bad@d", "begin@d", "ceiling@d", "factor@d", "floor@d", "g", "usage@d"}
	require.NoError(t, a.Update(at(3600), nil))
	require.Contains(t, a.accounts, "none@d", "it has a bad priority still")
	require.NoError(t, a.Update(at(10*86400), nil))
	again, err := Open(a.file, a.settings)
	require.NoError(t, err)
	for _, x := range []*Accountant{a, again} {
		require.ElementsMatch(t, kept, slices.Collect(maps.Keys(x.accounts)))
	}
	require.NotContains(t, contents(t, a.file), "none@d")
}

// TestAgeingLateIsAgeingAtOnce compares with priorities that are aged at each update.
func TestAgeingLateIsAgeingAtOnce(t *testing.T) {
	db := database(t)
	list := []string{"a@d", "b@d", "c@d", "g.d@d", "g", rootGroup}
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		a, err := Open(db, settings(t, "GROUP_NAMES = g\nGROUP_QUOTA_g = 1\nPRIORITY_HALFLIFE = 1000"))
		require.NoError(t, err)
		want, inUse, now := each(list, minPriority), map[string]float64{}, int64(0)
		require.NoError(t, a.Update(at(0), nil))
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			passed := rapid.Int64Range(0, 5000).Draw(t, "passed")
			now += passed
			use := map[string]Use{}
			for _, name := range list[:4] {
				if w := rapid.IntRange(-2, 3).Draw(t, name); w > 0 {
					use[name] = Use{1, float64(w)}
				}
			}
			switch rapid.IntRange(0, 4).Draw(t, "also") {
			case 0:
				a, err = Open(db, a.settings)
				require.NoError(t, err)
			case 1:
				require.NoError(t, a.SetPriority("c@d", 50))
				want["c@d"] = 50
			case 2:
				require.NoError(t, a.Divide(10, map[string]float64{"b@d": 1, "x@d": 1}))
			}
			beta := math.Exp2(-float64(passed) / 1000)
			for _, name := range list {
				want[name] = max(minPriority, want[name]*beta+inUse[name]*(1-beta))
			}
			require.NoError(t, a.Update(at(now), use))
			clear(inUse)
			for name, u := range use {
				inUse[name] = u.Weight
				group := rootGroup
				if name == "g.d@d" {
					group = "g"
				}
				inUse[group] += u.Weight
			}
			for _, name := range list {
				require.InEpsilon(t, want[name]*1000, a.Priority(name), 1e-9, name)
			}
		}
	})
}

// TestAnswersAreMadeOnce checks that all who ask share an answer until something changes, and that
// then the next one is told.
func TestAnswersAreMadeOnce(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.Update(at(0), map[string]Use{"alice@d": {1, 1}}))
	require.NoError(t, a.Divide(10, map[string]float64{"bob@d": 1}))
	for _, rollup := range []bool{false, true} {
		report := a.Report(rollup)
		require.Same(t, &report[0], &a.Report(rollup)[0])
	}
	accounts := a.Accounts()
	require.Same(t, accounts, a.Accounts())
	told := func() string { return string(a.Report(false)) + string(a.Report(true)) + fmt.Sprint(a.Ads()) }
	limits := NewLimits(knobs("SW_LIMIT = 3"))
	for name, change := range map[string]func() error{
		"factor": func() error { return a.SetFactor("alice@d", 7) }, "priority": func() error { return a.SetPriority("alice@d", 9) },
		"floor": func() error { return a.SetFloor("carol@d", 7) }, "reset": func() error { return a.ResetUsage(at(9), "alice@d") },
		"all":    func() error { return a.ResetAll(at(11)) },
		"delete": func() error { return a.Delete("alice@d") }, "update": func() error { return a.Update(at(77), nil) },
		"divide":    func() error { return a.Divide(50, nil) },
		"configure": func() error { return a.Configure(settings(t, "DEFAULT_PRIO_FACTOR = 5")) },
		"limits": func() error {
			wanted, err := ParseLimits("sw")
			run(a, limits, Candidate{Limits: wanted})
			return err
		},
	} {
		before := told()
		require.NoError(t, change())
		require.NotEqual(t, before, told(), name)
	}
}

// TestAskersBesideCycles asks for everything while cycles go on, for the race detector.
func TestAskersBesideCycles(t *testing.T) {
	a := open(t, "GROUP_NAMES = g, g.h\nGROUP_QUOTA_g = 5\nGROUP_QUOTA_g.h = 2\nGROUP_SORT_EXPR = GroupResourcesInUse")
	done := make(chan struct{})
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				a.Report(true)
				a.Report(false)
				a.ActiveAds()
				all := a.Accounts()
				all.At(all.Len() - 1)
			}
		})
	}
	limits := NewLimits(knobs("SW_LIMIT = 3"))
	wanted, err := ParseLimits("sw")
	require.NoError(t, err)
	for i := range int64(50) {
		require.NoError(t, a.Update(at(i), map[string]Use{"alice@d": {1, 1}, "g.h.bob@d": {1, float64(i)}}))
		require.NoError(t, a.Divide(10, map[string]float64{"g.carol@d": 1, fmt.Sprint("x", i, "@d"): 2}))
		run(a, limits, Candidate{Limits: wanted})
		require.NoError(t, a.SetFactor("alice@d", float64(i+1)))
		require.Contains(t, string(a.Report(false)), fmt.Sprintf("= %d.0\n", i+1), "who sets something sees it")
	}
	close(done)
	asking.Wait()
}

// TestReportsAreBounded checks whom a report leaves out if there are too many submitters.
func TestReportsAreBounded(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.Update(at(0), map[string]Use{"zoe@d": {1, 1}}))
	require.NoError(t, a.Update(at(60), map[string]Use{"yves@d": {1, 1}}))
	all := names(mostTold + 100)
	require.NoError(t, a.Divide(100, each(append(slices.Clone(all), "zoe@d"), 1.0)))
	report, err := classad.ParseOld(string(a.Report(false)))
	require.NoError(t, err)
	told, _ := report.Int("NumSubmittors")
	require.EqualValues(t, mostTold+1, told)
	further, _ := report.Int("SubmittorsLeftOut")
	require.EqualValues(t, 102, further)
	for i, name := range []string{"zoe@d", "yves@d"} {
		got, _ := report.Text(fmt.Sprint("Name", told-int64(i)))
		require.Equal(t, name, got)
	}
	require.Equal(t, mostTold+1, a.Accounts().Len())
}

// TestLongNamesCountByTheirLength checks that names which are as long as they may be are told in
// smaller numbers.
func TestLongNamesCountByTheirLength(t *testing.T) {
	a := open(t, "")
	long := names(mostTold)
	for i := range long {
		long[i] = strings.Repeat("x", LongestName-len(long[i])) + long[i]
	}
	require.NoError(t, a.Divide(100, each(long, 1.0)))
	report, err := classad.ParseOld(string(a.Report(false)))
	require.NoError(t, err)
	told, _ := report.Int("NumSubmittors")
	require.EqualValues(t, mostNames/LongestName+1, told, "and the group of all")
	further, _ := report.Int("SubmittorsLeftOut")
	require.EqualValues(t, mostTold-mostNames/LongestName, further)
}

// TestAnInventedGroupHasAFreshShare says what is so, as in HTCondor: whoever names an accounting
// group that is not configured begins with the best priority, whatever he has used.
func TestAnInventedGroupHasAFreshShare(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.Update(at(0), map[string]Use{"alice@d": {8, 8}}))
	require.NoError(t, a.Update(at(86400), nil))
	require.Greater(t, a.Priority("alice@d"), 4000.0)
	require.InDelta(t, 500.0, a.Priority("invented.alice@d"), 1e-9)
	require.NoError(t, a.Divide(10, map[string]float64{"alice@d": 10, "invented.alice@d": 10}))
	require.Less(t, a.accounts["alice@d"].share, 0.2)
	require.Greater(t, a.accounts["invented.alice@d"].share, 0.8)
}

// BenchmarkReport makes the report on as many submitters as are told of, and asks for it again.
func BenchmarkReport(b *testing.B) {
	a := open(b, "")
	require.NoError(b, a.Update(at(0), nil))
	require.NoError(b, a.Divide(100, each(names(200_000), 1.0)))
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			a.asked.outdate()
			a.Report(false)
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			a.Report(false)
		}
	})
}

// BenchmarkIdle is a cycle's accounting of a pool in which 200,000 submitters have waited once and
// 20,000 have worked.
func BenchmarkIdle(b *testing.B) {
	a := open(b, "")
	require.NoError(b, a.Update(at(0), each(names(mostPast), Use{1, 1})))
	require.NoError(b, a.Divide(100, each(names(200_000), 1.0)))
	now := int64(0)
	for b.Loop() {
		now++
		require.NoError(b, a.Update(at(now), nil))
		require.NoError(b, a.Divide(100, nil))
	}
}

// TestWithoutFile: an accounting that no file keeps says the same as one in a file.
func TestWithoutFile(t *testing.T) {
	db := database(t)
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		kept, err := Open(db, DefaultSettings())
		require.NoError(t, err)
		bare, err := New(DefaultSettings())
		require.NoError(t, err)
		now := int64(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now += rapid.Int64Range(0, 100_000).Draw(t, "passes")
			name := rapid.SampledFrom([]string{"alice@d", "bob@d", "g.carol@d"}).Draw(t, "name")
			weight := float64(rapid.IntRange(0, 64).Draw(t, "weight"))
			gone, factor := rapid.Bool().Draw(t, "delete"), rapid.Float64Range(1, 1e6).Draw(t, "factor")
			for _, a := range []*Accountant{kept, bare} {
				if gone {
					require.NoError(t, a.Delete(name))
				} else {
					require.NoError(t, a.SetFactor(name, factor))
				}
				require.NoError(t, a.Update(at(now), map[string]Use{name: {Slots: 1, Weight: weight}}))
			}
			for _, who := range []string{"alice@d", "bob@d", "g.carol@d"} {
				require.InDelta(t, kept.Priority(who), bare.Priority(who), 0, who)
			}
		}
	})
	_, err := New(Settings{})
	require.ErrorContains(t, err, "PRIORITY_HALFLIFE")
}
