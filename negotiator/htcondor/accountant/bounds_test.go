package accountant

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// limited reads limits that are in order.
func limited(text string) []Limit {
	limits, err := ParseLimits(text)
	if err != nil {
		panic(err)
	}
	return limits
}

// run has the accountant know that jobs run.
func run(a *Accountant, limits *Limits, jobs ...Candidate) {
	b := a.Bounds(limits)
	for _, c := range jobs {
		for _, w := range b.Of(c) {
			w.Used += w.Amount
		}
	}
	b.Close()
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
	admit := func(waiting, running []Candidate) (in int, last string) {
		asked = 0
		b := a.Bounds(limits)
		for _, c := range running {
			b.Of(c)
		}
		for _, c := range waiting {
			if last = b.May(c); last == "" {
				b.Of(c)
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
	require.Empty(t, last, "bob's job")
	require.InDelta(t, most/4/50, in, 5)
	_, last = admit(eves, nil)
	require.Equal(t, "the jobs of eve@d name too many different concurrency limits", last)
	require.Less(t, asked, 3*most/4)
	_, last = admit(append(slices.Clip(all), job("bob@d", "sw")), nil)
	require.Empty(t, last)
	require.Less(t, asked, 3*most)
	require.LessOrEqual(t, len(limits.known), mostKnown)

	in, _ = admit(eves[500:], eves[:500]) // those that run count
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

// TestBounds: what jobs take of which limits, what these have, which can bind, and whom they keep
// waiting.
func TestBounds(t *testing.T) {
	a := open(t, "GROUP_NAMES = g, g.h, i, r\nGROUP_QUOTA_g = 4\nGROUP_QUOTA_g.h = 2\n"+
		"GROUP_ACCEPT_SURPLUS_g.h = true\nGROUP_QUOTA_i = 1\nGROUP_ACCEPT_SURPLUS_i = true\nGROUP_QUOTA_r = 1\n"+
		"GROUP_AUTOREGROUP_r = true")
	require.NoError(t, a.SetCeiling("low@d", 5))
	require.NoError(t, a.Divide(20, nil))
	limits := NewLimits(knobs("SW_A_LIMIT = 10\nBAD_LIMIT = x\nF_LIMIT=0.3"))
	job := func(submitter string, weight float64, text string) Candidate {
		return Candidate{Submitter: submitter, Weight: weight, Limits: limited(text)}
	}
	for name, c := range map[string]struct {
		running, waiting []Candidate
		binds            string
		want             []string // by waiting job: why it waits, or, behind a !, why it never starts
	}{
		"full": {
			running: []Candidate{job("u@d", 1, "sw_a:9")},
			waiting: []Candidate{job("u@d", 1, "SW_A:2"), job("u@d", 1, "sw_a"), job("u@d", 1, "")},
			binds:   "concurrency limit sw_a",
			want:    []string{"9 of 10 in use, 2 jobs wait for it, 2 wanted: concurrency limit sw_a reached", "", ""},
		},
		"never": {
			waiting: []Candidate{
				job("u@d", 1, "sw_a:11"), job("u@d", 1, "sw_a:10"), job("u@d", 1, "bad"), job("low@d", 6, ""),
			},
			want: []string{
				"!can never start under concurrency limit sw_a: 11 wanted of 10", "",
				"!limit bad: configuration: bad_LIMIT = x: must be a number from -1e+30 to 1e+30",
				"0 of 5 in use, 6 wanted: ceiling of low@d reached",
			},
			binds: "ceiling of low@d",
		},
		"fractions": {
			running: []Candidate{job("u@d", 1, "f:0.1"), job("u@d", 1, "f:0.1")},
			waiting: []Candidate{job("u@d", 1, "f:0.1")},
			want:    []string{""},
		},
		"no fraction is left": {
			running: []Candidate{job("u@d", 1, "f:0.1"), job("u@d", 1, "f:0.2")},
			waiting: []Candidate{job("u@d", 1, "f:0.1")},
			binds:   "concurrency limit f",
			want:    []string{"0.3 of 0.3 in use, 0.1 wanted: concurrency limit f reached"},
		},
		"ceiling": {
			running: []Candidate{job("low@d", 3, "")},
			waiting: []Candidate{job("low@d", 3, ""), job("high@d", 30, "")},
			binds:   "ceiling of low@d",
			want:    []string{"3 of 5 in use, 3 wanted: ceiling of low@d reached", ""},
		},
		"quotas": {
			running: []Candidate{job("g.h.u@d", 4, "")},
			waiting: []Candidate{
				job("i.u@d", 7, ""), job("r.u@d", 7, ""), job("g.u@d", 1, ""), job("g.x@d", 5, ""),
			},
			binds: "quota of group g",
			want: []string{
				"", "", "4 of 4 in use, 2 jobs wait for it, 1 wanted: quota of group g reached",
				"4 of 4 in use, 2 jobs wait for it, 5 wanted: quota of group g reached",
			},
		},
		"rooms": {
			running: []Candidate{{Schedd: "s", User: "u", Rooms: Rooms{{Jobs: 5}, {Jobs: 1, Why: "no more of u"}}}},
			waiting: []Candidate{
				{Schedd: "s", User: "u", Rooms: Rooms{{Jobs: 5}, {Jobs: 1, Why: "no more of u"}}},
				{Schedd: "s", User: "v", Project: "p", Rooms: Rooms{{Jobs: 5}, nil, {}}},
				{Schedd: "t", User: "u"},
			},
			binds: "jobs of u at schedd s, jobs of project p at schedd s",
			want:  []string{"no more of u", "its schedd runs no more than 0 jobs at once", ""},
		},
	} {
		b := a.Bounds(limits)
		for _, c := range c.running {
			for _, w := range b.Of(c) {
				w.Used += w.Amount
			}
		}
		all := make([][]Want, len(c.waiting))
		for i, c := range c.waiting {
			if all[i] = b.Of(c); Never(all[i]) == "" {
				for _, w := range all[i] {
					if !w.Exempt {
						w.Waited, w.Waiting = w.Waited+w.Amount, w.Waiting+1
					}
				}
			}
		}
		for i, wants := range all {
			never := Never(wants)
			if never != "" {
				never = "!" + never
			}
			require.Equal(t, c.want[i], cmp.Or(never, Lacking(wants)), "%s %d", name, i)
		}
		var binds []string
		for _, bound := range b.All() {
			if bound.Binds() {
				binds = append(binds, bound.Name)
			}
		}
		require.Equal(t, c.binds, strings.Join(binds, ", "), name)
	}
}

func BenchmarkBounds(b *testing.B) {
	a, jobs := crowd(b)
	limits := NewLimits(knobs("SW_LIMIT = 1000"))
	for b.Loop() {
		bounds := a.Bounds(limits)
		for _, j := range jobs {
			bounds.Of(Candidate{Submitter: j.Submitter, Weight: j.Weight, Limits: limited("sw:2,lic.b")})
		}
	}
}

// TestReached finds the name of the limit in reasons.
func TestReached(t *testing.T) {
	for reason, want := range map[string]string{
		"4 of 4 in use, 1 wanted: concurrency limit xsw reached":                        "xsw",
		"3 of 4 in use, 12 jobs wait for it, 1 wanted: concurrency limit a.b_2 reached": "a.b_2",
		"4 of 4 in use, 1 wanted: ceiling of alice@x reached":                           "",
		"its schedd runs no more than 8 jobs at once":                                   "",
		"waits": "",
	} {
		limit, ok := Reached(reason)
		require.Equal(t, want, limit)
		require.Equal(t, want != "", ok)
	}
}

// TestLooseQuotas says what NEGOTIATOR_STRICT_ENFORCE_QUOTA = False does: the subgroups of a group
// that accepts no surplus may have more than its quota together, each up to its own.
func TestLooseQuotas(t *testing.T) {
	const groups = `
GROUP_NAMES = a, a.x, a.y
GROUP_QUOTA_a = 4
GROUP_QUOTA_a.x = 3
GROUP_QUOTA_a.y = 3
`
	room := func(text string, running ...string) map[string]bool {
		a := open(t, text)
		require.NoError(t, a.Divide(100, nil))
		b := a.Bounds(NewLimits(func(string) (string, bool) { return "", false }))
		for _, name := range running {
			for _, w := range b.Of(Candidate{Submitter: name, Weight: 1}) {
				w.Used += w.Amount
			}
		}
		more := map[string]bool{}
		for _, name := range []string{"a.u@d", "a.x.u@d", "a.y.u@d"} {
			more[name] = Lacking(b.Of(Candidate{Submitter: name, Weight: 1})) == ""
		}
		return more
	}
	running := []string{"a.x.u@d", "a.x.u@d", "a.x.u@d", "a.y.u@d"}
	require.Equal(t, map[string]bool{"a.u@d": false, "a.x.u@d": false, "a.y.u@d": false}, room(groups, running...))
	loose := groups + "NEGOTIATOR_STRICT_ENFORCE_QUOTA = False\n"
	require.Equal(t, map[string]bool{"a.u@d": true, "a.x.u@d": false, "a.y.u@d": true}, room(loose, running...))
	running = append(running, "a.y.u@d", "a.y.u@d", "a.u@d", "a.u@d", "a.u@d", "a.u@d")
	require.Equal(t, map[string]bool{"a.u@d": false, "a.x.u@d": false, "a.y.u@d": false}, room(loose, running...))
}
