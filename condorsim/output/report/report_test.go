package report_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/packed"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the expected files")

// finished is a made-up schedule: a promised job, one of an unknown user that was backfilled, one
// that was held.
func finished() *condorsim.Result {
	a, b := &negotiator.Slot{Name: "a", Capacity: backfill.Vector{4, 100}},
		&negotiator.Slot{Name: "b, c", Capacity: backfill.Vector{4, 100}}
	return &condorsim.Result{
		Workload: &condorsim.Workload{
			Name: "small", Schema: negotiator.Schema{Resources: []string{"cpus", "memory"}},
			Slots: []*negotiator.Slot{a, b},
			Jobs: []condorsim.Job{
				{
					Job:  &negotiator.Job{Name: "1.0", Submit: -5, Nodes: 2, Estimate: 20, User: `eve "the" user`},
					Run:  10,
					Cpus: 6, Memory: 50,
				},
				{Job: &negotiator.Job{Name: "1.1", Submit: 0, Nodes: 1}, Run: 0, Cpus: 1},
				{
					Job: &negotiator.Job{Name: "2.0", Submit: 3, Nodes: 9, Estimate: 7, User: "7"}, Run: 7,
					Cpus: 9, Memory: 9,
				},
			},
			Cleaning: workload.Cleaning{Lines: 5, JobsRead: 4, TooWide: 1, JobsLeft: 3},
		},
		Outcomes: []condorsim.Outcome{
			{
				Started: true, Ended: true, Start: 5, End: 15, How: backfill.ByQueue, Estimate: 20, Promised: true,
				Guarantee: 8, Placement: negotiator.Placement{{Slot: b, Count: 1}, {Slot: a, Count: 1}},
			},
			{
				Started: true, Ended: true, Start: 2, End: 2, How: backfill.ByBackfill, Estimate: 86400,
				Placement: negotiator.Placement{{Slot: a, Count: 1}},
			},
			{Held: "fits nowhere"},
		},
		Cycles: 7, ReservedIdle: 42, Requeues: 2, LostCoreSeconds: 30.5,
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestJobs(t *testing.T) {
	var out strings.Builder
	require.NoError(t, report.WriteJobs(&out, finished()))
	golden(t, "jobs.csv", out.String())
}

// A spreadsheet runs what begins like a formula; names are other people's texts.
func TestNamesThatAreFormulas(t *testing.T) {
	const formula = "=cmd|' /C calc'!A0"
	r := finished()
	r.Workload.Jobs[0].User, r.Workload.Slots[0].Name = formula, "@n1"
	path := filepath.Join(t.TempDir(), "jobs.csv")
	for _, raw := range []bool{false, true} {
		file, err := report.CreateJobs(path)
		require.NoError(t, err)
		file.RawNames = raw
		require.NoError(t, file.Write(r))
		rows, err := csv.NewReader(strings.NewReader(content(t, path))).ReadAll()
		require.NoError(t, err)
		mark := map[bool]string{false: "'"}[raw]
		require.Equal(t, "-5", rows[1][1], "a number")
		require.Equal(t, mark+formula, rows[1][10])
		require.Equal(t, mark+"@n1×1", rows[2][12])
	}
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	run := report.Run{Policy: "easy", Order: "fcfs", Options: map[string]string{"depth": "2"}}
	require.NoError(t, report.JSON(&out, run, finished(), &report.Extras{Timing: &report.Timing{WallSeconds: 1.5}}))
	golden(t, "summary.json", out.String())

	out.Reset()
	require.NoError(t, report.JSON(&out, report.Run{}, finished(), nil))
	require.Contains(t, out.String(), `"options": {}`, "not null")
	require.NotContains(t, out.String(), "timing")
	require.NotContains(t, out.String(), "changes")

	out.Reset()
	require.NoError(t, report.JSON(&out, report.Run{Changes: []report.Change{{At: 7, Policy: "mine", Order: "sjf"}}},
		finished(), nil))
	require.Regexp(t, `"changes": \[\s+\{\s+"at": 7,\s+"policy": "mine",\s+"order": "sjf"\s+\}\s+\]`, out.String())
}

func TestJSONOfNothing(t *testing.T) {
	r := finished()
	r.Workload.Jobs, r.Outcomes, r.Cycles = nil, nil, 0
	var out strings.Builder
	require.NoError(t, report.JSON(&out, report.Run{}, r, nil))
	require.NotContains(t, out.String(), `"mean_wait"`)
	require.Contains(t, out.String(), `"cycles": 0`)
	out.Reset()
	require.NoError(t, report.WriteJobs(&out, r))
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "the header")
}

// full is a device without room.
type full struct{}

var errFull = errors.New("no room is left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	require.ErrorIs(t, report.JSON(full{}, report.Run{}, finished(), nil), errFull)
	require.ErrorIs(t, report.WriteJobs(full{}, finished()), errFull)
	require.ErrorIs(t, report.Table(full{}, report.Run{}, finished(), nil), errFull)
}

func TestTable(t *testing.T) {
	table := func(edit func(*condorsim.Result), run report.Run, extras *report.Extras) string {
		r := finished()
		edit(r)
		var out strings.Builder
		require.NoError(t, report.Table(&out, run, r, extras))
		return out.String()
	}
	nothing := func(*condorsim.Result) {}
	text := table(nothing, report.Run{Policy: "easy", Order: "sjf"}, nil)
	for _, row := range []string{
		`small under easy, order sjf`, `slots, cpus +│ +2, 8 `, `jobs +│ +3 `, `mean wait +│ +6\.0 s`,
		`mean response +│ +11\.0 s`,
		`mean slowdown +│ +2\.00`, `utilisation, cpus +│ +37\.5 %`, `utilisation, memory +│ +12\.5 %`,
		`makespan +│ +20 s`, `idle while jobs waited +│ +50\.0 %`, `guarantees kept +│ +1 `,
		`mean time before the guarantee +│ +3\.0 s`, `idle while reserved +│ +42 cpu s `,
	} {
		require.Regexp(t, row, text)
	}

	for _, c := range []struct {
		row  string
		with func(*condorsim.Result)
		sans func(*condorsim.Result)
	}{
		{`jobs held \(left out of the means\) +│ +1 `, nothing, func(r *condorsim.Result) {
			r.Outcomes[2] = r.Outcomes[1]
		}},
		{`(?m)^held: 2\.0 fits nowhere$`, nothing, func(r *condorsim.Result) { r.Outcomes[2] = r.Outcomes[1] }},
		{`job lines left out: wider than the machine +│ +1 `, nothing, func(r *condorsim.Result) {
			r.Workload.Cleaning.TooWide = 0
		}},
		{`job lines left out: partial executions +│ +5 `, func(r *condorsim.Result) {
			r.Workload.Cleaning.Partial = 5
		}, nothing},
		{`job lines left out: beyond the number asked for +│ +6 `, func(r *condorsim.Result) {
			r.Workload.Cleaning.BeyondMax = 6
		}, nothing},
		{`makespan +│ +864,020 s \(10\.0 d\) `, func(r *condorsim.Result) { r.Outcomes[0].End = 864015 }, nothing},
		{`guarantees broken +│ +3 `, func(r *condorsim.Result) { r.Broken = 3 }, nothing},
		{`guarantees broken: slot drained +│ +2 `, func(r *condorsim.Result) {
			r.Broken, r.BrokenBy = 3, map[string]int{"slot drained": 2, "overrun": 1}
		}, nothing},
		{`runs that lost a slot +│ +4 `, func(r *condorsim.Result) { r.Requeues = 4 }, nothing},
		{`lost with them +│ +70 cpu s `, func(r *condorsim.Result) { r.Requeues, r.LostCoreSeconds = 4, 70 }, nothing},
		{`decisions refused: mine +│ +4 `, refuse, nothing},
		{`(?m)^refused: mine 4, first at 7: no \x{fffd}\[2Jidea$`, refuse, nothing},
		{
			`(?m)^GIVEN UP: mine; its fallback decided the rest, so these are not its results$`,
			func(r *condorsim.Result) { refuse(r); r.Refusals[0].GivenUp = true }, refuse,
		},
		{`utilisation, memory`, nothing, func(r *condorsim.Result) {
			r.Workload.Schema.Resources = []string{"cpus"}
			for _, s := range r.Workload.Slots {
				s.Capacity = s.Capacity[:1]
			}
		}},
	} {
		require.Regexp(t, c.row, table(c.with, report.Run{}, nil))
		require.NotRegexp(t, c.row, table(c.sans, report.Run{}, nil))
	}
	require.Regexp(t, `wall time +│ +1\.50 s`,
		table(nothing, report.Run{}, &report.Extras{Timing: &report.Timing{WallSeconds: 1.5}}))
	timed := table(nothing, report.Run{},
		&report.Extras{Timing: &report.Timing{Decisions: 12, MedianSeconds: 25e-6, P99Seconds: 0.0125}})
	require.Regexp(t, `decisions of the policy +│ +12 `, timed)
	require.Regexp(t, `time of a decision, median +│ +25\.0 µs`, timed)
	require.Regexp(t, `time of a decision, 99th percentile +│ +12500\.0 µs`, timed)
	require.NotContains(t, text, "wall time")
	changed := report.Run{Policy: "easy", Changes: []report.Change{{At: 7, Policy: "mine", Order: "sjf"}}}
	require.Regexp(t, `then under mine, order sjf, from +│ +t = 7 s `, table(nothing, changed, nil))
	foretold := &report.Estimates{Order: "user", Backfill: "user", Running: "user"}
	changed.Changes = append(changed.Changes, report.Change{At: 8, Policy: "mine", Order: "sjf", Estimates: foretold},
		report.Change{At: 9, Policy: "mine", Order: "ljf"})
	require.Regexp(t, `then under mine, order sjf, from +│ +t = 7 s `, table(nothing, changed, nil))
	require.Regexp(t, `then under mine, order sjf, estimates user, from +│ +t = 8 s `, table(nothing, changed, nil))
	require.Regexp(t, `then under mine, order ljf, estimates requested, from +│ +t = 9 s `,
		table(nothing, changed, nil))
	require.NotContains(t, table(nothing, report.Run{Policy: "easy"}, nil), "order")
}

// refuse adds four refused decisions of a plugin whose error has control characters of terminals.
func refuse(r *condorsim.Result) {
	r.Refusals = []condorsim.Refusals{{
		Policy: "mine", Count: 4, First: backfill.Refusal{Now: 7, Policy: "mine", Err: errors.New("no\n\x1b[2Jidea")},
	}}
}

func TestJSONOfRefusals(t *testing.T) {
	r := finished()
	refuse(r)
	r.Refusals[0].First.Err = errors.New(strings.Repeat("x", 400))
	var out strings.Builder
	require.NoError(t, report.JSON(&out, report.Run{}, r, nil))
	var told struct{ Refused []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(out.String()), &told))
	require.Equal(t, []map[string]any{{
		"policy": "mine", "count": 4.0, "at": 7.0,
		"reason": strings.Repeat("x", 300) + "…", "given_up": false,
	}}, told.Refused)
}

// Where no job ran there are no means, which would look like those of a perfect schedule.
func TestNothingRan(t *testing.T) {
	r := finished()
	r.Workload.Jobs, r.Outcomes = r.Workload.Jobs[2:], r.Outcomes[2:]
	var out strings.Builder
	require.NoError(t, report.Table(&out, report.Run{}, r, nil))
	require.Contains(t, out.String(), "\nno job ran to its end, so there is nothing to measure: 1 of 1 jobs are held\n"+
		"held: 2.0 fits nowhere\n")
	require.NotRegexp(t, "mean |median|utilisation|makespan", out.String())
	out.Reset()
	require.NoError(t, report.JSON(&out, report.Run{}, r, nil))
	require.NotRegexp(t, `mean_|share_|utilisation`, out.String())
	require.Contains(t, out.String(), `"lost_core_seconds": 30.5`)
}

func TestTableOfManyHeldJobs(t *testing.T) {
	r := finished()
	for range 11 {
		r.Workload.Jobs, r.Outcomes = append(r.Workload.Jobs, r.Workload.Jobs[2]), append(r.Outcomes, r.Outcomes[2])
	}
	var out strings.Builder
	require.NoError(t, report.Table(&out, report.Run{}, r, nil))
	require.Regexp(t, `jobs held \(left out of the means\) +│ +12 `, out.String())
	require.Equal(t, 10, strings.Count(out.String(), "held: 2.0 fits nowhere\n"))
	require.True(t, strings.HasSuffix(out.String(), "\nheld: 2 more\n"))
}

// write writes the table of jobs to a file.
func write(path string) error {
	file, err := report.CreateJobs(path)
	if err != nil {
		return err
	}
	defer file.Discard()
	return file.Write(finished())
}

// rows returns the expected table of jobs.
func rows(t *testing.T) string {
	t.Helper()
	var want strings.Builder
	require.NoError(t, report.WriteJobs(&want, finished()))
	return want.String()
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestJobsFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.csv")
	const before = "something longer than a table of jobs could ever be…\n"
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	file, err := report.CreateJobs(path)
	require.NoError(t, err)
	require.Equal(t, before, content(t, path), "until the table is whole")
	require.NoError(t, file.Write(finished()))
	file.Discard()
	require.Equal(t, rows(t), content(t, path))
	require.Equal(t, []string{"jobs.csv"}, names(t, dir), "no other file is left")
}

// The end of the name says the format; the rows are the same.
func TestFormatsOfTheTableOfJobs(t *testing.T) {
	dir := t.TempDir()
	for _, end := range []string{".csv", ".csv.gz", ".csv.zst"} {
		path := filepath.Join(dir, "jobs"+end)
		require.NoError(t, write(path))
		packedText := content(t, path)
		require.Equal(t, end == ".csv", packedText == rows(t), end)
		text, err := packed.NewReader(strings.NewReader(packedText))
		require.NoError(t, err)
		plain, err := io.ReadAll(text)
		require.NoError(t, err)
		require.Equal(t, rows(t), string(plain), end)
	}
	path := filepath.Join(dir, "jobs.parquet")
	require.NoError(t, write(path))
	type job struct {
		ID    string `parquet:"id"`
		Start *int64 `parquet:"start"`
		Cpus  int64  `parquet:"cpus"`
		User  string `parquet:"user"`
	}
	got, err := parquet.ReadFile[job](path)
	require.NoError(t, err)
	require.Equal(t, []job{{"1.0", new(int64(5)), 6, `eve "the" user`}, {"1.1", new(int64(2)), 1, ""}, {"2.0", nil, 9, "7"}},
		got)
	for _, wrong := range []string{"jobs", "jobs.json", "jobs.csv.xz", "csv"} {
		_, err = report.CreateJobs(filepath.Join(dir, wrong))
		require.ErrorContains(t, err, wrong+": its format is not known; end the name with one of .csv, .csv.gz, "+
			".csv.zst, .parquet")
	}
	require.Len(t, names(t, dir), 4)
}

func TestAJobsFileThatIsNotWanted(t *testing.T) {
	dir := t.TempDir()
	file, err := report.CreateJobs(filepath.Join(dir, "jobs.csv"))
	require.NoError(t, err)
	file.Discard()
	require.Empty(t, names(t, dir))
	(*report.JobsFile)(nil).Discard()
}

func TestJobsFileKeepsTheUmask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.csv")
	plain, err := os.Create(path + ".plain")
	require.NoError(t, err)
	require.NoError(t, plain.Close())
	require.NoError(t, write(path))
	want, err := os.Stat(path + ".plain")
	require.NoError(t, err)
	got, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, want.Mode(), got.Mode())
}

func TestJobsFileBehindALink(t *testing.T) {
	for _, there := range []bool{true, false} {
		dir := t.TempDir()
		link, target := filepath.Join(dir, "link.csv"), filepath.Join(dir, "folder", "target.csv")
		require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
		require.NoError(t, os.Symlink(filepath.Join("folder", "target.csv"), link))
		if there {
			require.NoError(t, os.WriteFile(target, nil, 0o600))
		}
		require.NoError(t, write(link))
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink, "target is there: %v", there)
		require.Equal(t, rows(t), content(t, target))
		require.Equal(t, []string{"target.csv"}, names(t, filepath.Join(dir, "folder")))
	}
}

func TestJobsFileThatIsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(path) // a missing file fails the comparison
		read <- string(text)
	}()
	require.NoError(t, write(path))
	require.Equal(t, rows(t), <-read)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)
}

func TestErrorsOfAJobsFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, path := range []string{"missing/jobs.csv", "missing/", "folder", "folder/", "file/jobs.csv", "file/", ""} {
		t.Run(path, func(t *testing.T) {
			full := dir + "/" + path
			_, err := report.CreateJobs(full)
			require.ErrorContains(t, err, "write the table of jobs")
			require.ErrorContains(t, err, full)
			require.NotContains(t, err.Error(), "/.", "the file asked for, not the one beside it")
			require.Equal(t, []string{"file", "folder"}, names(t, dir))
			require.Empty(t, names(t, filepath.Join(dir, "folder")))
		})
	}
	t.Run("unwritable", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("skipped: nothing is unwritable for root")
		}
		require.NoError(t, os.Chmod(filepath.Join(dir, "folder"), 0o500)) //nolint:gosec // a folder
		require.ErrorIs(t, write(filepath.Join(dir, "folder", "jobs.csv")), os.ErrPermission)
	})
	t.Run("its place is taken", func(t *testing.T) {
		path := filepath.Join(dir, "taken.csv")
		file, err := report.CreateJobs(path)
		require.NoError(t, err)
		require.NoError(t, os.Mkdir(path, 0o755))
		err = file.Write(finished())
		require.ErrorContains(t, err, "write the table of jobs to "+path+": ")
		require.NotContains(t, err.Error(), "/.")
		file.Discard()
		require.Equal(t, []string{"file", "folder", "taken.csv"}, names(t, dir))
	})
	t.Run("no room", func(t *testing.T) {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("skipped: there is no /dev/full")
		}
		require.ErrorContains(t, write("/dev/full"), "write the table of jobs to /dev/full: no space left on device")
	})
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
