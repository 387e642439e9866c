package classad_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

const never = int64(math.MaxInt64)

// steadyAt evaluates the Requirements of a slot for a job at an instant, and says how long they hold.
func steadyAt(job, slot *classad.ClassAd, now int64) (met bool, s *classad.Steady) {
	s = classad.NewSteady()
	host := &classad.Host{Now: func() int64 { return now }, Steady: s, Random: func() float64 { return 0.25 }}
	return classad.Pair{Left: job, Right: slot, Host: host}.LeftMatchesRight(), s
}

func slotWith(t require.TestingT, requirements string) *classad.ClassAd {
	slot := classad.New()
	slot.SetInt("ToRetire", 5000)
	slot.SetInt("ToDie", 9000)
	slot.SetInt("Cpus", 8)
	require.NoError(t, slot.SetExpr("Left", "ToDie - time()"))
	require.NoError(t, slot.SetExpr("ClockMin", "(time() + 3600) % 86400 / 60"))
	require.NoError(t, slot.SetExpr("Start", requirements))
	require.NoError(t, slot.SetExpr("Requirements", "START"))
	return slot
}

// Where the clock ends in a comparison, the instant at which that turns out differently is exact, or that
// at which both sides are equal, a second before.
func TestSteadyUntil(t *testing.T) {
	const now = 1000
	job := classad.New()
	job.SetInt("Length", 1500)
	job.SetInt("QDate", 900)
	for requirements, want := range map[string]struct {
		met   bool
		until int64
	}{
		`true`:                                      {true, never},
		`Cpus > 9 && time() < ToRetire`:             {false, never},
		`time() < 5000`:                             {true, 5000},
		`CurrentTime < ToRetire`:                    {true, 5000},
		`ToRetire > CurrentTime`:                    {true, 5000},
		`time() <= ToRetire`:                        {true, 5000},
		`time() > ToRetire`:                         {false, 5000},
		`time() > 900`:                              {true, never},
		`ToRetire - CurrentTime > TARGET.Length`:    {true, 3500},
		`ToRetire - CurrentTime >= TARGET.Length`:   {true, 3500},
		`Left > TARGET.Length * 2`:                  {true, 6000},
		`time() - TARGET.QDate > 200`:               {false, 1100},
		`time() + TARGET.Length < ToRetire`:         {true, 3500},
		`time() < 5000.5`:                           {true, 5001},
		`time() < 1e300`:                            {true, never},
		`-time() > -5000`:                           {true, 5000},
		`5 * time() < 25000`:                        {true, 5000},
		`2 * time() + 1 == 5001`:                    {false, 2500},
		`time() / 3600 >= 2`:                        {false, 7200},
		`(time() % 86400) / 3600 >= 20`:             {false, 72000},
		`time() / 3600 % 24 >= 20`:                  {false, 72000},
		`ClockMin >= 480 && ClockMin < 1020`:        {false, 25200},
		`(ToDie - time()) / 1000 > 3`:               {true, 5001},
		`(ToDie - time()) / 1000 >= 0`:              {true, 8001},
		`time() / -10 < -200`:                       {false, 2000},
		`time() =?= 5000`:                           {false, 5000},
		`time() =!= undefined`:                      {true, never},
		`time() > Missing`:                          {false, never},
		`time() > "never"`:                          {false, 1001},
		`(time() < 5000) ? true : false`:            {true, 5000},
		`ifThenElse(time() < 5000, true, false)`:    {true, 5000},
		`(isUndefined(No) || time() < No)`:          {true, never},
		`(No ?: ToRetire) > time()`:                 {true, 5000},
		`formatTime(time(), "%H") == "00"`:          {true, 1001},
		`time() / 3600.0 < 2`:                       {true, 1001},
		`TARGET.Length < 2000 && time() < ToRetire`: {true, 5000},
		`time() / -1 + 1010 > 0`:                    {true, 1010},
		`(time() % 100) / -1 + 20 > 0`:              {true, 1020},
		`random() < 0.5`:                            {true, never},
	} {
		met, s := steadyAt(job, slotWith(t, requirements), now)
		require.Equal(t, want.met, met, requirements)
		require.Equal(t, want.until, s.Until, requirements)
		require.Equal(t, requirements == `random() < 0.5`, s.Drawn, requirements)
		plain := classad.Pair{
			Left: job, Right: slotWith(t, requirements),
			Host: &classad.Host{Now: func() int64 { return now }, Random: func() float64 { return 0.25 }},
		}
		require.Equal(t, met, plain.LeftMatchesRight(), requirements)
	}
}

// clocked generates expressions in which the clock occurs, with whole numbers, reals and truth values.
func clocked(t *rapid.T, depth int) string {
	if depth == 0 || rapid.IntRange(0, 5).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom([]string{
			"time()", "CurrentTime", "Left", "ClockMin", "ToRetire", "Cpus", "TARGET.Length", "0", "1", "7", "60", "-3", "-1",
			"1000", "1037", "2.5", "true", "undefined", `"text"`, "{ time(), 3 }[0]", "1000000", "Missing",
		}).Draw(t, "leaf")
	}
	x, y := clocked(t, depth-1), clocked(t, depth-1)
	switch op := rapid.SampledFrom([]string{
		"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "=?=", "=!=", "&&", "||", "?", "?:", "neg", "not", "if", "max", "str",
	}).Draw(t, "op"); op {
	case "?":
		return fmt.Sprintf("(%s ? %s : %s)", x, y, clocked(t, depth-1))
	case "neg":
		return fmt.Sprintf("(-%s)", x)
	case "not":
		return fmt.Sprintf("(!%s)", x)
	case "if":
		return fmt.Sprintf("ifThenElse(%s, %s, %s)", x, y, clocked(t, depth-1))
	case "max":
		return fmt.Sprintf("max({ %s, %s })", x, y)
	case "str":
		return fmt.Sprintf("size(string(%s))", x)
	default:
		return fmt.Sprintf("(%s %s %s)", x, op, y)
	}
}

// Whatever the expression, its value is the same at every instant before Until.
func TestSteadyHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := clocked(t, rapid.IntRange(1, 4).Draw(t, "depth"))
		e, err := classad.ParseExpr(text)
		require.NoError(t, err)
		job, slot := classad.New(), slotWith(t, "true")
		job.SetInt("Length", 1500)
		now := rapid.Int64Range(0, 10_000).Draw(t, "now")
		steady := classad.NewSteady()
		at := func(instant int64, s *classad.Steady) string {
			host := &classad.Host{Now: func() int64 { return instant }, Steady: s}
			// A value that is itself a moving number is used in a way that is not followed.
			return classad.MustParseExpr("(" + e.String() + ") =?= 3 || (" + e.String() + ") > 2").Eval(
				classad.Scope{My: slot, Target: job, Host: host}).String()
		}
		first := at(now, steady)
		require.Equal(t, first, at(now, nil), text)
		require.Greater(t, steady.Until, now, text)
		last := min(steady.Until, now+100_000)
		near := func(s int64) bool { return s < now+100 || s > last-100 || s%61 == 0 && s < now+3000 }
		for s := now; s < last; s++ {
			if !near(s) {
				continue
			}
			require.Equal(t, first, at(s, nil), "%s at %d, now %d, until %d", text, s, now, steady.Until)
		}
	})
}

func BenchmarkSteady(b *testing.B) {
	slot := slotWith(b, `Cpus >= 1 && (CurrentTime < ToRetire || TARGET.Length =?= "Long") && ToRetire - time() > TARGET.Length`)
	job := classad.New()
	job.SetInt("Length", 1500)
	for _, steady := range []bool{false, true} {
		b.Run(strconv.FormatBool(steady), func(b *testing.B) {
			host := &classad.Host{Now: func() int64 { return 1000 }}
			if steady {
				host.Steady = classad.NewSteady()
			}
			for b.Loop() {
				classad.Pair{Left: job, Right: slot, Host: host}.LeftMatchesRight()
			}
		})
	}
}
