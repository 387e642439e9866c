package schedules_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// put writes a file and returns its path.
func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const head = "id,submit,start,end,guarantee,nodes,cpus,memory,estimate,run,user,how,slots\n"

func TestRead(t *testing.T) {
	s, err := schedules.Read(put(t, "a.csv", head+
		"'7.10,-5,0,60,,1,4,0,100,60,'=eve,head,m×1\n"+
		"7.2,0,,,,1,8,0,,40,,,\n"+
		"7.3,0,9,,,1,8,0,,40,bob,queue,m×1\n"+
		"7.4,1,1,2,,1,1,0,10,1,bob,scavenger,m×1\n"))
	require.NoError(t, err)
	require.Equal(t, []schedules.Row{
		{Job: "7.10", Submit: -5, End: 60, Started: true, Ended: true, Run: 60, Estimate: 100, Cpus: 4, User: "=eve"},
		{Job: "7.2", Run: 40, Cpus: 8},
		{Job: "7.3", Start: 9, Started: true, Run: 40, Cpus: 8, User: "bob"},
	}, s.Rows)
	require.Equal(t, 1, s.Scavengers)

	s, err = schedules.Read(put(t, "b.csv", "\ufeffcpus,run,end,start,submit,id\r\n1,2,3,1,0,a\r\n"))
	require.NoError(t, err, "in any order, without the rest, as spreadsheets write them")
	require.Equal(t, []schedules.Row{{Job: "a", Start: 1, End: 3, Started: true, Ended: true, Run: 2, Cpus: 1}}, s.Rows)
	s, err = schedules.Read(put(t, "d.csv", head+"\"a\x1b[2J\",0,0,1,,1,1,0,,1,\"b\x07\",,\n"))
	require.NoError(t, err)
	require.NotContains(t, s.Rows[0].Job+s.Rows[0].User, "\x1b", "names cannot move a terminal's cursor")
	require.NotContains(t, s.Rows[0].Job+s.Rows[0].User, "\x07")
	s, err = schedules.Read(put(t, "c.csv", head))
	require.NoError(t, err)
	require.Empty(t, s.Rows)
}

// What a run writes is read back, the same in every format.
func TestTablesOfARun(t *testing.T) {
	result, err := pagetest.Simulate(pagetest.Trace("made-up", 300, 16, 1), "easy")
	require.NoError(t, err)
	var first []schedules.Row
	for _, name := range []string{"j.csv", "j.csv.gz", "j.csv.zst", "j.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		file, err := jobtable.Create(path)
		require.NoError(t, err)
		require.NoError(t, file.Write(result))
		s, err := schedules.Read(path)
		require.NoError(t, err, name)
		require.Len(t, s.Rows, 300)
		if first == nil {
			first = s.Rows
		}
		require.Equal(t, first, s.Rows, name)
	}
	for i, row := range first {
		o := result.Outcomes[i]
		require.Equal(t, int64(o.Start), row.Start)
		require.Equal(t, int64(o.End), row.End)
		require.Equal(t, result.Workload.Jobs[i].Name, row.Job)
	}
}

func TestWrongFiles(t *testing.T) {
	line := "1,0,0,60,,1,4,0,100,60,u,head,m×1\n"
	for text, want := range map[string]string{
		"":                                  "the file is empty",
		head + "1,x" + line[3:]:             `:2:3: column submit: "x" is no whole number; write the table anew with condorsim run --jobs-out`,
		head + line + "2,7,3" + line[5:]:    ":3:5: column start: the job starts at 3, before it is submitted at 7",
		head + "1,0,,60" + line[8:]:         ":2:5: column start: the job ends and does not start",
		head + "1,0,70,60" + line[8:]:       ":2:8: column end: the job ends at 60, before it starts at 70",
		head + line[1:]:                     ":2:1: column id: the job has no name",
		head + "1,0,0,60,,1,-4" + line[13:]: ":2:13: column cpus: a job cannot have fewer than 0 cpus",
		head + "1,9000000000000000,,,,1,4,0,,60,u,,\n": ":2:3: column submit: 9000000000000000 is out of all bounds",
		head + "1,0,0\n":                              ":2:1: the line has more or fewer cells than the first one has names",
		head + "1,0,\"0\"x" + line[5:]:                "a quotation mark is where none can be",
		"id,submit,start,end\n1,0,0,60\n":             ":1: the table has no column run, cpus; write it anew with condorsim run --jobs-out, and keep its columns id, submit, start, end, run, cpus",
		strings.Replace(head, "how", "run", 1) + line: ":1: two columns are named run",
		"; MaxProcs: 8\n1 0 -1 60 4 -1 -1 4 100 -1 1 -1 1 -1 -1 -1 -1 -1\n": "holds a trace in the Standard Workload Format, and not what " +
			"became of the jobs; run it first: condorsim run FILE --jobs-out jobs.csv",
		`{"processors": 4, "jobs": [{"id": 1, "submit": 0, "run": 60}]}`: "holds an instance, and not what became of the jobs; run it first",
		"ClusterId = 1\nOwner = \"x\"\n":                                 "holds ads of HTCondor, and no schedule",
		"classes:\n  - {count: 2}\n":                                     "looks like YAML, as descriptions of pools, sweeps and configurations are, which is not read; give a table",
		"<!DOCTYPE html>\n<html>":                                        "looks like a web page, which is not read; give a table of jobs",
		"PK\x03\x04\x14\x00":                                             "looks like a zip archive, or a spreadsheet",
		"trace,policy,wait\na,easy,7\n":                                  "looks like a table with column names, which is not read",
		"some words\n":                                                   "is no table of jobs; give a table of jobs that condorsim run --jobs-out wrote",
		"PAR1 and nothing else":                                          "the Parquet file is damaged",
		"\x1f\x8b and nothing":                                           "the gzip file is damaged",
	} {
		_, err := schedules.Read(put(t, "wrong.csv", text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "wrong.csv")
	}
	_, err := schedules.Read(filepath.Join(t.TempDir(), "none.csv"))
	require.ErrorContains(t, err, "none.csv: no such file or directory; check the path")
}

// However a Parquet file is damaged, it is read or there is an error that names it.
func TestDamagedParquet(t *testing.T) {
	result, err := pagetest.Simulate(pagetest.Trace("made-up", 60, 16, 1), "easy")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "j.parquet")
	file, err := jobtable.Create(path)
	require.NoError(t, err)
	require.NoError(t, file.Write(result))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range thorough.Cases(200, 5000) {
		damaged := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			damaged[4+random.IntN(len(damaged)-4)] = byte(random.Uint32())
		}
		if random.IntN(4) == 0 {
			damaged = damaged[:4+random.IntN(len(damaged)-4)]
		}
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if _, err = schedules.Read(path); err != nil {
			refused++
			require.ErrorContains(t, err, path)
		}
	}
	require.Positive(t, refused)
}

// Whatever is in a file, it is read or there is an error that names it.
func FuzzRead(f *testing.F) {
	f.Add([]byte(head + "1,0,0,60,,1,4,0,100,60,u,head,m×1\n"))
	f.Add([]byte("PAR1\x15\x04PAR1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := put(t, "any", string(text))
		if _, err := schedules.Read(path); err != nil {
			require.ErrorContains(t, err, path)
		}
	})
}
