package pbs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pbs"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

const begin = 1_719_741_000 // 2024-06-30 09:50:00 UTC

// ended is the record of a job's end as PBS Professional writes it.
const ended = `06/30/2024 10:20:00;E;12.server;user=eve group=lab account="Big Lab" project=_pbs_project_default jobname=fold ` +
	`queue=workq ctime=1719741000 qtime=1719741000 etime=1719741300 start=1719741600 exec_host=n1/0*8+n2/0*8+n3/1 ` +
	`exec_vnode=(n1:ncpus=8:mem=4194304kb:ngpus=1)+(n2:ncpus=8:mem=4194304kb:ngpus=1)+(n3:ncpus=1) ` +
	`Resource_List.mem=9gb Resource_List.ncpus=17 Resource_List.ngpus=2 Resource_List.nodect=3 Resource_List.place=scatter ` +
	`Resource_List.select=2:ncpus=8:mem=4gb:ngpus=1+1:ncpus=1 Resource_List.walltime=01:00:00 session=4711 ` +
	`end=1719742800 Exit_status=0 resources_used.cpupercent=98 resources_used.cput=02:40:00 resources_used.mem=1048577kb ` +
	`resources_used.ncpus=17 resources_used.vmem=2gb resources_used.walltime=00:20:00 eligible_time=00:05:00 run_count=1`

func read(t *testing.T, text string, o workload.Options) *workload.Trace {
	t.Helper()
	trace, err := pbs.Read(strings.NewReader(text), "20240630", o)
	require.NoError(t, err)
	return trace
}

// Every field that counts is used.
func TestFields(t *testing.T) {
	trace := read(t, ended, workload.Options{Memory: 65536, GPUs: 4})
	require.Equal(t, []workload.Job{{
		ID: 12, Run: 1200, Estimate: 3600, Procs: 17, Memory: 9216, GPUs: 2, Wait: 300, Waited: 300, Held: true, HasWaited: true,
		User: "eve", Group: "lab", Executable: "fold", Queue: "workq",
	}}, trace.Jobs)
	require.Equal(t, "20240630", trace.Name)
	require.EqualValues(t, begin+300, trace.Header.Start())
	require.EqualValues(t, 17, trace.Machine.Processors)
	require.Equal(t, 1, trace.Cleaning.HeldBefore)
	require.Equal(t, map[int64]int{1: 1}, trace.Statuses)
	require.Empty(t, trace.Warnings)
	require.EqualValues(t, 1025, read(t, ended, workload.Options{
		Memory: 65536, MemoryModel: workload.MemoryUsed,
	}).Jobs[0].Memory)
}

// job returns the record of the end of job 1.server with further attributes.
func job(attributes string) string {
	return "06/30/2024 10:20:00;E;1.server;user=eve ctime=1719741000 start=1719741600 end=1719742800 " + attributes + "\n"
}

func TestAmounts(t *testing.T) {
	for attributes, want := range map[string]workload.Job{
		"Resource_List.select=2:ncpus=8:mem=4gb:ngpus=1+1:ncpus=1":                          {Procs: 17, Memory: 8192, GPUs: 2},
		"Resource_List.select=3:mem=100mb":                                                  {Procs: 3, Memory: 300},
		"Resource_List.select=ncpus=4:mpiprocs=2":                                           {Procs: 4},
		"Resource_List.select=1:ncpus=4:host=n1+2:ncpus=2":                                  {Procs: 8},
		`Resource_List.select="1:ncpus=4:color='a b'"`:                                      {Procs: 4},
		"Resource_List.nodes=2:ppn=8:gpus=1 Resource_List.ncpus=1":                          {Procs: 16, GPUs: 2},
		"Resource_List.nodes=n1:ppn=4+n2:fast Resource_List.pmem=1gb":                       {Procs: 5, Memory: 5120},
		"Resource_List.nodes=2:ppn=4#shared":                                                {Procs: 8},
		"Resource_List.neednodes=2:ppn=2":                                                   {Procs: 4},
		"Resource_List.ncpus=6 Resource_List.vmem=1048577kb":                                {Procs: 6, Memory: 1025},
		"Resource_List.procs=7 Resource_List.gpus=3":                                        {Procs: 7, GPUs: 3},
		"Resource_List.nodect=2":                                                            {Procs: 2},
		"exec_host=n1/0+n1/1+n2/0 Resource_List.nodes=2:ppn=8":                              {Procs: 3},
		"exec_host=n1/0-7,9+n2/3":                                                           {Procs: 10},
		"exec_host=n1/0*4+n2/0":                                                             {Procs: 5},
		"exec_vnode=(n1[0]:ncpus=4+n1[1]:ncpus=2:ngpus=1)+(n2:ncpus=1) exec_host=n1/0*6":    {Procs: 7, GPUs: 1},
		"exec_vnode=(n1) Resource_List.ncpus=5":                                             {Procs: 5},
		"Resource_List.ncpus=1 Resource_List.mem=2097152kb":                                 {Procs: 1, Memory: 2048},
		"Resource_List.ncpus=1 Resource_List.mem=100mw":                                     {Procs: 1, Memory: 800},
		"Resource_List.ncpus=1 Resource_List.mem=1048577b":                                  {Procs: 1, Memory: 2},
		"Resource_List.ncpus=1 Resource_List.mem=1048576":                                   {Procs: 1, Memory: 1},
		"Resource_List.ncpus=1 Resource_List.mem=1TB":                                       {Procs: 1, Memory: 1 << 20},
		"Resource_List.ncpus=1 Resource_List.mem=1024w Resource_List.pmem=3gb":              {Procs: 1, Memory: 1},
		"Resource_List.ncpus=1 resources_used.mem=3000kb":                                   {Procs: 1, Memory: 3},
		"Resource_List.select=1:ncpus=2:mem=1gb Resource_List.ncpus=2 Resource_List.mem=4g": {Procs: 2, Memory: 4096},
	} {
		j := read(t, job(attributes), workload.Options{Memory: 1e12}).Jobs[0]
		records, err := pbs.Records(job(attributes))
		require.NoError(t, err)
		require.Equal(t, want, workload.Job{Procs: j.Procs, Memory: j.Memory, GPUs: max(0, records[0].GPUs)}, attributes)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]int64{
		"00:30:00": 1800, "90:00": 5400, "7200": 7200, "2:00:00:00": 172800, "1500.5": 1501, "1500.0": 1500, "": 1200, "60": 1200,
	} {
		j := read(t, job("Resource_List.ncpus=1 Resource_List.walltime="+text), workload.Options{}).Jobs[0]
		require.Equal(t, want, j.Estimate, text) // at least the run time
	}
}

func TestQuotes(t *testing.T) {
	for text, want := range map[string][2]string{
		`jobname=a group=b`:                      {"a", "b"},
		`jobname="my job" group='x "y" z'`:       {"my job", `x "y" z`},
		`jobname="a\"b c" group="d\\e"`:          {`a"b c`, `d\e`},
		`jobname=O'Brien's group=b`:              {"O'Brien's", "b"},
		`jobname=my own job group=b`:             {"my own job", "b"}, // as Torque does
		`jobname="a group=b`:                     {`"a`, "b"},
		`jobname= group=b=c`:                     {"", "b=c"},
		`jobname='é ü' group=b;c`:                {"é ü", "b;c"},
		`jobname=a account="Big Lab"`:            {"a", "Big Lab"},
		`jobname=a project=P2`:                   {"a", "P2"},
		`jobname=a group=b account=c project=d`:  {"a", "b"},
		`jobname=a project=_pbs_project_default`: {"a", ""},
	} {
		j := read(t, job("Resource_List.ncpus=1 "+text), workload.Options{}).Jobs[0]
		require.Equal(t, want, [2]string{j.Executable, j.Group}, text)
	}
}

// What became of jobs that have no record of their end, and of those that ran more than once.
func TestRecords(t *testing.T) {
	const attributes = "user=eve queue=q ctime=1719741000 qtime=1719741000 etime=1719741000 "
	start := func(at, id, seconds string) string {
		return "06/30/2024 " + at + ";S;" + id + ";" + attributes + "start=" + seconds +
			" Resource_List.ncpus=2 Resource_List.walltime=01:00:00\n"
	}
	const end = ";user=eve queue=q ctime=1719741000 etime=1719745000 Resource_List.ncpus=2 Exit_status=271 "
	log := "# of June\n\n" +
		"06/30/2024 09:50:00;Q;1.s;queue=q\n" + start("10:00:00", "1.s", "1719741600") +
		"06/30/2024 10:05:00;R;1.s;user=eve\n" + start("10:10:00", "1.s", "1719742200") +
		"06/30/2024 10:20:00;E;1.s" + end + "start=1719742200 end=1719742800\n" + // ran twice
		"06/30/2024 09:50:00;Q;2.s;queue=q\n06/30/2024 09:55:00;D;2.s;requestor=eve@s\n" + // deleted in its queue
		start("10:00:00", "3.s", "1719741600") + // still running
		"06/30/2024 09:50:00;Q;4.s;queue=q\n" + // still queued
		start("10:00:00", "5.s", "1719741600") + "06/30/2024 10:02:00;D;5.s;requestor=eve@s\n" + // deleted while it ran
		start("10:00:00", "6.s", "1719741600") + "06/30/2024 10:02:00;D;6.s;requestor=eve@s\n" +
		"06/30/2024 10:02:10;E;6.s" + end + "start=1719741600 end=1719741730\n" + // the same, and its end
		"06/30/2024 09:50:00;Q;7.s;queue=q\n06/30/2024 09:51:00;A;7.s;Job aborted by PBS Server\n" +
		start("10:00:00", "8.s", "1719741600") + "06/30/2024 10:01:00;A;8.s;Job aborted by PBS Server\n" +
		"06/30/2024 09:50:00;Q;9[].s;queue=q\n06/30/2024 10:30:00;E;9[].s;user=eve\n" + // an array as a whole
		"06/30/2024 10:00:00;L;license;floating license hour:3\n06/30/2024 10:00:00;C;1.s;x\n" +
		"06/30/2024 10:00:00;B;R7.s;owner=root\n06/30/2024 10:00:00;C;3.s;x\n" +
		"06/30/2024 10:20:00;E;10.s;user=eve ctime=1719741000 Resource_List.ncpus=1 Exit_status=0\n" // deleted before it ran

	trace := read(t, log, workload.Options{})
	require.Len(t, trace.Jobs, 2)
	require.Equal(t, workload.Job{
		ID: 1, Run: 600, Estimate: 3600, Procs: 2, Wait: 1200, Waited: 1200, HasWaited: true, User: "eve", Queue: "q",
	}, trace.Jobs[0])
	require.Equal(t, []int64{6, 130}, []int64{trace.Jobs[1].ID, trace.Jobs[1].Run})
	require.Zero(t, trace.Cleaning.HeldBefore)
	require.Equal(t, []workload.Omission{
		{Why: workload.WhyCancelled, Jobs: 3}, {Why: "removed while they ran", Jobs: 2}, {Why: "still in a queue", Jobs: 2},
	}, trace.Cleaning.Dropped())
	require.Equal(t, map[int64]int{-1: 4, 0: 1, 5: 4}, trace.Statuses)
	require.Equal(t, []string{
		"1 jobs ran more than once, as they were queued again: their last run counts",
		`records that say nothing of the runs of jobs are not read: 1 of type "B", 2 of type "C"`,
	}, trace.Warnings)
	require.ElementsMatch(t, []int64{2, 7, 10}, workload.Dropped(trace.Drops, workload.WhyCancelled))

	trace = read(t, log, workload.Options{Clean: workload.CleanNone})
	runs := map[int64]int64{}
	for _, j := range trace.Jobs {
		runs[j.ID] = j.Run
	}
	require.Equal(t, map[int64]int64{1: 600, 3: 3600, 5: 120, 6: 130, 8: 60}, runs)
	require.Equal(t, 1, trace.Cleaning.RunAssumed)
	require.Equal(t, 4, trace.Cleaning.NegativeRun)
}

// Arrays have jobs of one number, and servers begin again with theirs: the trace numbers them anew.
func TestNumbers(t *testing.T) {
	end := func(id string, created int) string {
		at := func(n int) string {
			return " " + []string{"ctime=", "start=", "end="}[n] + string(rune('1'+created)) + "0000000" + string(rune('0'+n))
		}
		return "06/30/2024 10:20:00;E;" + id + ";Resource_List.ncpus=1" + at(0) + at(1) + at(2) + "\n"
	}
	trace := read(t, end("7[2].s", 1)+end("7[0].s", 1)+end("8-1.s", 0)+end("3.s", 3)+end("3.s", 4), workload.Options{})
	ids := []int64{}
	for _, j := range trace.Jobs {
		ids = append(ids, j.ID)
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5}, ids)
	trace = read(t, end("7.s", 1)+end("3.s", 2), workload.Options{})
	require.EqualValues(t, 7, trace.Jobs[0].ID)
	require.EqualValues(t, 1, read(t, end("name", 1), workload.Options{}).Jobs[0].ID)
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "20240630: there is no job in it; give the accounting logs of days on which jobs ended: " +
			"server_priv/accounting/YYYYMMDD",
		"06/30/2024 10:20:00;E;1": "20240630:1: the line has 3 of 4 parts; a line of an accounting log is",
		"\n6/30 10:20;E;1;a=b":    `20240630:2: date: "6/30 10:20" is no date such as 06/30/2024 23:59:59; `,
		job("qtime=now"):          `20240630:1: qtime: "now" is no Unix time; correct the record, or delete its line`,
		job("Resource_List.walltime=1:xx"): `20240630:1: Resource_List.walltime: "1:xx" is no time; give a time such as ` +
			"01:30:00, or seconds",
		job("Resource_List.mem=4q"): `20240630:1: Resource_List.mem: "4q" is no size; give a size such as 4gb, 2097152kb or 100mw`,
		job("Resource_List.select=1:ncpus=x"): `20240630:1: Resource_List.select: "1:ncpus=x" has the amount ncpus=x, which is ` +
			"none; correct",
		job("Resource_List.nodes=2:ppn=x"):                `Resource_List.nodes: "2:ppn=x" has the amount ppn=x`,
		job("Resource_List.select=999999999:ncpus=99999"): `asks for more than 1e12`,
		job("Resource_List.ncpus=-1"):                     `Resource_List.ncpus: "-1" is no number from 0 to 1e12`,
		job("resources_used.mem=x"):                       `resources_used.mem: "x" is no size`,
		job("Resource_List.pmem=x"):                       `Resource_List.pmem: "x" is no size`,
		job("Resource_List.vmem=9999999999pb"):            `Resource_List.vmem: "9999999999pb" is no size`,
	} {
		_, err := pbs.Read(strings.NewReader(text), "20240630", workload.Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := pbs.Read(strings.NewReader(ended), "x", workload.Options{Clean: "x"})
	require.ErrorContains(t, err, "clean")
	_, err = pbs.Read(strings.NewReader(strings.Repeat("x", 17<<20)), "x", workload.Options{})
	require.ErrorContains(t, err, "x:1: the line has more than 16 MiB; this is no log of jobs")
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		ended, job("Resource_List.nodes=2:ppn=8:gpus=1"), job(`jobname="a\"b c" exec_host=n1/0-7,9+n2/3`),
		"06/30/2024 10:00:00;S;1[3].s;ctime=1 start=2\n06/30/2024 10:02:00;D;1[3].s;requestor=eve@s\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := pbs.Read(strings.NewReader(text), "log", workload.Options{Memory: 1 << 30, Clean: workload.CleanNone})
		if err != nil {
			require.Contains(t, err.Error(), "log")
			return
		}
		for _, j := range trace.Jobs {
			require.GreaterOrEqual(t, j.Run, int64(0))
			require.GreaterOrEqual(t, j.Submit, int64(0))
			require.Positive(t, j.Procs)
			require.GreaterOrEqual(t, j.Estimate, j.Run)
		}
	})
}

func FuzzReadNodes(f *testing.F) {
	for _, seed := range []string{
		"n1\n  state = free\n  np = 3\n  status = ncpus=2,physmem=7kb\n", `{"pbs_version": "1", "nodes": {"a": {"pcpus": 1}}}`,
		"n1\n     Mom = n1\n     state = down,offline\n     resources_available.mem = 7gb\n\nn2\n     pcpus = 4\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := pbs.ReadNodes(strings.NewReader(text), "nodes")
		if err != nil {
			require.Contains(t, err.Error(), "nodes")
			return
		}
		for _, n := range nodes.Usable {
			require.Positive(t, n.Cpus)
		}
	})
}
