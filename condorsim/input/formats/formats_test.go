package formats_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		format *formats.Format
		texts  []string
	}{
		{formats.SWF, []string{
			"", "\n", "; MaxProcs: 4\n1 0 -1", "1 0 -1 60", "-1 0", "hello", "; a, b, c, d | e | f | g\n1 0",
			"; JobID User\n1 0",
			semicolons, strings.ReplaceAll(semicolons, ";", "\t"), "1,0,-1,15,4,-1,-1,4,420,-1,1,1,1,-1,1,1,-1,-1", headed,
			"# a dialect\n" + headed,
			"1 0 0 5 1 {7,7,7,7,7}", "1 0 0 5 1 a|b|c|d", "1 0 0 JobID x",
		}},
		{formats.Ads, []string{
			"ClusterId = 1\n", "  a=1", "*** Offset = 0", "\n-- Schedd: a.example.org : <192.0.2.1:9618?...\nJobs = 1",
			`{"ClusterId": 1}`, "[ClusterId = 1]", "[\n{\"ClusterId\": 1,\n\"Args\": \"a,b,c,d\"}]",
			`<?xml version="1.0"?>`, "# a comment\n", "JobID = 7\n", "A = \"x|y|z|\"\n", `{"Args": "x|y|z|"}`, "Args = \"a,b,c,d,e\"\n",
		}},
		{formats.Slurm, []string{
			"JobID|JobName|State\n1|a|COMPLETED\n", "User|JobIDRaw|Elapsed|\n", "# of May\nJobIDRaw|X\n",
			"JobID,User,State\n", "State\tJobID\tElapsed\n", `{"jobs": []}`,
			`{"jobs": [{"account": "a", "comment": {"job": ""}, "allocation_nodes": 1`,
			"{\n \"meta\": {\"plugin\": {\"type\": \"openapi\\/dbv0.0.38\"}}, \"jobs\": [",
			`{"meta": {"command": ["sacct", "--json"]}, "jobs": [{`,
		}},
		{formats.Instance, []string{
			`{"processors": 4, "jobs": []}`, "{\n \"name\": \"x\",\n \"jobs\": [", `{"expected": {}}`,
		}},
		{formats.PBS, []string{"04/01/2013 00:00:22;E;12345.server;user=eve\n", "# of April\n04/01/2013 00:00:22;L;license;x"}},
		{formats.GWF, []string{
			"# JobID SubmitTime WaitTime RunTime NProcs OrigSiteID\n1 0 0 5 1", "1" + strings.Repeat(" -1", 28) + "\n",
			"# GWF\n1 0 0 5 1",
		}},
		{formats.EventLog, []string{
			"000 (12.000.000) 2024-06-01 10:00:00 Job submitted", "000 (12.000.000) 06/01 10:00:00 Job submitted",
			"{\n  \"MyType\": \"SubmitEvent\",\n  \"EventTypeNumber\": 0\n}", "[ EventTypeNumber = 0 ]",
			"<c>\n    <a n=\"MyType\"><s>SubmitEvent</s></a>\n<a n=\"EventTypeNumber\"><i>0</i></a>",
		}},
		{formats.Batsim, []string{
			`{"nb_res": 4, "jobs": [{"id": "1", "subtime": 0}], "profiles": {}}`, "{\n \"jobs\": [\n  {\"id\": \"1\", \"subtime\": 0",
			`{"profiles": {}}`,
		}},
	} {
		for _, text := range c.texts {
			source, err := formats.Open(strings.NewReader(text), "x")
			require.NoError(t, err, text)
			require.Equal(t, c.format.Holds, source.Format.Holds, text)
			source.Close()
		}
	}
}

// Dialects of SWF: other separators, and a line of column names.
const (
	semicolons = "1;0;-1;15;4;-1;-1;4;420;-1;1;1;1;-1;1;1;-1;-1;\n2;5;-1;20;2;-1;-1;2;60;-1;1;1;1;-1;1;1;-1;-1;\n"
	headed     = "id\tsubmit\twait\truntime\tcpus\tcputime\tmem\tcpusreq\twalltime\tmemreq\tstatus\tuser\tgroup\tapp\tqueue\t" +
		"part\tprec\tthink\n1\t0\t0\t60\t2\t-1\t-1\t2\t100\t-1\t1\t1\t1\t1\t1\t1\t-1\t0\n"
)

func TestFormatsThatAreNotRead(t *testing.T) {
	const (
		sacctTable = "x: looks like the table that sacct prints for people, in which texts are cut off, which is not read; " +
			"print it with -P: sacct -a -P"
		squeue = "x: looks like the queue of Slurm, as squeue prints it, which is not read; print the jobs that ended with " +
			"sacct -a -P"
	)
	for text, want := range map[string]string{
		"JobID           JobName  Partition\n------- ---------- -----\n": sacctTable,
		"       JobID\n------------\n":                                   sacctTable,
		"17|bash|COMPLETED|0:0\n": "x: looks like rows of sacct without titles, which is not read; print the titles: sacct -P " +
			"without --noheader",
		"             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n": squeue,
		"{\"meta\": {}, \"jobs\": [{\"account\": \"a\", \"accrue_time\": 0, \"job_state\": [\"RUNNING\"]": "x: looks like " +
			"the queue or the nodes of Slurm, as squeue, scontrol and sinfo print them with --json, which is not read; print " +
			"jobs that ended: sacct -a --json",
		"NodeName=n1 Arch=x86_64\n": "x: looks like the nodes of a cluster of Slurm, which is not read; give it with --pool, " +
			"and jobs as sacct -a -P prints them",
		"classes:\n  - {count: 4}\n": "x: looks like YAML, as descriptions of pools, sweeps and configurations are, which is not " +
			"read; give a pool with --pool, and a sweep to condorsim sweep",
		"04/01/2013 00:00:22;0100;PBS_Server;Job;1.a;x\n": "x: looks like the log of a server of PBS or Torque, which is " +
			"not read; give the accounting log, server_priv/accounting/YYYYMMDD",
		"id,name,start,end\n1,a,b,c\n": "x: looks like comma-separated values, which is not read; give it columns of numbers, " +
			"named submit, run, procs and so on, or convert it to SWF, which condorsim workload formats describes",
		"id,submit,start,end,run\n1,0,0,5,5\n": "x:1: column 3 is named start, which is no known name of a field; known are id, " +
			"submit, wait, run, procs, cputime, mem, reqprocs, reqtime, reqmem, status, user, group, app, queue, partition, " +
			"preceding, think, and what they are short for; rename the column, or leave it out",
		" ID     OWNER          SUBMITTED   RUN_TIME     ST COMPLETED CMD\n": "x: looks like the table that condor_history " +
			"and condor_q print for people, which is not read; print ads: with -long, -json or -xml",
		"-- Schedd: a : <192.0.2.1:9618?... @ 01/01\nOWNER BATCH_NAME\n": "x: looks like the table that condor_history " +
			"and condor_q print for people, which is not read; print ads: with -long, -json or -xml",
	} {
		_, err := formats.Read(strings.NewReader(text), "x", formats.Options{})
		require.EqualError(t, err, want)
		_, err = formats.ReadEnded(strings.NewReader(text), "x", formats.EndedOptions{})
		require.EqualError(t, err, want)
	}
}

// What is said to be an instance and is surely something else is called by its name.
func TestOpenInstance(t *testing.T) {
	for text, want := range map[string]string{
		"ClusterId = 1\n": "x: holds job ads and no instance; name it without --instance",
		"04/01/2013 00:00:22;E;12345.server;user=eve\n": "x: holds an accounting log of PBS or Torque and no instance; " +
			"name it without --instance",
		"1 0 -1 60 2 -1 -1 2 100 -1 1 -1 -1 -1 -1 -1 -1 -1\n": "x: holds a trace in the Standard Workload Format and no " +
			"instance; name it without --instance",
		`{"nb_res": 4, "jobs": [], "profiles": {}}`: "x: holds a workload of Batsim and no instance; name it without --instance",
		`{"jobs": []}`:                         "x: holds the accounting of Slurm and no instance; name it without --instance",
		"JobID|JobName|State\n1|a|COMPLETED\n": "x: holds the accounting of Slurm and no instance; name it without --instance",
	} {
		_, err := formats.OpenInstance(strings.NewReader(text), "x")
		require.EqualError(t, err, want)
	}
	for _, text := range []string{"", "{", "\n{\"name\": \"x\"", "hello", "5"} {
		source, err := formats.OpenInstance(strings.NewReader(text), "x")
		require.NoError(t, err, text)
		require.Same(t, formats.Instance, source.Format)
		source.Close()
	}
}

// The reports of progress ascend to the size of the file as it is stored.
func TestProgress(t *testing.T) {
	trace := "; MaxProcs: 4\n" + strings.Repeat("1 0 -1 60 2 -1 -1 2 100 -1 3 7 -1 -1 -1 -1 -1 -1\n", 2000)
	for _, name := range []string{"plain.swf", "packed.swf.gz", "packed.swf.xz", "packed.swf.zst"} {
		var stored bytes.Buffer
		w, err := packed.NewWriter(&stored, name)
		require.NoError(t, err)
		_, err = io.WriteString(w, trace)
		require.NoError(t, errors.Join(err, w.Close()))
		folder := fstest.MapFS{name: &fstest.MapFile{Data: stored.Bytes()}}
		file, err := folder.Open(name)
		require.NoError(t, err)
		var last, size int64
		jobs, err := formats.Read(formats.WithProgress(file, func(done, total int64) {
			require.Greater(t, done, last)
			last, size = done, total
		}), name, formats.Options{Options: workload.Options{Clean: workload.CleanCancelled}})
		require.NoError(t, err)
		require.Equal(t, 2000, jobs.Cleaning.JobsRead)
		require.EqualValues(t, stored.Len(), last)
		require.EqualValues(t, stored.Len(), size)
	}
}

// The accounting of Slurm is read wherever jobs are: to run, to learn from, and for its memory.
func TestSlurm(t *testing.T) {
	const text = "JobID|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocCPUS|State|Eligible|AllocTRES\n" +
		"1|ann|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T10:02:00|60|2|4|COMPLETED|2024-05-01T10:00:00|cpu=4,mem=8G\n"
	for name, pack := range map[string]bool{"folder/jobs.sacct": false, "jobs.txt.gz": true} {
		stored := bytes.NewBufferString(text)
		if pack {
			stored.Reset()
			w, err := packed.NewWriter(stored, name)
			require.NoError(t, err)
			_, err = io.WriteString(w, text)
			require.NoError(t, errors.Join(err, w.Close()))
		}
		all := stored.Bytes()
		jobs, err := formats.Read(bytes.NewReader(all), name, formats.Options{Options: workload.Options{Zone: "Europe/Paris"}})
		require.NoError(t, err)
		require.Nil(t, jobs.History)
		require.Equal(t, "jobs", jobs.Name)
		require.EqualValues(t, 1714550400, jobs.Header.Start())
		ended, err := formats.ReadEnded(bytes.NewReader(all), name, formats.EndedOptions{Until: 500})
		require.NoError(t, err)
		require.Len(t, ended, 1)
		require.Equal(t, []int64{120, 60, 500, 4}, []int64{
			int64(ended[0].Requested), int64(ended[0].Ran), int64(ended[0].At), ended[0].Cpus,
		})
		_, err = formats.ReadMemory(bytes.NewReader(all), name)
		require.NoError(t, err)
	}
}

// Every format that is read can be told from the others and explains itself, and what is written is
// read back.
func TestFormats(t *testing.T) {
	described := formats.Describe()
	jobs, err := formats.Read(strings.NewReader("; MaxProcs: 4\n1 5 -1 60 2 -1 -1 2 100 -1 1 -1 -1 -1 -1 -1 -1 -1\n"),
		"a.swf", formats.Options{})
	require.NoError(t, err)
	for _, f := range formats.All() {
		require.Contains(t, described, "\n\n"+f.Description)
		require.Contains(t, formats.Holdings(), f.Holds)
		if f.Write == nil {
			continue
		}
		for _, name := range []string{"a" + f.Extension, "a" + f.Extension + ".gz"} {
			named, err := formats.Named(name)
			require.NoError(t, err)
			require.Same(t, f, named)
		}
		var text bytes.Buffer
		require.NoError(t, f.Write(jobs.Trace, &text))
		source, err := formats.Open(&text, "a"+f.Extension)
		require.NoError(t, err)
		require.Same(t, f, source.Format)
		again, err := source.Read(formats.Options{})
		require.NoError(t, err)
		source.Close()
		require.Equal(t, jobs.Jobs, again.Jobs)
	}
	for _, name := range []string{"a.txt", "-", "/dev/full", "trace-1.2", "a.SWF", "a.2024.gz"} {
		named, err := formats.Named(name)
		require.NoError(t, err)
		require.Same(t, formats.SWF, named, name)
	}
	for _, name := range []string{"a.csv", "a.parquet", "a.csv.gz", "a.yaml", "a.ads"} {
		_, err := formats.Named(name)
		require.ErrorContains(t, err, "end the name with .swf or .json")
	}
	for _, k := range kinds.All() {
		if !k.Read {
			require.Contains(t, described, "\n  "+k.Holds+"\n")
		}
	}
}

// The instance in the description can be run.
func TestTheDescriptionHasAnInstance(t *testing.T) {
	_, text, found := strings.Cut(formats.Describe(), "\n{\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "\n}\n")
	require.True(t, found)
	jobs, err := formats.Read(strings.NewReader("{"+text+"}"), "formats", formats.Options{})
	require.NoError(t, err)
	require.Len(t, jobs.Jobs, 2)
}

// Job ads become a trace, and keep their ads beside it.
func TestAds(t *testing.T) {
	const ad = "ClusterId = 3\nProcId = 1\nQDate = 1000\nJobStartDate = 1003\nRemoteWallClockTime = 60\n" +
		"RequestCpus = 2\nMaxRuntime = 99\n"
	jobs, err := formats.Read(strings.NewReader(ad), "folder/a.long", formats.Options{
		Ads: history.Options{Estimates: []string{"MaxRuntime"}},
	})
	require.NoError(t, err)
	require.Equal(t, "a", jobs.Name)
	require.EqualValues(t, 99, jobs.Jobs[0].Estimate)
	require.Equal(t, "3.1", jobs.History.Jobs[0].Name)
	jobs, err = formats.Read(strings.NewReader(ad), "a.ads", formats.Options{Options: workload.Options{CPUs: 1}})
	require.NoError(t, err)
	require.Equal(t, 1, jobs.Cleaning.TooWide)
}
