package kinds_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

const (
	eventLog  = "the event log of HTCondor, which the submit file names as log"
	adLog     = "a log of ads that HTCondor keeps for itself, such as job_queue.log"
	status    = "the table that condor_status prints for people"
	queue     = "the table that condor_history and condor_q print for people"
	submit    = "a submit file of HTCondor"
	dag       = "a DAG file of HTCondor"
	slurmJSON = "the accounting of Slurm, as sacct --json or squeue --json prints it"
	gwf       = "a trace in the Grid Workloads Format"
	table     = "a table with column names"
	batsim    = "a workload of Batsim"
	slurm     = "the accounting of Slurm, as sacct prints it"
	described = "YAML, as descriptions of pools, sweeps and configurations are"
	pbsLog    = "the log of a server of PBS or Torque"
	qstat     = "the table of jobs that qstat prints"
	gridAcct  = "the accounting of Grid Engine"
	lsf       = "the accounting of LSF"
	headed    = "ads below the head of a table"
	none      = ""
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"000 (0012.000.000) 2024-06-01 10:00:00 Job submitted from host: <10.0.0.1:9618>\n...\n": eventLog,
		"001 (123.-01.-01) 06/01 10:00:00 Job executing\n":                                       eventLog,
		"{\n  \"MyType\": \"SubmitEvent\",\n  \"EventTypeNumber\": 0\n}":                         eventLog,
		"<c>\n    <a n=\"MyType\"><s>SubmitEvent</s></a>\n<a n=\"EventTypeNumber\"><i>0</i></a>": eventLog,
		"<?xml version=\"1.0\"?>\n<classads>\n<c><a n=\"EventTypeNumber\"><i>0</i></a></c>":      eventLog,
		"<?xml version=\"1.0\"?>\n<eventlog>\n<c><a n=\"EventTypeNumber\"><i>0</i></a></c>":      eventLog,
		"<?xml version=\"1.0\"?>\n<classads>\n<c><a n=\"ClusterId\"><i>0</i></a></c>":            none,

		"107 1 CreationTimestamp 1717236000\n105\n101 12.0 Job Machine\n": adLog,
		"105\n103 Customer.alice Priority 0.5\n106\n":                     adLog,
		"101 12.0 Job Machine\n":                                          adLog,
		"107 1 -1 60 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1":              none,
		"105\n":                                none,
		"# mine\n\nclasses:\n  - {count: 2}\n": described,
		"---\ntraces: []\n":                    described,
		"policy: easy":                         described,
		"A = 1\rB = 2\r":                       "text whose lines end with a carriage return alone",
		"A = 1\r\nB = 2\r\n":                   none,
		"[A = 1]\r[B = 2]\r":                   none,
		"policy::easy":                         none,
		"a = b ? c : d\n":                      none,
		"; Computer: a\n1 0":                   none,

		"Name               OpSys      Arch   State\n\nslot1@n1 LINUX X86_64\n":                status,
		"Machine      Platform      Slots Cpus Gpus  TotalGb\n":                                status,
		"Name Machine RunningJobs IdleJobs\n":                                                  status,
		"               Machines Owner Claimed Unclaimed\n":                                    status,
		" ID     OWNER          SUBMITTED   RUN_TIME     ST COMPLETED CMD\n":                   queue,
		"\n\n-- Schedd: a : <192.0.2.1:9618?... @ 01/01\nOWNER BATCH_NAME\n":                   queue,
		"-- Schedd: a : <192.0.2.1:9618?... @ 01/01\n\nTotal for query: 0 jobs; 0 completed\n": queue,

		"executable = /bin/sleep\narguments = 60\nrequest_cpus = 2\nqueue 4\n": submit,
		"# my jobs\n\nUniverse   = vanilla\nCmd = \"x\"\n":                     submit,
		"+Project = \"x\"\nlog = a.log\nQueue\n":                               submit,
		"args = $(Item)\r\nqueue Item from list.txt\r\n":                       submit,
		"container_image = a.sif\n":                                            submit,
		"ClusterId = 1\nQueue = \"short\"\nExecutableSize = 1\n":               none,
		"Universe = 5\n": none,
		"RequestCpus = 1\nRequirements = executable == 1\n":                        none,
		"JOB A a.sub\nJOB B b.sub\nPARENT A CHILD B\n":                             dag,
		"# a diamond\nCONFIG dag.config\n\nJob  A  /x/a\n":                         dag,
		"SUBDAG EXTERNAL a inner.dag\n":                                            dag,
		"job A {\n  executable = x\n}\n":                                           dag,
		"Job number of day\n1 2 3 4\n":                                             table,
		"JOB number of the day is unknown\n":                                       none,
		"{\"meta\": {\"plugin\": {\"type\": \"openapi\\/v0.0.38\"}}, \"jobs\": [":  slurmJSON,
		"{\n  \"jobs\": [\n {\n \"account\": \"x\", \"comment\": {":                slurmJSON,
		"{\"jobs\": [{\"job_id\": 7, \"job_state\": [\"RUNNING\"]}]}":              slurmJSON,
		"{\"processors\": 4, \"jobs\": [{\"id\": 1, \"submit\": 0, \"run\": 60}]}": none,
		"{\"nb_res\": 4, \"jobs\": [{\"id\": \"1\", \"subtime\": 0}]}":             batsim,
		"JobID|JobName|State\n1|a|COMPLETED\n":                                     slurm,

		"# JobID SubmitTime WaitTime RunTime NProcs OrigSiteID LastRunSiteID JobStructure\n1 0 0 5 1": gwf,
		"# Trace in GWF, version 1\n1 0 0":                             gwf,
		"1 0 0 5 1 -1 -1 1 -1 -1 1 U1 G1 X1 Q1 P1 S1 S2 UNITARY -1 -1": gwf,

		"Owner QDate RequestCpus RequestWalltime RemoteWallClockTime\nalice 1000 1 12000 600.0\n": table,
		"submit\trun\tprocs\n0\t60\t1\n": table,
		"submit;run;procs\n0;60;1\n":     table,
		"one two three\nfour five six\n": none,
		"one two three\n":                none,

		"1 0 0 5 1 -1 -1 1 -1 -1 1" + strings.Repeat(" -1", 18) + "\n":   gwf,
		"1 0 0 5 1 -1 -1 1 -1 -1 1" + strings.Repeat(" -1", 10) + "\n":   none,
		"[ MyType = \"SubmitEvent\"; EventTypeNumber = 0; Cluster = 1 ]": eventLog,
		"[\n  MyType = \"SubmitEvent\";\n  EventTypeNumber = 0;\n]\n":    eventLog,
		"MyType = \"SubmitEvent\"\nEventTypeNumber = 0\nCluster = 1\n":   eventLog,
		"# from the pool\n000 (0012.000.000) 2024-06-01 10:00:00 Job\n":  eventLog,
		"# of May\nJobID|JobName|State\n1|a|COMPLETED\n":                 slurm,
		"JobID,JobName,State\n1,a,COMPLETED\n":                           slurm,
		"User;JobIDRaw;Elapsed\na;1;00:01:00\n":                          slurm,
		"12         a.sh      batch      root     1  COMPLETED  0:0\n":   slurm,
		"12.batch  batch  root 1 CANCELLED+ 0:0\n":                       slurm,
		"{\"jobs\": []}":                                                                slurmJSON,
		"{\"jobs\": [], \"warnings\": []}":                                              slurmJSON,
		"{\"jobs\": [], \"processors\": 4}":                                             none,
		"Job Id: 123.server\n    Job_Name = a\n    x = /y\n":                            qstat,
		"Job ID           Name    User   Time Use S Queue\n----\n":                      qstat,
		"job-ID  prior   name       user    state submit\n":                             qstat,
		"05/01/2024 10:00:00;0100;PBS_Server;Job;1.a;x\n":                               pbsLog,
		"05/01/2024 10:00:00.123456;0080;PBS_Server;Svr;x;y\n":                          pbsLog,
		"05/01/2024 10:00:00;E;1.a;user=b\n":                                            "the accounting log of PBS or Torque",
		"# Version: 8\nall.q:n1:g:u:a" + strings.Repeat(":0", 40):                       gridAcct,
		"======\nqname        all.q\nhostname n1\n":                                     gridAcct,
		`{"processors": 4, "jobs": [{"id": 1` + strings.Repeat(`}, {"id": 1`, 40):       none,
		`{"processors":4,"jobs":[{"id":1` + strings.Repeat(`},{"id":1`, 40):             none,
		`[ClusterId=1;Cmd="a` + strings.Repeat(":b", 40) + `"]`:                         none,
		"\"JOB_FINISH\" \"10.1\" 1714550400 1 2 3\n":                                    lsf,
		"JOBID   USER    STAT  QUEUE      FROM_HOST\n":                                  lsf,
		"slot1@n1.example   LINUX      X86_64 Unclaimed Idle\n":                         status,
		"MyType               TargetType           Name\n\nMachine            Job  a\n": status,
		"MyType               TargetType\n\nMyType = \"Job\"\nClusterId = 1\n":          headed,
		"VARS A x=\"1\"\n":               dag,
		"ENV GET PATH\nJOB A a\n":        dag,
		"PROVISIONER P p.sub\n":          dag,
		"SERVICE S s.sub\nJOB A a.sub\n": dag,
		"INCLUDE other.dag\n":            dag,
		"SUBMIT-DESCRIPTION D {\n executable = /bin/a\n}\nJOB A D\n": dag,
		"CATEGORY A c\nMAXJOBS c 2\n":                                dag,
		"RETRY A 3\nSCRIPT POST A a.sh\n":                            dag,

		"; MaxProcs: 4\r1 0 -1 60\r":        "text whose lines end with a carriage return alone",
		"one line, and its end\r":           none,
		"BZh91AY&SY":                        "a file compressed with bzip2",
		"PK\x03\x04\x14\x00":                "a zip archive, or a spreadsheet",
		"\x7fELF\x02\x01\x01\x00":           "a program",
		"%PDF-1.5\n":                        "a PDF document",
		"PAR1\x15\x04":                      "a Parquet file",
		"SQLite format 3\x00":               "an SQLite database",
		"\xff\xfeC\x00l\x00":                "text in UTF-16, as PowerShell writes it",
		"a.swf" + string(make([]byte, 252)): "a binary file",
		"a.swf" + string(make([]byte, 252)) + "ustar\x0000": "a tar archive",
		"<!doctype html>\n<html>":                           "a web page",
		"":                                                  none,
	} {
		kind := kinds.Of([]byte(text))
		if want == none {
			require.Nil(t, kind, text)
			continue
		}
		require.NotNil(t, kind, text)
		require.Equal(t, want, kind.Holds, text)
	}
}

// Every kind says what to do.
func TestAll(t *testing.T) {
	for _, k := range kinds.All() {
		require.NotEmpty(t, k.Slots, k.Holds)
		require.NotEmpty(t, k.Jobs, k.Holds)
		if k.Read {
			require.Equal(t, "looks like "+k.Holds+", which holds jobs", k.Problem())
			continue
		}
		require.Equal(t, "looks like "+k.Holds+", which is not read", k.Problem())
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{"executable = a\nqueue", "a b c\n1 2 3", "a;b;c;\n;", "\x00", "JOB A a.sub", `{"jobs": [{"account"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, head []byte) { kinds.Of(head) })
}
