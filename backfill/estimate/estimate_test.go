package estimate_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// made makes a set with an oracle; the settings must be valid.
func made(t require.TestingT, s estimate.Settings, h *estimate.History) *estimate.Set {
	set, err := estimate.New(s, h, false, true, nil)
	require.NoError(t, err)
	return set
}

// options reads options that are written as name=value, separated by blanks.
func options(text string) map[string]string {
	all := map[string]string{}
	for option := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(option, "=")
		all[name] = value
	}
	return all
}

// job returns a job of a user and a project; "" means that it has none.
func job(user, project string, requested backfill.Time) estimate.Job {
	j := estimate.Job{Requested: requested, Labels: map[string]string{}}
	if user != "" {
		j.Labels["owner"] = user
	}
	if project != "" {
		j.Labels["project"] = project
	}
	return j
}

// learn reports n jobs that requested 100 s each and ran for the given time.
func learn(set *estimate.Set, n int, user, project string, ran backfill.Time) {
	for range n {
		set.Learn(estimate.Ended{Job: job(user, project, 100), Ran: ran})
	}
}

// planned returns the estimate of a job, which must be the same for all uses.
func planned(t require.TestingT, set *estimate.Set, j estimate.Job) backfill.Time {
	uses := set.Estimate(&j, 0)
	require.Equal(t, estimate.Uses{Order: uses.Order, Backfill: uses.Order, Running: uses.Order}, uses)
	return uses.Order
}

// TestAccuracyAdjusts checks the estimates of user, project and combined after ann's jobs used 20 %
// or 60 % of their requests.
func TestAccuracyAdjusts(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		user, both int           // jobs of ann alone, which used 20 %, and in physics, which used 60 %
		job        estimate.Job  // to be estimated
		want       backfill.Time // of 1000 s
	}{
		{"user", "user", 50, 0, job("ann", "", 1000), 200},
		{"user, one job too few", "user", 49, 0, job("ann", "", 1000), 1000},
		{"another user", "user", 50, 0, job("bob", "", 1000), 1000},
		{"no user", "user", 50, 0, job("", "", 1000), 1000},
		{"user, by rank 40 of 50", "user", 40, 10, job("ann", "", 1000), 200},
		{"user, by rank 40 of 50, the next", "user", 39, 11, job("ann", "", 1000), 600},
		{"project", "project", 0, 50, job("bob", "physics", 1000), 600},
		{"project, one job too few", "project", 50, 49, job("ann", "physics", 1000), 1000},
		{"combined, both", "combined", 200, 50, job("ann", "physics", 1000), 400},
		{"combined, user alone", "combined", 200, 49, job("ann", "physics", 1000), 200},
		{"combined, project alone", "combined", 0, 50, job("bob", "physics", 1000), 600},
		{"combined, none", "combined", 10, 10, job("ann", "physics", 1000), 1000},
		{"rounded up", "combined", 200, 50, job("ann", "physics", 11), 5},
		{"at least a second", "user", 50, 0, job("ann", "", 1), 1},
	} {
		set := made(t, estimate.Settings{All: tt.spec}, nil)
		learn(set, tt.user, "ann", "", 20)
		learn(set, tt.both, "ann", "physics", 60)
		require.Equal(t, tt.want, planned(t, set, tt.job), tt.name)
	}
}

// TestOfTwoAdjustmentsOneThatIsOneDoesNotCount checks that combined leaves the user's ratio out of
// the mean if it is one: the user's jobs use all that they request.
func TestOfTwoAdjustmentsOneThatIsOneDoesNotCount(t *testing.T) {
	set := made(t, estimate.Settings{All: "combined"}, nil)
	learn(set, 50, "ann", "", 100)
	learn(set, 50, "bob", "physics", 60)
	require.EqualValues(t, 600, planned(t, set, job("ann", "physics", 1000)), "ann uses all that she requests")
}

// TestAccuracyIsAtMostOne checks that jobs which ran longer than requested do not raise an estimate
// above the request.
func TestAccuracyIsAtMostOne(t *testing.T) {
	set := made(t, estimate.Settings{All: "user"}, nil)
	learn(set, 50, "ann", "", 1000)
	require.EqualValues(t, 70, planned(t, set, job("ann", "", 70)))
}

// TestJobsWithoutAnEstimateAreApart checks that estimators learn separately from jobs with and
// without an estimate.
func TestJobsWithoutAnEstimateAreApart(t *testing.T) {
	set := made(t, estimate.Settings{All: "user"}, nil)
	learn(set, 50, "ann", "", 20)
	lost := job("ann", "", 1000)
	lost.Unestimated = true
	require.EqualValues(t, 1000, planned(t, set, lost))
	for range 50 {
		ended := job("ann", "", 100)
		ended.Unestimated = true
		set.Learn(estimate.Ended{Job: ended, Ran: 1})
	}
	require.EqualValues(t, 10, planned(t, set, lost))
	require.EqualValues(t, 200, planned(t, set, job("ann", "", 1000)))
}

func TestTsafrir(t *testing.T) {
	set := made(t, estimate.Settings{All: "tsafrir"}, nil)
	ann := job("ann", "", 1000)
	for _, step := range []struct{ ran, want backfill.Time }{
		{500, 1000},
		{300, 400},
		{301, 301},
		{0, 151},
		{0, 1},
		{5000, 1000},
	} {
		learn(set, 1, "ann", "", step.ran)
		require.Equal(t, step.want, planned(t, set, ann), "after %d", step.ran)
	}
	require.EqualValues(t, 1000, planned(t, set, job("bob", "", 1000)))
	require.EqualValues(t, 1000, planned(t, set, job("", "", 1000)))
}

func TestAnEmptyHistoryNeedsNoMaker(t *testing.T) {
	set := made(t, estimate.Settings{All: "user"}, &estimate.History{})
	learn(set, 50, "ann", "", 20)
	require.EqualValues(t, 200, planned(t, set, job("ann", "", 1000)))
	require.Equal(t, 50, set.History().Len())
}

func TestActualRunTimes(t *testing.T) {
	for _, tt := range []struct {
		spec         string
		actual, want backfill.Time
	}{
		{"accurate", 7, 7},
		{"accurate", 0, 1},
		{"accurate", 101, 100},
		{"mix:0", 7, 100},
		{"mix:1", 7, 7},
		{"mix:0.1", 0, 90},
		{"mix:0.1", 50, 95},
		{"mix:0.333333", 70, 91}, // 90.00001
		{"mix:0.5", 200, 100},
	} {
		j := job("ann", "", 100)
		j.Actual = tt.actual
		require.Equal(t, tt.want, planned(t, made(t, estimate.Settings{All: tt.spec}, nil), j), "%s of %d", tt.spec,
			tt.actual)
	}
}

// TestUses checks which estimator is used for order, backfill and running.
func TestUses(t *testing.T) {
	for _, tt := range []struct {
		settings  estimate.Settings
		want      estimate.Uses
		requested bool
	}{
		{estimate.Settings{}, estimate.Uses{100, 100, 100}, true},
		{estimate.Settings{All: "requested", Running: "requested"}, estimate.Uses{100, 100, 100}, true},
		{estimate.Settings{All: "accurate"}, estimate.Uses{10, 10, 10}, false},
		{estimate.Settings{Order: "accurate"}, estimate.Uses{10, 100, 100}, false},
		{estimate.Settings{Backfill: "accurate", Running: "mix:0.5"}, estimate.Uses{100, 10, 55}, false},
		{estimate.Settings{All: "accurate", Backfill: "requested"}, estimate.Uses{10, 100, 10}, false},
		{estimate.Settings{All: "selective"}, estimate.Uses{20, 20, 100}, false},
		{estimate.Settings{All: "selective", Running: "accurate"}, estimate.Uses{20, 20, 10}, false},
	} {
		set := made(t, tt.settings, nil)
		learn(set, 50, "ann", "", 20)
		j := job("ann", "", 100)
		j.Actual = 10
		require.Equal(t, tt.want, set.Estimate(&j, 0), "%+v", tt.settings)
		require.Equal(t, tt.requested, set.Requested(), "%+v", tt.settings)
	}
}

func TestUnderGuaranteesTheOrderAloneChanges(t *testing.T) {
	for spec, want := range map[string]estimate.Uses{
		"accurate":  {Order: 10, Backfill: 100, Running: 100},
		"selective": {Order: 100, Backfill: 100, Running: 100},
	} {
		set, err := estimate.New(estimate.Settings{All: spec}, nil, true, true, nil)
		require.NoError(t, err)
		j := job("ann", "", 100)
		j.Actual = 10
		require.Equal(t, want, set.Estimate(&j, 0), spec)
		require.False(t, set.Requested())
	}
}

func TestFile(t *testing.T) {
	const text = "# job,seconds\n\n12.0,60\r\n 12.1@host,extra , 1:30\n12.2,0\n12.3,5000"
	var opened, closed int
	open := func(name string) (io.ReadCloser, error) {
		require.Equal(t, "run times:a.csv", name)
		opened++
		return closing{strings.NewReader(text), &closed}, nil
	}
	set, err := estimate.New(estimate.Settings{All: "file:run times:a.csv", Running: "requested"}, nil, false, false,
		open)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{opened, closed}, "the file is read once for two uses")
	for name, want := range map[string]backfill.Time{
		"12.0": 60, "12.1@host,extra": 90, "12.2": 1, "12.3": 1000,
		"13.0": 1000,
	} {
		require.Equal(t, estimate.Uses{Order: want, Backfill: want, Running: 1000},
			set.Estimate(&estimate.Job{Name: name, Requested: 1000}, 0), name)
	}
}

// Files as programs write them are read: with a first line of names, quotes, and numbers with decimals.
func TestFilesOfPrograms(t *testing.T) {
	for text, want := range map[string]backfill.Time{
		"job,estimate\n1.0,600":                 600,
		"\ufeffjob,estimate\r\n1.0,600\r\n":     600,
		"# by hand\n\nJobId,s\n1.0,600":         600,
		"\"job\",\"estimate\"\n\"1.0\",\"600\"": 600,
		"1.0,210000.0":                          210_000,
		"1.0,2.1e5":                             210_000,
		"1.0,0.2":                               1,
		"1.0,599.5":                             600,
		"1.0,00:10:00":                          600,
		"id;seconds\n1.0;600.0":                 600,
		"1.0\t600":                              600,
		"id,user,run,estimate\n1.0,bob,5,600\n": 600,
		",id,run_time\n0,1.0,600.0\n":           600,
		"\"\",\"id\",\"seconds\",\"x\"\n\"1\",\"1.0\",600,\"a,b\"": 600,
		"prediction,job\r\n600.0,'1.0\r\n":                         600,
		",0\n1.0,600\n":                                            600,
		"\"1.0\",\"599,5\"\n":                                      600,
		"1.0;599,5\n":                                              600,
		"id;seconds\n1.0;599,5\n":                                  600,
		"1.0\t599,5\n":                                             600,
		"id,seconds\r1.0,600\r2.0,5\r":                             600,
		"2.0,\n1.0,600\n3.0,NA\n\"4.0\",\"\"":                      600,
		"1.0,nan\n":                                                1e6,
		"1.0,\n":                                                   1e6,
	} {
		set, err := estimate.New(estimate.Settings{All: "file:a.csv"}, nil, false, false,
			func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
		require.NoError(t, err, text)
		require.Equal(t, want, set.Estimate(&estimate.Job{Name: "1.0", Requested: 1e6}, 0).Order, text)
	}
}

// TestMatches: what a file names is compared with the jobs; that some have no estimate, or one of 0 s, is
// said, and what the file's names look like where none fits.
func TestMatches(t *testing.T) {
	for text, tt := range map[string]struct {
		warnings []string
		err      string
	}{
		"1,5\n2,6\n": {},
		"1,5\n2,\n": {warnings: []string{
			"estimates file:a.csv: its lines name 1 of the 2 jobs: the others keep what they request",
		}},
		"1,5\n2,0\n": {warnings: []string{"estimates file:a.csv: 1 of its lines say 0 s, which counts as 1 s"}},
		",a,b\n":     {err: "of these 3 columns"},
		"0,1,5\n1,2,6\n": {err: `none of its 2 lines names one of the 2 jobs; name jobs as in "1", the first of them; ` +
			`the file's first is "0,1"`},
		"1.0,5\n":  {err: `the file's first is "1.0"`},
		"1,\n2,\n": {err: `none of its 0 lines names one of the 2 jobs; name jobs as in "1", the first of them`},
	} {
		set, err := estimate.New(estimate.Settings{All: "file:a.csv"}, nil, false, false,
			func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
		var warnings []string
		if err == nil {
			warnings, err = set.Matches([]string{"1", "2"})
		}
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, tt.warnings, warnings, text)
	}
}

type closing struct {
	io.Reader
	closed *int
}

func (c closing) Close() error {
	*c.closed++
	return nil
}

func TestWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		"1.0,5\n1.1 6\n":          `a.csv:2: there is no comma in "1.1 6"; a line is name,seconds`,
		"1.0,5\n\n1.1,six":        `a.csv:3: the estimate of job 1.1, "six", must be a number of seconds`,
		"1.0,-5":                  `a.csv:1: the estimate of job 1.0, "-5", must be a number of seconds`,
		"1.0,5\njob,seconds":      `a.csv:2: the estimate of job job, "seconds", must be a number of seconds`,
		"1.0,inf":                 `a.csv:1: the estimate of job 1.0, "inf", must be a number of seconds`,
		"1.0,5.5.5":               `a.csv:1: the estimate of job 1.0, "5.5.5", must be a number of seconds`,
		"1.0,1e400":               `a.csv:1: the estimate of job 1.0, "1e400", must be a number of seconds`,
		"1.0,-5.0":                `a.csv:1: the estimate of job 1.0, "-5.0", must be a number of seconds`,
		"1.0,5\n,5":               "a.csv:2: there is no name before the comma",
		"1.0,\"1,024\"":           `a.csv:1: the estimate of job 1.0, "1,024", must be a number of seconds`,
		"\xff\xfe1\x00,\x005\x00": "a.csv is text in UTF-16; save it as CSV in UTF-8",
		",0,1\n0,1.0,5":           "a.csv:1: of these 3 columns, one must be called id or job",
		"1.0,5\n1.0,5":            "a.csv:2: job 1.0 is in a line above, too",
		"a,b,c\n1.0,5,6":          "a.csv:1: of these 3 columns, one must be called id or job",
		"id,x,run\n1.0,5":         "a.csv:2: there are fewer columns than the first line names",
		"id;run\n1.0,5":           "a.csv:2: there are fewer columns",
		strings.Repeat("x", 1e6):  "a.csv:1: the line is longer than 65536 letters",
		"1.0,9999999999999999999": "a.csv:1: the estimate of job 1.0",
	} {
		_, err := estimate.New(estimate.Settings{All: "file:a.csv"}, nil, false, false,
			func(string) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(text)), nil
			})
		require.ErrorContains(t, err, want)
	}
	_, err := estimate.New(estimate.Settings{All: "file:a.csv"}, nil, false, false, nil)
	require.ErrorContains(t, err, "a.csv: files cannot be read here")
	missing := errors.New("no such file")
	_, err = estimate.New(estimate.Settings{All: "file:a.csv"}, nil, false, false,
		func(string) (io.ReadCloser, error) { return nil, missing })
	require.ErrorIs(t, err, missing)
}

func TestHelp(t *testing.T) {
	help := estimate.Help()
	for _, e := range estimate.Estimators() {
		require.Contains(t, help, e.Doc)
	}
	for _, name := range estimate.Names(true) {
		require.Contains(t, help, "\n  "+name+" ")
	}
	for _, o := range estimate.Options() {
		require.Contains(t, help, "\n  "+o.Name+" ")
		require.Contains(t, help, o.Doc+" ["+o.Default+"]")
	}
	for line := range strings.Lines(help) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 101, line)
	}
	require.Equal(t, []string{"requested", "user", "project", "combined", "selective", "tsafrir", "learned", "file:PATH"},
		estimate.Names(false))
}

// Ann's jobs use from 1 to 60 % of the hour that she requests.
func Example() {
	set, err := estimate.New(estimate.Settings{All: "user", Running: "requested"}, nil, false, false, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	job := estimate.Job{Requested: 3600, Labels: map[string]string{"owner": "ann"}}
	for i := range 60 {
		set.Learn(estimate.Ended{Job: job, Ran: backfill.Time(36 * (i + 1)), At: backfill.Time(i)})
	}
	fmt.Printf("%+v\n", set.Estimate(&job, 0))
	// Output: {Order:1728 Backfill:1728 Running:3600}
}

// TestKnows: a set says whether it looks at the actual run times.
func TestKnows(t *testing.T) {
	for spec, knows := range map[string]bool{"accurate": true, "mix:0.5": true, "learned": false, "requested": false} {
		set := made(t, estimate.Settings{All: spec}, nil)
		require.Equal(t, knows, set.Knows(), spec)
		asked := estimate.Job{Requested: 100, Actual: 10}
		known := set.Estimate(&asked, 0)
		asked.Actual = 50
		require.Equal(t, knows, known != set.Estimate(&asked, 0), spec)
	}
}
