package verdict_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/verdict"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// recorded writes a record of looks and of what is known of jobs, and judges it.
func recorded(t require.TestingT, period verdict.Period, lines ...any) *verdict.Verdict {
	folder, err := os.MkdirTemp("", "verdict")
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(folder) }()
	r, err := witness.Open(folder, witness.Least)
	require.NoError(t, err)
	for _, l := range lines {
		switch l := l.(type) {
		case witness.Look:
			require.NoError(t, r.End())
			r.Begin(l)
		case witness.Job:
			require.NoError(t, r.Add(l))
		}
	}
	require.NoError(t, r.Close())
	v, err := verdict.Read(folder, period)
	require.NoError(t, err)
	return v
}

func look(at int64) witness.Look {
	return witness.Look{At: at, Policy: "slack", Order: "fairshare", Guarantees: true, Largest: 16}
}

// job is a job of alice that was submitted at 1000 and watched.
func job(name string, set func(*witness.Job)) witness.Job {
	j := witness.Job{Job: name, User: "alice", Chunks: 1, Cpus: 1, Submit: 1000, Since: 1000}
	set(&j)
	return j
}

// TestOneJob: by its first decision, its real start and what was planned just then, a job would
// have started earlier, at the same time, later, or not at all.
func TestOneJob(t *testing.T) {
	held := func(j *witness.Job) { j.Start, j.Held = 1200, "no slot" }
	for name, c := range map[string]struct {
		set           func(*witness.Job)
		field         string
		theirs, ours  int64
		without       bool // its wait here is not known
		gained, losts int64
	}{
		"earlier": {
			set: func(j *witness.Job) { j.Would, j.Start = 1100, 1200 }, field: "earlier", theirs: 200, ours: 100,
			gained: 100,
		},
		"within some seconds": {
			set: func(j *witness.Job) { j.Would, j.Start = 1185, 1200 }, field: "same", theirs: 200, ours: 200,
		},
		"just not": {
			set: func(j *witness.Job) { j.Would, j.Start = 1184, 1200 }, field: "earlier", theirs: 200, ours: 184, gained: 16,
		},
		"it came back, and then": {
			set: func(j *witness.Job) { j.Would, j.Start, j.Planned = 1900, 1200, 1500 }, field: "later",
			theirs: 200, ours: 500, losts: 300,
		},
		"planned for later": {
			set: func(j *witness.Job) { j.Start, j.Planned = 1200, 1500 }, field: "later", theirs: 200, ours: 500, losts: 300,
		},
		"planned for then": {
			set: func(j *witness.Job) { j.Start, j.Planned = 1200, 1210 }, field: "same", theirs: 200, ours: 200,
		},
		"at once, and planned for later": {
			set: func(j *witness.Job) { j.Start, j.Planned = 1005, 1500 }, field: "later", theirs: 5, ours: 500, losts: 495,
		},
		"before anybody saw it wait": {set: func(j *witness.Job) { j.Start = 1010 }, field: "same", theirs: 10, ours: 10},
		"not planned":                {set: func(j *witness.Job) { j.Start = 1200 }, field: "unknown", without: true},
		"held":                       {set: held, field: "never", without: true},
		"began before it was submitted, by clocks that differ": {
			set: func(j *witness.Job) { j.Start = 990 }, field: "same",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := recorded(t, verdict.Period{}, look(1000), job("1.0", c.set), look(2000))
			want := verdict.Group{Name: "all", Jobs: 1}
			one := func(n int64) verdict.Waits {
				return verdict.Waits{Jobs: 1, Mean: float64(n), Median: n, P90: n, Most: n}
			}
			if !c.without {
				want.Theirs, want.Ours = one(c.theirs), one(c.ours)
			}
			switch c.field {
			case "earlier":
				want.Earlier, want.Gained = 1, one(c.gained)
			case "same":
				want.Same = 1
			case "later":
				want.Later, want.Lost = 1, one(c.losts)
			case "unknown":
				want.Later, want.Unknown = 1, 1
			case "never":
				want.Never = 1
				require.Equal(t, []verdict.Reason{{Why: "no slot", Jobs: 1}}, v.Reasons)
			}
			require.Equal(t, want, v.All)
			require.Equal(t, 1, v.Started)
			require.Zero(t, v.Unwatched)
		})
	}
}

// TestPromises: a promise is kept by what really happened and by what the observer would have done.
func TestPromises(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*witness.Job)
		want verdict.Promises
	}{
		"both":        {func(j *witness.Job) { j.Would, j.Start = 1100, 1200 }, verdict.Promises{Made: 1, Both: 1}},
		"ours":        {func(j *witness.Job) { j.Would, j.Start = 1100, 1600 }, verdict.Promises{Made: 1, Ours: 1}},
		"ours, waits": {func(j *witness.Job) { j.Would = 1100 }, verdict.Promises{Made: 1, Ours: 1}},
		"ours, gone":  {func(j *witness.Job) { j.Would, j.Gone = 1100, 1200 }, verdict.Promises{Made: 1, Ours: 1}},
		"theirs":      {func(j *witness.Job) { j.Start, j.Planned = 1200, 1400 }, verdict.Promises{Made: 1, Theirs: 1}},
		"theirs, and back": {
			func(j *witness.Job) { j.Start, j.Planned, j.Would = 1200, 1400, 1450 }, verdict.Promises{Made: 1, Theirs: 1},
		},
		"neither":        {func(j *witness.Job) { j.Would, j.Start = 1600, 1700 }, verdict.Promises{Made: 1, Neither: 1}},
		"neither, waits": {func(*witness.Job) {}, verdict.Promises{Made: 1, Neither: 1}},
		"gone":           {func(j *witness.Job) { j.Gone = 1400 }, verdict.Promises{Made: 1, Gone: 1}},
		"gone late":      {func(j *witness.Job) { j.Gone = 1800 }, verdict.Promises{Made: 1, Neither: 1}},
		"elsewhere":      {func(j *witness.Job) { j.Elsewhere = 1400 }, verdict.Promises{Made: 1, Elsewhere: 1}},
		"elsewhere, ours": {
			func(j *witness.Job) { j.Would, j.Elsewhere = 1300, 1400 }, verdict.Promises{Made: 1, Elsewhere: 1},
		},
		"elsewhere, and back": {
			func(j *witness.Job) { j.Elsewhere, j.Start = 1100, 1400 }, verdict.Promises{Made: 1, Theirs: 1},
		},
		"open":        {func(j *witness.Job) { j.Promise = 2500 }, verdict.Promises{Made: 1, Open: 1}},
		"open, would": {func(j *witness.Job) { j.Promise, j.Would = 2500, 1700 }, verdict.Promises{Made: 1, Open: 1}},
		"too late to count": {
			func(j *witness.Job) { j.Would, j.Told, j.Start = 1020, 1030, 1200 }, verdict.Promises{},
		},
		"not watched since": {func(j *witness.Job) { j.Since, j.Start = 1300, 1400 }, verdict.Promises{}},
	} {
		t.Run(name, func(t *testing.T) {
			one := job("1.0", func(j *witness.Job) {
				j.Promise, j.Told = 1500, 1005
				c.set(j)
			})
			v := recorded(t, verdict.Period{}, look(1000), one, look(2000))
			require.Equal(t, c.want, v.Promises)
			require.Equal(t, v.Promises.Made, v.Promises.Due()+v.Promises.Elsewhere+v.Promises.Gone+v.Promises.Open)
			require.Zero(t, v.Waiting.Jobs*v.Promises.Elsewhere, "it does not wait")
		})
	}
}

// TestWhatIsWatched: jobs whose wait was not watched are counted and not judged, gaps are told, and
// jobs outside of the period are left out.
func TestWhatIsWatched(t *testing.T) {
	lines := []any{
		look(1000),
		job("1.0", func(j *witness.Job) { j.Submit, j.Start = 900, 1100 }),
		job("2.0", func(j *witness.Job) { j.Would = 1100 }),
		look(1100),
		look(5000),
		job("2.0", func(j *witness.Job) { j.Since, j.Start = 5000, 5100 }),
		job("3.0", func(j *witness.Job) { j.Since, j.Submit, j.Would, j.Start = 5000, 5010, 5020, 5200 }),
		job("4.0", func(j *witness.Job) { j.Since, j.Submit, j.Would, j.Cpus = 5000, 5010, 5100, 8 }),
		job("5.0", func(j *witness.Job) { j.Since, j.Submit, j.Would, j.Gone = 5000, 5010, 5100, 5150 }),
		job("6.0", func(j *witness.Job) { j.Since, j.Submit, j.Start, j.Found = 5000, 5010, 5100, true }),
		job("7.0", func(j *witness.Job) { j.Since, j.Submit, j.Would, j.Start, j.Found = 5000, 5010, 5050, 5100, true }),
		look(5100), look(5200),
	}
	v := recorded(t, verdict.Period{}, lines...)
	require.Equal(t, []int{5, 3, 2}, []int{v.Started, v.Unwatched, v.All.Jobs})
	require.Equal(t, []verdict.Stretch{{From: 1000, To: 1100}, {From: 5000, To: 5200}}, v.Watched)
	require.Equal(t, []int64{1000, 5200}, []int64{v.From, v.To})
	hundred := verdict.Waits{Jobs: 1, Mean: 100, Median: 100, P90: 100, Most: 100}
	fifty := verdict.Waits{Jobs: 1, Mean: 50, Median: 50, P90: 50, Most: 50}
	require.Equal(t, verdict.Unstarted{Jobs: 1, Wide: 1, Waits: hundred}, v.Waiting)
	require.Equal(t, verdict.Unstarted{Jobs: 1, Waits: fifty}, v.Gone)

	require.Equal(t, 1, recorded(t, verdict.Period{Since: 1000, Until: 5010}, lines...).Started)
	require.Equal(t, 4, recorded(t, verdict.Period{Since: 1000}, lines...).Started)
	require.Equal(t, 3, recorded(t, verdict.Period{Since: 5010, Until: 5011}, lines...).Started)
	require.Zero(t, recorded(t, verdict.Period{Since: 6000}, lines...).Started)
}

// TestGroupsAddUp: whatever happened to jobs, each judged one is in one class, of one user and one
// width, once, and the groups add up to all; and the order of the lines does not matter.
func TestGroupsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instantOf := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1000, 3000))
		n := rapid.IntRange(0, 30).Draw(t, "jobs")
		var lines []any
		for i := range n {
			j := witness.Job{
				Job: fmt.Sprintf("%d.0", i), User: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "user"), Chunks: 1,
				Cpus: rapid.Int64Range(0, 40).Draw(t, "cpus"), Submit: rapid.Int64Range(800, 2000).Draw(t, "submit"), Since: 1000,
				Would: instantOf.Draw(t, "would"), Start: instantOf.Draw(t, "start"), Promise: instantOf.Draw(t, "promise"),
			}
			if j.Promise != 0 {
				j.Told = rapid.Int64Range(900, j.Promise).Draw(t, "told")
			}
			if j.Start != 0 && j.Would == 0 {
				j.Planned = instantOf.Draw(t, "planned")
			}
			if j.Start == 0 {
				j.Gone, j.Elsewhere = instantOf.Draw(t, "gone"), instantOf.Draw(t, "elsewhere")
			}
			lines = append(lines, j)
		}
		with := func(lines []any) *verdict.Verdict {
			return recorded(t, verdict.Period{}, append(append([]any{look(1000)}, lines...), look(3000))...)
		}
		v := with(lines)
		sum := func(all []verdict.Group) (s verdict.Group) {
			for _, g := range all {
				s.Jobs, s.Earlier, s.Same, s.Later = s.Jobs+g.Jobs, s.Earlier+g.Earlier, s.Same+g.Same, s.Later+g.Later
				s.Theirs.Jobs += g.Theirs.Jobs
				require.Equal(t, g.Jobs, g.Earlier+g.Same+g.Later+g.Never)
				require.Equal(t, g.Ours.Jobs, g.Theirs.Jobs)
				require.Equal(t, g.Jobs-g.Unknown-g.Never, g.Ours.Jobs)
				require.LessOrEqual(t, g.Theirs.Median, g.Theirs.P90)
				require.LessOrEqual(t, g.Theirs.P90, g.Theirs.Most)
			}
			return s
		}
		all := sum([]verdict.Group{v.All})
		require.Equal(t, all, sum(v.Users))
		require.Equal(t, all, sum(v.Widths))
		require.Equal(t, v.Started-v.Unwatched, all.Jobs)
		p := v.Promises
		require.Equal(t, p.Made, p.Due()+p.Elsewhere+p.Gone+p.Open)
		for _, c := range v.Most.Earlier {
			require.Less(t, c.Would, c.Start)
		}
		for _, c := range v.Most.Later {
			require.Greater(t, c.Would, c.Start)
		}
		shuffled := with(rapid.Permutation(lines).Draw(t, "order"))
		v.Record, shuffled.Record = witness.Found{}, witness.Found{} // their sizes differ
		require.Equal(t, v, shuffled)
	})
}

// sample is a verdict with something of everything.
func sample(t *testing.T) *verdict.Verdict {
	t.Helper()
	lines := []any{look(1_770_000_000)}
	for i := range int64(200) {
		at := 1_770_000_100 + 60*i
		user := fmt.Sprintf("user%d@site.example", i%25)
		j := witness.Job{
			Job: fmt.Sprintf("%d.0", i), User: cmp.Or(map[int64]string{3: `<script>alert("x")</script>`}[i%25], user), Chunks: 1,
			Cpus: 1 << (i % 5), Submit: at, Since: 1_770_000_000,
		}
		switch i % 6 {
		case 0, 1:
			j.Would, j.Start = at+10, at+20
		case 2, 3:
			j.Promise, j.Told = at+4000, at+5
			j.Would, j.Start = at+600, at+600+50*i
		case 4:
			j.Start, j.Planned = at+100, at+100+20*i
		case 5:
			j.Would = at + 500
		}
		if i == 77 {
			j.Start, j.Would, j.Held = at+900, 0, "cannot run in this pool: matches no slot <b>"
		}
		lines = append(lines, j)
	}
	return recorded(t, verdict.Period{}, append(lines, look(1_770_000_100), look(1_770_000_000+86400))...)
}

// TestText: the text has the tables, is no wider than a terminal's lines where it is prose, and
// says what was measured.
func TestText(t *testing.T) {
	text := sample(t).Text(instant.OfPool(time.UTC))
	for _, part := range []string{
		"would have started earlier", "at the same time", "later", "not at all", "Widths:", "16–31 cpus", "Wide jobs:",
		"Users:", "… and 5 more users", "Promises: 66", "kept here alone", "Most earlier here:", "Most later here:",
		"What was measured:", "would have started, and still wait",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, recorded(t, verdict.Period{}, look(1000)).Text(instant.OfPool(time.UTC)), "NaN")
	require.Contains(t, recorded(t, verdict.Period{}, look(1000)).Text(instant.OfPool(time.UTC)), "nothing to judge yet")
}

// TestPage: the page refers to nothing outside of it, and shows names as they are.
func TestPage(t *testing.T) {
	var page strings.Builder
	require.NoError(t, sample(t).Page(&page, instant.OfPool(time.UTC)))
	text := page.String()
	require.NotContains(t, text, "<script")
	require.Contains(t, text, "&lt;script&gt;alert(")
	require.Contains(t, text, "matches no slot &lt;b&gt;")
	require.NotRegexp(t, `https?://|src=|href=|@import|url\(`, text)
	require.NotContains(t, text, "ZgotmplZ")
	require.Contains(t, text, `width:33`)
	if file := os.Getenv("PAGE"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	page.Reset()
	require.NoError(t, recorded(t, verdict.Period{}, look(1000)).Page(&page, instant.OfPool(time.UTC)))
	require.Contains(t, page.String(), "nothing to judge yet")
}
