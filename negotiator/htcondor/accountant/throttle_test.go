package accountant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLimitsOfJobs(t *testing.T) {
	for text, want := range map[string][]Limit{
		"":                           nil,
		"sw_a:2,sw_b":                {{"sw_a", 2}, {"sw_b", 1}},
		" SW_A:1.5 \t lic.Matlab ":   {{"sw_a", 1.5}, {"lic.matlab", 1}},
		"a:0,b:-3,c:x,d:,e:2x,f:1e1": {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 2}, {"f", 10}},
		"a,A:2":                      {{"a", 3}},
		"3x, x-y, a.b.c, .b, a., :2": nil,
		"a:nan,b:inf,c:1e999":        {{"a", 1}, {"b", 1e30}, {"c", 1e30}},
	} {
		got, err := ParseLimits(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// limited reads limits that are in order.
func limited(text string) []Limit {
	limits, err := ParseLimits(text)
	if err != nil {
		panic(err)
	}
	return limits
}

// numbered returns a list of so many names.
func numbered(n int, name string) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, name+",", i)
	}
	return list.String()
}

// TestTooManyLimits reads no more of a job's limits than it may name.
func TestTooManyLimits(t *testing.T) {
	for text, want := range map[string]struct {
		limits int
		err    string
	}{
		numbered(50, "a%d"):                            {50, ""},
		numbered(51, "a%d"):                            {50, "its ConcurrencyLimits name more than 50 limits: name fewer"},
		numbered(2000, "a"+strings.Repeat("%[1]d", 3)): {50, "its ConcurrencyLimits name more than 50 limits: name fewer"},
		strings.Repeat("a,", 4096):                     {1, ""},
		strings.Repeat("a,", 200_000):                  {1, "its ConcurrencyLimits have more than 8192 bytes: name fewer limits"},
		"b, " + strings.Repeat("\x1b", 500) + ",c": {1, `one of its ConcurrencyLimits has more than 200 bytes, "` +
			strings.Repeat(`\x1b`, 20) + `"…: give it a shorter name`},
		strings.Repeat("a", 300_000): {0, `one of its ConcurrencyLimits has more than 200 bytes, "aaaaaaaaaaaaaaaaaaaa"…: give it a shorter name`},
	} {
		limits, err := ParseLimits(text)
		require.Len(t, limits, want.limits, "%.50q", text)
		if want.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want.err)
		}
	}
}

// TestInventedLimits has users name limits that nobody has heard of: what that takes is bounded,
// for each user and for all, and an honest user is not kept out.
func TestInventedLimits(t *testing.T) {
	asked := 0
	limits := NewLimits(func(string) (string, bool) {
		asked++
		return "", false
	})
	a := open(t, "")
	job := func(user string, text string) Candidate {
		return Candidate{Submitter: user, User: user, Weight: 1, Limits: limited(text)}
	}
	admit := func(waiting, admitted []Candidate) (in int, last Verdict) {
		asked = 0
		for _, last = range a.Admit(limits, nil, Asking{Jobs: waiting, Kept: admitted}) {
			if last.Admitted {
				in++
			}
		}
		return in, last
	}
	var eves, all []Candidate
	for i := range 2000 {
		eves = append(eves, job("eve@d", numbered(50, fmt.Sprintf("invented_%d_%%d", i))))
		all = append(all, job(fmt.Sprintf("eve%d@d", i%200), numbered(50, fmt.Sprintf("other_%d_%%d", i))))
	}
	const most = mostLookups / (newName + 1) // names
	in, last := admit(append(slices.Clip(eves), job("bob@d", "sw")), nil)
	require.Less(t, asked, 3*most/4)
	require.True(t, last.Admitted, "bob's job")
	require.InDelta(t, most/4/50, in, 5)
	_, last = admit(eves, nil)
	require.Equal(t, "the jobs of eve@d name too many different concurrency limits", last.Reason)
	require.Less(t, asked, 3*most/4)
	_, last = admit(append(slices.Clip(all), job("bob@d", "sw")), nil)
	require.True(t, last.Admitted)
	require.Less(t, asked, 3*most)
	require.LessOrEqual(t, len(limits.known), mostKnown)

	in, _ = admit(eves[500:], eves[:500]) // those that are kept count
	require.Zero(t, in)
	alike := make([]Candidate, 100_000)
	for i := range alike {
		alike[i] = eves[0]
	}
	in, _ = admit(alike, nil)
	require.Equal(t, len(alike), in, "jobs that are alike look limits up once")
	require.LessOrEqual(t, asked, 3*50)
}

func FuzzLimits(f *testing.F) {
	f.Add("sw_a:2,sw_b", "SW_A_LIMIT = 3")
	f.Add("a.b:1e400 a:1_0", "CONCURRENCY_LIMIT_DEFAULT_A = x")
	f.Fuzz(func(t *testing.T, text, config string) {
		limits := NewLimits(knobs(config))
		limited, _ := ParseLimits(text)
		for _, l := range limited {
			require.Equal(t, strings.ToLower(l.Name), l.Name)
			require.Greater(t, l.Wanted, 0.0)
			_, err := limits.Max(l.Name)
			again, errAgain := limits.Max(strings.ToUpper(l.Name))
			require.Equal(t, err, errAgain)
			require.False(t, math.IsNaN(again))
		}
	})
}

func TestLimitsOfThePool(t *testing.T) {
	l := NewLimits(knobs("SW_A_LIMIT = 2 * 5\nCONCURRENCY_LIMIT_DEFAULT = 7\nCONCURRENCY_LIMIT_DEFAULT_lic = 3\n" +
		"lic.x_LIMIT = 1.5\nBAD_LIMIT = many"))
	for name, want := range map[string]float64{
		"sw_a": 10, "SW_A": 10, "other": 7, "lic.y": 3,
		"lic.x": 1.5, "no.y": 7,
	} {
		got, err := l.Max(name)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-9, name)
	}
	_, err := l.Max("bad")
	require.EqualError(t, err, "limit bad: configuration: bad_LIMIT = many: must be a number from -1e+30 to 1e+30")
	got, err := NewLimits(knobs("")).Max("x")
	require.NoError(t, err)
	require.InDelta(t, 2308032.0, got, 1e-9)
}

func TestAdmission(t *testing.T) {
	a := open(t, "GROUP_NAMES = g, g.h, i, r\nGROUP_QUOTA_g = 4\nGROUP_QUOTA_g.h = 2\n"+
		"GROUP_ACCEPT_SURPLUS_g.h = true\nGROUP_QUOTA_i = 1\nGROUP_ACCEPT_SURPLUS_i = true\nGROUP_QUOTA_r = 1\n"+
		"GROUP_AUTOREGROUP_r = true")
	require.NoError(t, a.SetCeiling("low@d", 5))
	require.NoError(t, a.Divide(20, nil))
	limits := NewLimits(knobs("SW_A_LIMIT = 10\nBAD_LIMIT = x\nF_LIMIT=0.3"))
	job := func(submitter string, weight float64, text string) Candidate {
		return Candidate{Submitter: submitter, Weight: weight, Limits: limited(text)}
	}
	never := Verdict{Never: true}
	for name, c := range map[string]struct {
		running, admitted, waiting []Candidate
		want                       []string
	}{
		"full": {
			running: []Candidate{job("u@d", 1, "sw_a:9")}, admitted: []Candidate{job("u@d", 1, "sw_a")},
			waiting: []Candidate{job("u@d", 1, "SW_A:2"), job("u@d", 1, "")},
			want:    []string{"9 of 10 in use, 1 held for job -1, 2 wanted: concurrency limit sw_a reached", ""},
		},
		"small ones pass": {
			running: []Candidate{job("u@d", 1, "sw_a:8")},
			waiting: []Candidate{job("u@d", 1, "sw_a:3,sw_b"), job("u@d", 1, "sw_a"), job("u@d", 1, "sw_b")},
			want: []string{
				"8 of 10 in use, 1 held for job 1, 3 wanted: concurrency limit sw_a reached",
				"", "",
			},
		},
		"never": {
			waiting: []Candidate{
				job("u@d", 1, "sw_a:11"), job("u@d", 1, "sw_a:10"), job("u@d", 1, "bad"),
				job("low@d", 6, ""),
			},
			want: []string{
				"!can never start under concurrency limit sw_a: 11 wanted of 10", "",
				"!limit bad: configuration: bad_LIMIT = x: must be a number from -1e+30 to 1e+30",
				"!can never start under ceiling of low@d: 6 wanted of 5",
			},
		},
		"fractions": {
			waiting: []Candidate{
				job("u@d", 1, "f:0.1"), job("u@d", 1, "f:0.1"), job("u@d", 1, "f:0.1"),
				job("u@d", 1, "f:0.1"),
			},
			want: []string{"", "", "", "0 of 0.3 in use, 0.3 held for job 0, and 2 more, 0.1 wanted: concurrency limit f reached"},
		},
		"ceiling": {
			running: []Candidate{job("low@d", 3, "")},
			waiting: []Candidate{job("low@d", 3, ""), job("high@d", 30, "")},
			want:    []string{"3 of 5 in use, 3 wanted: ceiling of low@d reached", ""},
		},
		"quotas": {
			running: []Candidate{job("g.h.u@d", 3, "")},
			waiting: []Candidate{
				job("i.u@d", 7, ""), job("r.u@d", 7, ""), job("g.u@d", 1, ""), job("g.h.u@d", 1, ""),
				job("g.x@d", 5, ""),
			},
			want: []string{
				"", "", "", "3 of 4 in use, 1 held for job 2, 1 wanted: quota of group g reached",
				"!can never start under quota of group g: 5 wanted of 4",
			},
		},
	} {
		for i, v := range a.Admit(limits, c.running, Asking{Jobs: c.waiting, Kept: c.admitted, Name: func(i int) string { return fmt.Sprint("job ", i) }}) {
			want := Verdict{Reason: c.want[i], Admitted: c.want[i] == ""}
			if text, ok := strings.CutPrefix(c.want[i], "!"); ok {
				want = never
				want.Reason = text
			}
			require.Equal(t, want, v, "%s %d", name, i)
		}
	}
}

// counted puts jobs that are alike and come one after the other together.
func counted(jobs []Candidate) (all []Candidate) {
	for _, c := range jobs {
		if last := len(all) - 1; last >= 0 && alike(all[last], c) {
			all[last].Count++
			continue
		}
		c.Count = 1
		all = append(all, c)
	}
	return all
}

func alike(a, b Candidate) bool {
	return a.Submitter == b.Submitter && a.Weight == b.Weight && slices.Equal(a.Limits, b.Limits)
}

// TestNoLimitIsExceededAndNobodyWaitsForNothing lets jobs arrive, start and end at random.
func TestNoLimitIsExceededAndNobodyWaitsForNothing(t *testing.T) {
	db := database(t)
	limits := NewLimits(knobs("A_LIMIT = 4\nB_LIMIT = 6"))
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		acct, err := Open(db, settings(t, someGroups))
		require.NoError(t, err)
		require.NoError(t, acct.SetCeiling("a@d", 5))
		require.NoError(t, acct.Divide(20, nil)) // g 9, g.h 4.5 of it, i 3.3
		var waiting, admitted, running []Candidate
		for range rapid.IntRange(1, 6).Draw(t, "cycles") {
			for range rapid.IntRange(0, 8).Draw(t, "arrivals") {
				c := Candidate{Submitter: rapid.SampledFrom([]string{"a@d", "b@d", "g.a@d", "g.h.a@d", "i.a@d"}).Draw(t,
					"who"), Weight: float64(rapid.IntRange(1, 6).Draw(t, "weight"))}
				for _, name := range []string{"a", "b"} {
					if n := rapid.IntRange(0, 5).Draw(t, name); n > 0 {
						c.Limits = append(c.Limits, Limit{name, float64(n)})
					}
				}
				waiting = append(waiting, c)
			}
			could := rapid.SliceOfN(rapid.Bool(), len(waiting), len(waiting)).Draw(t, "could start")
			asking := Asking{Jobs: waiting, Kept: admitted, Start: func(i int) bool { return could[i] }}
			verdicts := acct.Admit(limits, running, asking)
			require.Equal(t, verdicts, acct.Admit(limits, running, asking), "deterministic")
			require.Equal(t, verdicts, acct.Admit(limits, counted(running), asking), "those that are alike")
			in := slices.Concat(running, admitted)
			start, all := slices.Clone(in), slices.Clone(in)
			for i, v := range verdicts {
				if v.Admitted {
					all = append(all, waiting[i])
				}
			}
			require.Empty(t, over(all))
			var refused []Candidate
			for i, v := range verdicts {
				c := waiting[i]
				require.Equal(t, v.Admitted, v.Reason == "")
				require.Equal(t, v.Never, len(over(nil, c)) > 0)
				switch {
				case v.Admitted:
					admitted = append(admitted, c)
					if could[i] {
						start = append(start, c)
					}
				case v.Never:
				case could[i]: // those that could start and came before it have what it wants
					require.NotEmpty(t, over(slices.Clone(start), c))
				default:
					require.NotEmpty(t, over(slices.Clone(all), c))
				}
				if !v.Admitted && !v.Never {
					refused = append(refused, c)
				}
			}
			waiting = refused
			n := rapid.IntRange(0, len(admitted)).Draw(t, "starts")
			running = append(running, admitted[:n]...)
			admitted = append([]Candidate(nil), admitted[n:]...)
			running = append([]Candidate(nil), running[rapid.IntRange(0, len(running)).Draw(t, "ends"):]...)
		}
	})
}

// needs computes a job's demands independently of the throttle.
func needs(c Candidate) map[string]float64 {
	n := map[string]float64{}
	for _, l := range c.Limits {
		n[l.Name] += l.Wanted
	}
	switch {
	case c.Submitter == "a@d":
		n["ceiling"] = c.Weight
	case strings.HasPrefix(c.Submitter, "g."):
		n["g"] = c.Weight
	case strings.HasPrefix(c.Submitter, "i."):
		n["i"] = c.Weight
	}
	return n
}

// over returns the limits that the jobs together exceed.
func over(jobs []Candidate, more ...Candidate) map[string]bool {
	used, found := map[string]float64{}, map[string]bool{}
	for _, c := range append(jobs, more...) {
		for name, n := range needs(c) {
			used[name] += n
		}
	}
	for name, most := range map[string]float64{"a": 4, "b": 6, "ceiling": 5, "g": 9, "i": 3.3} {
		if used[name] > most+1e-6 {
			found[name] = true
		}
	}
	return found
}

func BenchmarkAdmit(b *testing.B) {
	a, jobs := crowd(b)
	limits := NewLimits(knobs("SW_LIMIT = 1000"))
	waiting := make([]Candidate, len(jobs))
	for i, j := range jobs {
		waiting[i] = Candidate{Submitter: j.Submitter, Weight: j.Weight, Limits: limited("sw:2,lic.b")}
	}
	for b.Loop() {
		a.Admit(limits, nil, Asking{Jobs: waiting})
	}
}

// TestReached finds the name of the limit in the reasons that Admit gives.
func TestReached(t *testing.T) {
	for reason, want := range map[string]string{
		"4 of 4 in use, 1 wanted: concurrency limit xsw reached":                                        "xsw",
		"3 of 4 in use, 1 held for 12.0 of bob, which waits, 1 wanted: concurrency limit a.b_2 reached": "a.b_2",
		"4 of 4 in use, 1 wanted: ceiling of alice@x reached":                                           "",
		"its schedd runs no more than 8 jobs at once":                                                   "",
		"waits": "",
	} {
		limit, ok := Reached(reason)
		require.Equal(t, want, limit)
		require.Equal(t, want != "", ok)
	}
}
