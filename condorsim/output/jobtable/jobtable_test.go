package jobtable_test

import (
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

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
	}
}

func TestJobs(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "jobs.csv"))
	require.NoError(t, err)
	require.Equal(t, string(want), rows(t))
}

// A spreadsheet runs what begins like a formula; names are other people's texts.
func TestNamesThatAreFormulas(t *testing.T) {
	const formula = "=cmd|' /C calc'!A0"
	r := finished()
	r.Workload.Jobs[0].User, r.Workload.Slots[0].Name = formula, "@n1"
	path := filepath.Join(t.TempDir(), "jobs.csv")
	for _, raw := range []bool{false, true} {
		file, err := jobtable.Create(path)
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

// A resource has a column if the pool has it or a job asks for it: the job's total, which is missing
// where only a slot could tell.
func TestResources(t *testing.T) {
	r := finished()
	w := r.Workload
	w.Schema.Resources = []string{"cpus", "memory", "disk", "gpus", "licences"}
	for i := range w.Slots {
		w.Slots[i].Capacity = backfill.Vector{4, 100, 0, 2, 0}
	}
	for i, text := range []string{
		"RequestCpus = 3\nRequestGPUs = 1", "RequestGPUs = TARGET.GPUs", "RequestLicences = 2\nRequestCpus = 1",
	} {
		ad, err := classad.ParseOld(text)
		require.NoError(t, err)
		w.Jobs[i].Ad = ad
	}
	var out strings.Builder
	require.NoError(t, jobtable.Write(&out, r))
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	for i, want := range [][]string{
		{"slots", "gpus", "licences", "cluster", "proc"},
		{"b, c×1 a×1", "2", "0", "1", "0"},
		{"a×1", "", "", "1", "1"},
		{"", "0", "18", "2", "0"},
	} {
		require.Equal(t, want, rows[i][12:])
	}
}

func TestNoJobs(t *testing.T) {
	r := finished()
	r.Workload.Jobs, r.Outcomes = nil, nil
	var out strings.Builder
	require.NoError(t, jobtable.Write(&out, r))
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "the header")
}

// write writes the table of jobs to a file.
func write(path string) error {
	file, err := jobtable.Create(path)
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
	require.NoError(t, jobtable.Write(&want, finished()))
	return want.String()
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.csv")
	const before = "something longer than a table of jobs could ever be…\n"
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	file, err := jobtable.Create(path)
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
		_, err = jobtable.Create(filepath.Join(dir, wrong))
		require.ErrorContains(t, err, wrong+": its format is not known; end the name with one of .csv, .csv.gz, "+
			".csv.zst, .parquet")
	}
	require.Len(t, names(t, dir), 4)
	for _, capitals := range []string{"O.CSV", "o.Csv.GZ", "O.PARQUET"} {
		require.NoError(t, write(filepath.Join(dir, capitals)))
	}
	require.Equal(t, content(t, filepath.Join(dir, "jobs.csv")), content(t, filepath.Join(dir, "O.CSV")))
	require.True(t, strings.HasPrefix(content(t, filepath.Join(dir, "o.Csv.GZ")), "\x1f\x8b"))
	require.True(t, strings.HasPrefix(content(t, filepath.Join(dir, "O.PARQUET")), "PAR1"))
}

func TestAFileThatIsNotWanted(t *testing.T) {
	dir := t.TempDir()
	file, err := jobtable.Create(filepath.Join(dir, "jobs.csv"))
	require.NoError(t, err)
	file.Discard()
	require.Empty(t, names(t, dir))
	(*jobtable.File)(nil).Discard()
}

func TestFileKeepsTheUmask(t *testing.T) {
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

func TestFileBehindALink(t *testing.T) {
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

func TestFileThatIsAPipe(t *testing.T) {
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

func TestErrorsOfAFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, path := range []string{"missing/jobs.csv", "missing/", "folder", "folder/", "file/jobs.csv", "file/", ""} {
		t.Run(path, func(t *testing.T) {
			full := dir + "/" + path
			_, err := jobtable.Create(full)
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
		file, err := jobtable.Create(path)
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
