package eventlog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/eventlog"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// classic is a log as a schedd writes it, with every event that is read.
const classic = `# of one day
008 (000.000.000) 2024-06-01 09:59:00 Global JobLog: ctime=1717236000 id=0.1.2 sequence=1 size=0 events=0 offset=0
...
035 (0012.-01.-01) 2024-06-01 10:00:00 Cluster submitted from host: <192.0.2.1:9618?addrs=192.0.2.1-9618>
...
000 (0012.000.000) 2024-06-01 10:00:00 Job submitted from host: <192.0.2.1:9618?addrs=192.0.2.1-9618>
    DAG Node: fold
...
028 (0012.000.000) 2024-06-01 10:00:00 Job ad information event triggered.
Proc = 0
EventTime = "2024-06-01T10:00:00"
TriggerEventTypeName = "ULOG_SUBMIT"
TriggerEventTypeNumber = 0
RequestCpus = 4
RequestMemory = 2048
RequestGPUs = 1
MaxRuntime = 3600
Owner = "eve"
AcctGroup = "group_physics"
QDate = 17
MyType = "JobAdInformationEvent"
Cluster = 12
EventTypeNumber = 28
Subproc = 0
...
000 (0013.000.000) 2024-06-01 10:00:10 Job submitted from host: <192.0.2.1:9618>
...
012 (0013.000.000) 2024-06-01 10:00:10 Job was held.
	submitted on hold at user's request
	Code 15 Subcode 0
...
001 (0012.000.000) 2024-06-01 10:00:05 Job executing on host: <192.0.2.2:9618>
	SlotName: slot1_1@n1.example
	CondorScratchDir = "/var/lib/condor/execute/dir_7"
	Cpus = 4
	Memory = 2048
...
006 (0012.000.000) 2024-06-01 10:00:20 Image size of job updated: 2500000
	1500  -  MemoryUsage of job (MB)
	1400000  -  ResidentSetSize of job (KB)
...
013 (0013.000.000) 2024-06-01 10:05:00 Job was released.
	via condor_release (by user eve)
...
004 (0012.000.000) 2024-06-01 10:10:00 Job was evicted.
	(0) CPU times
		Usr 0 00:10:00, Sys 0 00:00:00  -  Run Remote Usage
	0  -  Run Bytes Sent By Job
...
001 (0013.000.000) 2024-06-01 10:10:00.512 Job executing on host: <192.0.2.2:9618>
...
001 (0012.000.000) 2024-06-01 10:20:00 Job executing on host: <192.0.2.3:9618>
...
006 (0012.000.000) 2024-06-01 10:20:20 Image size of job updated: 2500000
	900  -  MemoryUsage of job (MB)
...
005 (0013.000.000) 2024-06-01 10:30:00 Job terminated.
	(1) Normal termination (return value 0)
		Usr 0 00:19:00, Sys 0 00:00:00  -  Run Remote Usage
	0  -  Run Bytes Sent By Job
	Partitionable Resources :    Usage  Request Allocated
	   Cpus                 :     0.95        2         2
	   Disk (KB)            :       15       15    100000
	   GPUs                 :                 1         1 "GPU-1a2b"
	   Memory (MB)          :       12      128       128

	Job terminated of its own accord at 2024-06-01T10:30:00Z with exit-code 0.
...
005 (0012.000.000) 2024-06-01 10:50:00 Job terminated.
	(0) Abnormal termination (signal 9)
...
000 (0014.000.000) 2024-06-01 10:51:00 Job submitted from host: <192.0.2.1:9618>
...
009 (0014.000.000) 2024-06-01 10:52:00 Job was aborted.
	via condor_rm (by user eve)
...
000 (0015.000.000) 2024-06-01 10:53:00 Job submitted from host: <192.0.2.1:9618>
...
001 (0015.000.000) 2024-06-01 10:54:00 Job executing on host: <192.0.2.2:9618>
...
009 (0015.000.000) 2024-06-01 10:55:00 Job was aborted.
	via condor_rm (by user eve)
...
000 (0016.000.000) 2024-06-01 10:56:00 Job submitted from host: <192.0.2.1:9618>
...
000 (0016.001.000) 2024-06-01 10:56:00 Job submitted from host: <192.0.2.1:9618>
...
001 (0016.001.000) 2024-06-01 10:57:00 Job executing on host: <192.0.2.2:9618>
...
005 (0011.000.000) 2024-06-01 10:58:00 Job terminated.
...
022 (0016.001.000) 2024-06-01 10:58:00 Job disconnected, attempting to reconnect
...
016 (-01.-01.-01) 2024-06-01 10:59:00 POST Script terminated.
	(1) Normal termination (return value 0)
...
`

func read(t *testing.T, text string, o history.Options) *eventlog.Log {
	t.Helper()
	log, err := eventlog.Read(strings.NewReader(text), "event.log", nil, o)
	require.NoError(t, err)
	return log
}

func TestClassic(t *testing.T) {
	log := read(t, classic, history.Options{Estimates: []string{"MaxRuntime"}, WithAds: true, WithOthers: true})
	require.Len(t, log.Jobs, 2)
	first, second := log.Jobs[0], log.Jobs[1]
	require.EqualValues(t, 1717236000, log.Start)
	require.Equal(t, "12.0", first.Name)
	require.Equal(t, workload.Job{
		ID: 1, Run: 1800, Estimate: 3600, Procs: 4, Memory: 2048, GPUs: 1, Wait: 1200, Waited: 1200, HasWaited: true,
		User: "eve", Group: "group_physics",
	}, first.Job)
	require.Equal(t, "13.0", second.Name)
	require.Equal(t, workload.Job{
		ID: 2, Submit: 300, Run: 1200, Procs: 2, Memory: 128, GPUs: 1, Wait: 300, Waited: 300, HasWaited: true,
	}, second.Job)
	require.Equal(t, []history.Amount{{Resource: "disk", Amount: 15}, {Resource: "gpus", Amount: 1}}, log.Others[2])
	require.Equal(t, []string{"disk", "gpus"}, log.Beyond)
	require.Equal(t, 1, log.Cleaning.HeldBefore)
	require.Equal(t, []workload.Omission{
		{Why: workload.WhyCancelled, Jobs: 1},
		{Why: workload.WhyNoSubmit, Jobs: 1},
		{Why: "removed while they ran", Jobs: 1},
		{Why: "still in a queue", Jobs: 2},
	}, log.Cleaning.Dropped())
	require.Equal(t, 7, log.Cleaning.JobsRead)
	require.Equal(t, strings.Count(classic, "\n"), log.Cleaning.Lines)
	require.Equal(t, []string{
		"the log does not say how many cpus 1 of 3 jobs had: one is assumed; job_ad_information_attrs in submit files, or " +
			"EVENT_LOG_JOB_AD_INFORMATION_ATTRS in the configuration, has the log say it",
		"the log does not say whose 2 of 3 jobs are; job_ad_information_attrs in submit files, or " +
			"EVENT_LOG_JOB_AD_INFORMATION_ATTRS in the configuration, has the log say it",
	}, log.Warnings)
}

// The same events as ads, with and without what stands between them.
func TestAds(t *testing.T) {
	const asJSON = `{
 "MyType": "GenericEvent",
 "EventTypeNumber": 8,
 "EventTime": "2024-06-01T10:00:00.365",
 "Info": "Global JobLog: ctime=1"
}
{
 "MyType": "SubmitEvent",
 "EventTypeNumber": 0,
 "EventTime": "2024-06-01T10:00:00",
 "Cluster": 12, "Proc": 0, "Subproc": 0
}
...
{ "MyType": "JobAdInformationEvent", "EventTypeNumber": 28, "EventTime": "2024-06-01T10:00:00", "Cluster": 12, "Proc": 0,
 "MaxRuntime": 3600, "Owner": "eve" }
...
{ "MyType": "ExecuteEvent", "EventTypeNumber": 1, "EventTime": "2024-06-01T10:00:05", "Cluster": 12, "Proc": 0,
 "ExecuteProps": { "Cpus": 4, "Memory": 100 } }
...
{ "MyType": "JobImageSizeEvent", "EventTypeNumber": 6, "EventTime": "2024-06-01T10:00:05", "Cluster": 12, "Proc": 0,
 "MemoryUsage": 77 }
...
{ "MyType": "JobTerminatedEvent", "EventTypeNumber": 5, "EventTime": "2024-06-01T10:20:05", "Cluster": 12, "Proc": 0,
 "RequestCpus": 2, "Cpus": 4, "RequestMemory": 90, "Memory": 100, "TerminatedNormally": true }
`
	const asLines = `MyType = "SubmitEvent"
EventTypeNumber = 0
EventTime = "2024-06-01T10:00:00"
Cluster = 12
Proc = 0
...
EventTypeNumber = 1
EventTime = "2024-06-01T10:00:05"
Cluster = 12
Proc = 0
...
EventTypeNumber = 5
EventTime = "2024-06-01T10:20:05"
Cluster = 12
Proc = 0
RequestCpus = 2
RequestMemory = 90
...
EventTypeNumber = 28
EventTime = "2024-06-01T10:20:05"
Cluster = 12
Proc = 0
MaxRuntime = 3600
Owner = "eve"
...
`
	const asXML = `<?xml version="1.0"?>
<!DOCTYPE classads SYSTEM "classads.dtd">
<classads>
<c><a n="EventTypeNumber"><i>0</i></a><a n="EventTime"><s>2024-06-01T10:00:00</s></a><a n="Cluster"><i>12</i></a><a n="Proc"><i>0</i></a></c>
<c><a n="EventTypeNumber"><i>28</i></a><a n="EventTime"><s>2024-06-01T10:00:00</s></a><a n="Cluster"><i>12</i></a><a n="Proc"><i>0</i></a>
<a n="MaxRuntime"><i>3600</i></a><a n="Owner"><s>eve</s></a></c>
<c><a n="EventTypeNumber"><i>1</i></a><a n="EventTime"><s>2024-06-01T10:00:05</s></a><a n="Cluster"><i>12</i></a><a n="Proc"><i>0</i></a></c>
<c><a n="EventTypeNumber"><i>5</i></a><a n="EventTime"><s>2024-06-01T10:20:05</s></a><a n="Cluster"><i>12</i></a><a n="Proc"><i>0</i></a>
<a n="RequestCpus"><i>2</i></a><a n="RequestMemory"><i>90</i></a></c>
</classads>
`
	for _, text := range []string{asJSON, "# comment\n" + strings.ReplaceAll(asJSON, "...\n", ""), asXML, asLines} {
		log := read(t, text, history.Options{Estimates: []string{"MaxRuntime"}})
		require.Equal(t, []workload.Job{{
			ID: 1, Run: 1200, Estimate: 3600, Procs: 2, Memory: 90, Wait: 5, Waited: 5, HasWaited: true, User: "eve",
		}}, []workload.Job{log.Jobs[0].Job}, text)
		require.Equal(t, strings.Count(text, "\n"), log.Cleaning.Lines)
	}
}

// A parallel job has a chunk for each of its nodes.
func TestParallel(t *testing.T) {
	log := read(t, `000 (7.000.000) 06/01 10:00:00 Job submitted from host: <192.0.2.1:9618>
...
014 (7.000.000) 06/01 10:01:00 Node 0 executing on host: <192.0.2.2:9618>
...
014 (7.000.001) 06/01 10:01:00 Node 1 executing on host: <192.0.2.3:9618>
...
001 (7.000.000) 06/01 10:01:02 Job executing on host: MPI_job
...
015 (7.000.000) 06/01 10:11:00 Node 0 terminated.
	(1) Normal termination (return value 0)
	Partitionable Resources :    Usage  Request
	   Cpus                 :                 3
	   Memory (MB)          :        8        9
...
005 (7.000.000) 06/01 10:11:02 Job terminated.
...
`, history.Options{})
	require.EqualValues(t, 2, log.Jobs[0].Nodes)
	require.Equal(t, workload.Job{
		ID: 1, Run: 600, Procs: 6, Memory: 18, Wait: 62, Waited: 62, HasWaited: true,
	}, log.Jobs[0].Job)
	require.Zero(t, log.Start)
	require.Contains(t, log.Warnings, "the dates of the log have no year: they are of no year in particular")
}

// Dates without a year go on into the next year, and an event may be written late.
func TestYears(t *testing.T) {
	event := func(kind, job, date string) string { return kind + " (" + job + ".000.000) " + date + " Job\n...\n" }
	log := read(t, event("000", "1", "12/31 23:00:00")+event("000", "2", "01/01 01:00:00")+
		event("001", "1", "12/31 23:59:00")+event("001", "2", "01/01 02:00:00")+event("005", "1", "01/02 00:00:00")+
		event("000", "3", "02/29 00:00:00")+event("005", "2", "12/01 02:00:00")+
		event("001", "3", "02/01 00:00:00")+event("005", "3", "02/02 00:00:00"), history.Options{})
	require.Len(t, log.Jobs, 3)
	const hour, day = 3600, 86400
	require.EqualValues(t, day+60, log.Jobs[0].Run)
	require.EqualValues(t, 59*60, log.Jobs[0].Wait)
	require.EqualValues(t, 2*hour, log.Jobs[1].Submit)
	require.EqualValues(t, 334*day, log.Jobs[1].Run)
	require.EqualValues(t, day, log.Jobs[2].Run)
	require.EqualValues(t, 337*day, log.Jobs[2].Wait) // 29 February is 1 March here
}

// More is said of a job behind its end, numbers come again, and the last event may be cut off.
func TestOddities(t *testing.T) {
	const log = `000 (1.000.000) 2024-06-01T10:00:00Z Job submitted
...
001 (1.000.000) 2024-06-01T10:00:10Z Job executing
...
005 (1.000.000) 2024-06-01T10:01:00Z Job terminated.
...
028 (1.000.000) 2024-06-01T10:01:00Z Job ad information event triggered.
RequestCpus = 8
...
000 (1.000.000) 2024-06-01T11:00:00Z Job submitted
...
000 (1.000.000) 2024-06-01T12:00:00Z Job submitted
001 (1.000.000) 2024-06-01T12:00:10Z Job executing
...
007 (1.000.000) 2024-06-01T12:00:20Z Shadow exception!
...
001 (1.000.000) 2024-06-01T12:00:30Z Job executing
...
005 (1.000.000) 2024-06-01T12:01:00Z Job terminated.`
	read := read(t, log, history.Options{})
	require.Len(t, read.Jobs, 2)
	require.Equal(t, []int64{8, 50}, []int64{read.Jobs[0].Procs, read.Jobs[0].Run})
	require.Equal(t, []int64{1, 30}, []int64{read.Jobs[1].Procs, read.Jobs[1].Run})
	require.Equal(t, 1, read.Cleaning.Unfinished)
}

// The two events of a job's end are written one after the other, and those of other jobs may come between.
func TestEndsTogether(t *testing.T) {
	const log = `000 (1.000.000) 2024-06-01 10:00:00 Job submitted
...
000 (2.000.000) 2024-06-01 10:00:00 Job submitted
...
001 (1.000.000) 2024-06-01 10:00:10 Job executing
...
001 (2.000.000) 2024-06-01 10:00:20 Job executing
...
005 (1.000.000) 2024-06-01 10:01:00 Job terminated.
...
005 (2.000.000) 2024-06-01 10:01:00 Job terminated.
...
028 (1.000.000) 2024-06-01 10:01:00 Job ad information event triggered.
RequestCpus = 8
...
000 (2.000.000) 2024-06-01 10:01:01 Job submitted
...
028 (2.000.000) 2024-06-01 10:01:02 Job ad information event triggered.
RequestCpus = 4
...
001 (2.000.000) 2024-06-01 10:01:10 Job executing
...
005 (2.000.000) 2024-06-01 10:01:30 Job terminated.
...
000 (3.000.000) 2024-06-01 10:03:00 Job submitted
...
028 (2.000.000) 2024-06-01 10:03:00 Job ad information event triggered.
RequestCpus = 16
...
`
	jobs := read(t, log, history.Options{}).Jobs
	require.Len(t, jobs, 3)
	require.Equal(t, []int64{8, 50}, []int64{jobs[0].Procs, jobs[0].Run})
	require.Equal(t, []int64{1, 40}, []int64{jobs[1].Procs, jobs[1].Run})
	require.Equal(t, []int64{4, 20}, []int64{jobs[2].Procs, jobs[2].Run})
}

// What HTCondor 23.9 writes: a job that is submitted on hold has no event of that; one that is removed while it
// runs is evicted first; and events 028 repeat what the event before them says.
func TestRealPool(t *testing.T) {
	const log = `000 (002.000.000) 2026-11-30 22:08:23 Job submitted from host: <192.0.2.1:9618>
...
000 (003.000.000) 2026-11-30 22:08:23 Job submitted from host: <192.0.2.1:9618>
...
001 (003.000.000) 2026-11-30 22:08:32 Job executing on host: <192.0.2.1:9618>
	SlotName: slot1_1@pool.test
	CondorScratchDir = "/var/lib/condor/execute/dir_33362"
	Cpus = 1
	GPUs = 0
	Memory = 128
...
013 (002.000.000) 2026-11-30 22:09:14 Job was released.
	via condor_release (by user alice)
...
004 (003.000.000) 2026-11-30 22:09:14 Job was evicted.
	(0) CPU times
		Usr 0 00:00:00, Sys 0 00:00:00  -  Run Remote Usage
...
009 (003.000.000) 2026-11-30 22:09:14 Job was aborted.
	via condor_rm (by user alice)
...
001 (002.000.000) 2026-11-30 22:09:21 Job executing on host: <192.0.2.1:9618>
...
005 (002.000.000) 2026-11-30 22:09:26 Job terminated.
	(1) Normal termination (return value 0)
		Usr 0 00:00:00, Sys 0 00:00:00  -  Run Remote Usage
	0  -  Run Bytes Sent By Job
	Partitionable Resources :    Usage  Request Allocated ` + `
	   Cpus                 :        0        1         1 ` + `
	   Disk (KB)            :       45     1000      2048 ` + `
	   GPUs                 :                           0 ` + `
	   Memory (MB)          :        2       64       128 ` + `
	   TimeExecute (s)      :        5                    ` + `
	   TimeSlotBusy (s)     :        5                    ` + `

	Job terminated of its own accord at 2026-11-30T22:09:26Z with exit-code 0.
...
028 (002.000.000) 2026-11-30 22:09:26 Job ad information event triggered.
Cluster = 2
Cpus = 1
CpusUsage = 0.0
EventTime = "2026-11-30T22:09:26.526"
EventTypeNumber = 28
ExecuteProps = [ Cpus = 1; Disk = 2048; GPUs = 0; Memory = 128 ]
MaxRuntime = 50
Memory = 128
MemoryUsage = 2
MyType = "JobTerminatedEvent"
Owner = "alice"
Proc = 0
ReturnValue = 0
RequestMemory = 64
Size = 2588
ToE = [ How = "OF_ITS_OWN_ACCORD"; Who = "itself"; When = 1796076566 ]
TriggerEventTypeName = "ULOG_JOB_TERMINATED"
TriggerEventTypeNumber = 5
...
`
	read := read(t, log, history.Options{WithAds: true, Whole: true, Estimates: []string{"MaxRuntime"}, Clean: workload.CleanNone})
	require.Equal(t, workload.Job{
		ID: 1, Run: 42, Procs: 1, Memory: 128, Wait: 9, Waited: 9, HasWaited: true,
	}, read.Jobs[0].Job)
	require.Equal(t, workload.Job{
		ID: 2, Submit: 51, Run: 5, Estimate: 50, Procs: 1, Memory: 64, Wait: 7, Waited: 7, HasWaited: true, User: "alice",
	}, read.Jobs[1].Job)
	require.Equal(t, 1, read.Cleaning.HeldBefore)
	ad := read.Jobs[1].Ad
	for _, name := range []string{
		"Cpus", "Memory", "ExecuteProps", "Size", "ToE", "ReturnValue", "MyType", "TimeExecuteProvisioned", "TimeExecuteUsage",
	} {
		_, has := ad.Lookup(name)
		require.Equal(t, name == "TimeExecuteUsage", has, name)
	}
	n, _ := ad.Int("CpusProvisioned")
	require.EqualValues(t, 1, n)
}

// Dates are of the zone that is given, unless they say UTC.
func TestZone(t *testing.T) {
	const log = "000 (1.0.0) 2024-06-01 10:00:00 Job\n...\n001 (1.0.0) 2024-06-01 10:00:00 Job\n...\n" +
		"005 (1.0.0) 2024-06-01T10:00:00Z Job\n...\n"
	read, err := eventlog.Read(strings.NewReader(log), "event.log", time.FixedZone("", 7200), history.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1717228800, read.Start)
	require.EqualValues(t, 7200, read.Jobs[0].Run)
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "event.log: there is no job in it",
		"000 (1.0.0) 2024-06-01 10:00:00 Job\n...\nhello\n": `event.log:3: event: "hello" is no beginning of one; events ` +
			"begin such as 000 (12.000.000) 2024-06-01 10:00:00, and end with a line of three points; correct or delete it",
		"000 (1.0.0) 13/01 10:00:00 Job\n": `event.log:1: date: "13/01 10:00:00" is no date; dates are written such as ` +
			"2024-06-01 10:00:00 or 06/01 10:00:00; correct or delete the event",
		"000 (99999999999999999999.0.0) 2024-06-01 10:00:00 Job\n":                             "event.log:1: event: ",
		"028 (1.0.0) 2024-06-01 10:00:00 Job ad\nA = = 1\n...\n":                               "event.log:1: the attributes of the event: ",
		"{\"EventTypeNumber\": 0}":                                                             "event.log:1: Cluster of the event is missing, or no whole number; correct",
		"{\"EventTypeNumber\": 0, \"Cluster\": 1, \"Proc\": 0, \"EventTime\": \"then\"}":       `event.log:1: EventTime: "then" is no date; dates`,
		"{\"EventTypeNumber\": ":                                                               "event.log:1",
		"001 (1.0.0) 2024-06-01 10:00:00 Job\n...\n005 (1.0.0) 2024-06-01 10:01:00 Job\n...\n": "event.log: there is no job in it",
	} {
		_, err := eventlog.Read(strings.NewReader(text), "event.log", nil, history.Options{})
		require.ErrorContains(t, err, want)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		classic, `{"EventTypeNumber": 0, "Cluster": 1, "Proc": 0, "EventTime": "2024-06-01T10:00:00"}`,
		"000 (1.0.0) 06/01 10:00:00 Job\n...\n001 (1.0.0) 01/01 10:00:00 Job\n...\n005 (1.0.0) 01/02 10:00:00 Job\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		log, err := eventlog.Read(strings.NewReader(text), "log", nil, history.Options{Clean: workload.CleanNone})
		if err != nil {
			require.Contains(t, err.Error(), "log")
			return
		}
		for i := range log.Jobs {
			require.GreaterOrEqual(t, log.Jobs[i].Run, int64(0))
			require.GreaterOrEqual(t, log.Jobs[i].Submit, int64(0))
			require.Positive(t, log.Jobs[i].Procs)
		}
	})
}
