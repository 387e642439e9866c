package classad_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Every line of the file states a fact about a function.
func TestFunctionFacts(t *testing.T) {
	facts, err := os.ReadFile("testdata/functions.txt")
	require.NoError(t, err)
	known := 0
	for line := range strings.Lines(string(facts)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, want, ok := strings.Cut(strings.ReplaceAll(line, " !> ", " => "), " => ")
		require.True(t, ok, line)
		known++
		got := "malformed"
		if e, err := classad.ParseExpr(text); err == nil {
			got = e.Eval(classad.Scope{Host: &classad.Host{Random: func() float64 { return 0.5 }}}).String()
		}
		require.Equal(t, want, got, text)
	}
	require.Greater(t, known, 300)
}

func evalIn(t *testing.T, s classad.Scope, text string) string {
	t.Helper()
	e, err := classad.ParseExpr(text)
	require.NoError(t, err)
	return e.Eval(s).String()
}

// Functions that depend on the clock and the time zone ask the scope.
func TestTimesInScope(t *testing.T) {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		zone = time.FixedZone("CST", -6*3600)
	}
	s := classad.Scope{Host: &classad.Host{Now: func() int64 { return 1577934245 }, Zone: zone}}
	for text, want := range map[string]string{
		`absTime()`:           `absTime("2020-01-01T21:04:05-06:00")`,
		`currentTime()`:       `absTime("2020-01-01T21:04:05-06:00")`,
		`dayTime()`:           `relTime("21:04:05")`,
		`timezoneOffset()`:    `relTime("-06:00:00")`,
		`absTime(1577934245)`: `absTime("2020-01-01T21:04:05-06:00")`,
		`getDayOfMonth(absTime("2020-01-02T03:04:05Z"))`: `1`,
		`getHours(absTime("2020-01-02T03:04:05Z"))`:      `21`,
		`formatTime()`:                                       `"Wed Jan  1 21:04:05 2020"`,
		`formatTime(0, "%F %T")`:                             `"1969-12-31 18:00:00"`,
		`formatTime(absTime(0, 0), "%F %T")`:                 `"1970-01-01 00:00:00"`,
		`splitTime(0).Offset`:                                `-21600`,
		`isUndefined(dayTime()) || isUndefined(time())`:      `false`,
		`evalInEachContext(dayTime() + a, { [ a = x ] })`:    `{ undefined }`,
		`{ currentTime() }[0] - absTime(1577934240, 0) `:     `relTime("05")`,
		`absTime("2020-01-01T00:00:00") == absTime("2020Z")`: `false`,
	} {
		require.Equal(t, want, evalIn(t, s, text), text)
	}
	for _, text := range []string{"absTime()", "currentTime()", "dayTime()", "timezoneOffset()", "formatTime()"} {
		require.Equal(t, "undefined", evalIn(t, classad.Scope{}, text), text)
	}
	require.Equal(t, `absTime("1970-01-01T00:00:00-00:00")`, evalIn(t, classad.Scope{}, "absTime(0)"))
}

func TestRandomInScope(t *testing.T) {
	for text, want := range map[string]string{
		"random()": "undefined", "random(5)": "undefined", "random(-1)": "error", `isError(random(0))`: "error",
		`random("x")`: "error",
	} {
		require.Equal(t, want, evalIn(t, classad.Scope{}, text), text)
	}
	for _, c := range []struct {
		random     float64
		text, want string
	}{
		{0, "random(6)", "0"},
		{0.999, "random(6)", "5"},
		{1, "random(6)", "5"}, // a source that breaks its promise
		{-1, "random(6)", "0"},
		{0.25, "random()", "2.500000000000000E-01"},
		{0.25, "random(8.0)", "2.000000000000000E+00"},
		{0.5, "random(4294967298)", "1"}, // the limit is truncated to 32 bits
	} {
		require.Equal(t, c.want, evalIn(t,
			classad.Scope{Host: &classad.Host{Random: func() float64 { return c.random }}}, c.text), c.text)
	}
}

func TestUsersInScope(t *testing.T) {
	s := classad.Scope{Host: &classad.Host{
		UserMap: func(mapName, user string, _ *int) (string, bool) {
			if mapName == "groups" && user == "ann" {
				return "physics, Chemistry ,,", true
			}
			return "", mapName == "groups" && user == "bob"
		},
		UserHome: func(user string) (string, bool) { return "/home/" + user, user == "ann" },
	}}

	for text, want := range map[string]string{
		`userMap("groups", "ann")`:                        `{ "physics","Chemistry" }`,
		`userMap("groups", "ann", "chemistry")`:           `"Chemistry"`,
		`userMap("groups", "ann", "art")`:                 `"physics"`,
		`userMap("groups", "ann", undefined, "none")`:     `"physics"`,
		`userMap("groups", "ann", error)`:                 `"physics"`,
		`userMap("groups", "bob")`:                        `{  }`,
		`userMap("groups", "bob", "art")`:                 `undefined`,
		`userMap("groups", "bob", "art", 5)`:              `5`,
		`userMap("groups", "eve", "art", "none")`:         `"none"`,
		`userMap("groups", "eve", "art", error)`:          `error`,
		`userMap("other", "ann")`:                         `undefined`,
		`userHome("ann")`:                                 `"/home/ann"`,
		`userHome("ann", "/tmp")`:                         `"/home/ann"`,
		`userHome("bob", "/tmp")`:                         `"/tmp"`,
		`userHome("bob")`:                                 `undefined`,
		`userHome(undefined, "/tmp")`:                     `"/tmp"`,
		`userHome(5)`:                                     `error`,
		`strcat(userHome("ann"), userMap("x", "y")) is 1`: `false`,
	} {
		require.Equal(t, want, evalIn(t, s, text), text)
	}
	takes := 100
	s.MaxSteps, s.Meter = 1000, new(classad.Meter)
	s.Host.UserMap = func(_, _ string, budget *int) (string, bool) {
		*budget -= takes
		return "", false
	}
	require.Equal(t, `"none"`, evalIn(t, s, `userMap("m", "ann", "x", "none")`))
	require.Greater(t, s.Meter.Steps(), int64(takes))
	takes = 2000
	require.Equal(t, `error`, evalIn(t, s, `userMap("m", "ann", "x", "none")`), "the search takes too long")
}

func TestDebugWritesLines(t *testing.T) {
	var lines []string
	s := classad.Scope{Host: &classad.Host{Debug: func(line string) { lines = append(lines, line) }}}
	require.Equal(t, "3", evalIn(t, s, `debug(1 + 1) + debug(x ?: 1)`))
	require.Equal(t, []string{"Classad debug: 1 + 1 --> 2", "Classad debug: x ?: 1 --> 1"}, lines)
}

// References that are not found depend on the other ad; circular ones and wrong scopes are ignored.
func TestUnresolved(t *testing.T) {
	my, err := classad.Parse(`[ a = to + MY.b; b = TARGET.t1 + other.t2 + zz; c = d; d = c; e = (1 / 0).x;
		f = { x, y.z, [ w = v; u = w ] }; g = ad; ad = [ m = n; p = a ]; h = Target.AbC; i = foo('a b') ]`)
	require.NoError(t, err)
	target, err := classad.Parse(`[ t1 = tx; to = 1 ]`)
	require.NoError(t, err)
	for _, c := range []struct{ text, alone, matched string }{
		{"unresolved(a)", `"other.t2,t1,to,zz"`, `"t2,to,tx,zz"`},
		{"unresolved(c)", `""`, `""`},
		{"unresolved(e)", `""`, `""`},
		{"unresolved(f)", `"v,w,x,y.z"`, `"v,w,x,y.z"`},
		{"unresolved(g)", `"n,other.t2,t1,to,zz"`, `"n,t2,to,tx,zz"`},
		{"unresolved(h)", `"AbC"`, `"AbC"`},
		{"unresolved(i)", `"a b"`, `"a b"`},
		{"unresolved(to)", `undefined`, `""`},
		{"unresolved(TARGET.t1)", `undefined`, `"tx"`},
		{`unresolved(a, "^T")`, `true`, `true`},
		{`unresolved(a, "^$")`, `false`, `false`},
		{`unresolved(nothing, "(")`, `undefined`, `undefined`},
		{`unparse(to)`, `""`, `""`},
	} {
		require.Equal(t, c.alone, evalIn(t, classad.Scope{My: my}, c.text), c.text)
		require.Equal(t, c.matched, evalIn(t, classad.Scope{My: my, Target: target}, c.text), c.text)
	}
}

// No argument makes a function take long or much memory; the test's time limit checks it.
func TestFunctionsOnHostileArguments(t *testing.T) {
	long := strings.Repeat("a, ", 1<<18)
	deep := strings.Repeat("{ 1, ", 900) + "1" + strings.Repeat("}", 900)
	ad := classad.New()
	ad.SetString("long", long)
	ad.SetString("quotes", strings.Repeat("' ", 1<<18))
	require.NoError(t, ad.SetExpr("deep", deep))
	require.NoError(t, ad.SetExpr("wide", "{ "+strings.Repeat("1, ", 100_000)+"1 }"))
	require.NoError(t, ad.SetExpr("deepWide",
		strings.Repeat("{ ", 900)+strings.Repeat("1, ", 100_000)+"1"+strings.Repeat("}", 900)))
	require.NoError(t, ad.SetExpr("r0", "0"))
	for _, step := range []string{"r1=r0", "r2=r1", "r3=r2", "r4=r3", "r5=r4", "r6=r5", "r7=r6", "r8=r7", "r9=r8"} {
		name, before, _ := strings.Cut(step, "=")
		require.NoError(t, ad.SetExpr(name, "{"+strings.Repeat(before+",", 9)+before+"}"))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, text := range []string{
		`replaceAll("a", long, long)`, `regexps("(.*)", long, "\\1\\1\\1\\1", "f")`, `replaceAll("", long, long)`,
		`stringListSubsetMatch(long, long)`, `stringListsIntersect(long, "b")`, `stringListSum(long)`,
		`stringList_regexpMember("(a*)*b", long)`, `argsToList(quotes)`, `argsToList(long)`, `listToArgs(split(long))`,
		`envV1ToV2(long)`, `mergeEnvironment(long, long)`, `formatTime(0, long)`, `formatTime(0, "%999999999999c")`,
		`unparse(deep)`, `unparse(wide)`, `unparse(deepWide)`, `unresolved(r9)`, `unresolved(deepWide)`,
		`interval(-9223372036854775808)`,
		`absTime(9223372036854775807, 0)`, `absTime(real("NaN"), real("INF"))`,
		`absTime(real("-INF"), 0) - relTime(real("-INF"))`,
		`string(relTime(real("NaN")))`, `splitTime(relTime(real("INF")))`, `splitTime(relTime(real("NaN")))`,
		`formatTime([ Year = -9223372036854775808; Month = 9223372036854775807; Day = -1; Hours = 99999999999 ` +
			`], "%c %G %V %s")`,
		`getYear(absTime(9223372036854775807, 0))`, `random(9223372036854775807)`, `regexps("a", long, long, "g")`,
		`absTime(0, 0) + relTime(1e300) * 1e300`, `userMap(long, long, long, long)`,
	} {
		evalIn(t, classad.Scope{My: ad, Host: &classad.Host{Random: func() float64 { return 0.5 }}}, text)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<30))
}
