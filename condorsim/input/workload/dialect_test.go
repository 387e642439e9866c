package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

const (
	columns = "id submit wait runtime cpus cputime mem cpusreq walltime memreq status user group app queue part prec think\n"
	twoJobs = "1 0 -1 15 4 -1 -1 4 420 -1 1 1 1 -1 1 1 -1 -1\n2 5 -1 20 2 -1 -1 2 60 -1 1 1 1 -1 1 1 -1 -1\n"
)

// What is written in a dialect is read as if it were not.
func TestDialects(t *testing.T) {
	want := read(t, "; MaxProcs: 4\n"+twoJobs, workload.Options{}).Jobs
	require.Len(t, want, 2)
	all := columns + twoJobs
	for name, text := range map[string]string{
		"tabs":                  strings.ReplaceAll(twoJobs, " ", "\t"),
		"semicolons":            strings.ReplaceAll(twoJobs, " ", ";"),
		"semicolons at the end": strings.ReplaceAll(strings.ReplaceAll(twoJobs, " ", "; "), "\n", ";\r\n"),
		"commas":                strings.ReplaceAll(twoJobs, " ", ","),
		"commas and blanks":     strings.ReplaceAll(twoJobs, " ", " , "),
		"nothing between":       strings.ReplaceAll(strings.ReplaceAll(twoJobs, " ", ";"), "-1", ""),
		"quotes":                `"` + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(twoJobs), " ", `";"`), "\n", "\"\n\"") + `"`,
		"column names":          all,
		"names and tabs":        strings.ReplaceAll(all, " ", "\t"),
		"names and commas":      strings.ReplaceAll(all, " ", ","),
		"quoted names":          strings.ReplaceAll(strings.ReplaceAll(all, " ", `","`), "\n", "\"\n\""),
		"other comments":        "# made by hand\n" + all,
	} {
		text = strings.TrimSuffix(text, "\"\n\"")
		if name == "quoted names" {
			text = `"` + text + `"`
		}
		require.True(t, workload.IsSWF([]byte(text)), name)
		require.Equal(t, want, read(t, "; MaxProcs: 4\n"+text, workload.Options{}).Jobs, name)
	}
}

// Columns are found by their names, wherever they stand and however many there are.
func TestColumns(t *testing.T) {
	all := read(t, "; MaxProcs: 4\n"+twoJobs, workload.Options{}).Jobs
	few := read(t, "; MaxProcs: 4\n1 0 -1 15 4 -1 -1 -1 -1 -1 -1"+strings.Repeat(" -1", 7)+"\n2 5 -1 20 2 -1 -1 -1 -1 -1 -1"+
		strings.Repeat(" -1", 7)+"\n", workload.Options{}).Jobs
	for name, tt := range map[string]struct {
		text string
		want []workload.Job
	}{
		"another order": {
			"submit,id,run,Wait Time,procs,cputime,mem,cpusreq,walltime,memreq,status,user,group,app,queue,part,prec,think\n" +
				"0,1,15,-1,4,-1,-1,4,420,-1,1,1,1,-1,1,1,-1,-1\n5,2,20,-1,2,-1,-1,2,60,-1,1,1,1,-1,1,1,-1,-1\n", all,
		},
		"the names of the format": {
			`"Job Number","Submit Time","Wait Time","Run Time","Number of Allocated Processors","Average CPU Time Used",` +
				`"Used Memory","Requested Number of Processors","Requested Time","Requested Memory","Status","User ID",` +
				`"Group ID","Executable (Application) Number","Queue Number","Partition Number","Preceding Job Number",` +
				"\"Think Time from Preceding Job\"\n" + strings.ReplaceAll(twoJobs, " ", ","), all,
		},
		"blanks in names and tabs": {"Job ID\tSubmit Time [s]\tRun Time (s)\tNProcs\n1\t0\t15\t4\n2\t5\t20\t2\n", few},
		"blanks and semicolons":    {"Job ID;Submit Time;Run_Time;CPUs;\n1;0;15;4;\n2;5;20;2;\n", few},
		"empty fields and tabs":    {"Job ID\tSubmit Time\tWait\tRun Time\tNProcs\n1\t0\t\t15\t4\n2\t5\t\t20\t2\n", few},
		"the last field is empty":  {"submit,run,procs,User\n0,15,4,\n5,20,2,\n", few},
		"no numbers of jobs":       {"submit run procs\n0 15 4\n5 20 2\n", few},
		"bars":                     {"submit|run|procs\n0|15|4\n5|20|2\n", few},
		"names above other blanks": {"submit,run,procs\n0 15 4\n5\t20 2\n", few},
	} {
		require.True(t, workload.IsSWF([]byte(tt.text)), name)
		require.Equal(t, tt.want, read(t, "; MaxProcs: 4\n"+tt.text, workload.Options{}).Jobs, name)
	}
}

func TestBrokenDialects(t *testing.T) {
	const known = "known are id, submit, wait, run, procs, cputime, mem, reqprocs, reqtime, reqmem, status, user, group, app, " +
		"queue, partition, preceding, think"
	for text, want := range map[string]string{
		strings.Replace(columns, "wait", "start", 1) + twoJobs: "x:1: column 3 is named start, which is no known name of a field; " +
			known + ", and what they are short for; rename the column, or leave it out",
		"a b c d e f g h i j k l m n o p q r\n" + twoJobs: "x:1: column 1 is named a, which is no known name of a field; " + known +
			", and what they are short for; rename the column, or leave it out",
		"id,submit,wait,run,cpus,procs\n1,0,-1,15,4,4\n": "x:1: columns 5 and 6, cpus and procs, both are field 5 (allocated " +
			"processors); leave one of them out, or call it by another of these names: " + strings.TrimPrefix(known, "known are "),
		"id submit wait\n1 0 0\n": "x:1: no column is named run; a job has at least submit, run and procs; condorsim workload " +
			"formats describes the fields",
		"id submit run procs\n1 0 15\n": "x:2: the line has 3 fields, and 4 columns are named above; complete the line (-1: " +
			"unknown) or delete it; if it is the last one, the file may be truncated",
		"id;submit;run;procs\n1;0;1 5;4\n": `x:2: field 4 (run time): "1 5" is not a number; correct the line (-1: unknown) or delete it`,
		columns + columns + twoJobs:        `x:2: field 1 (job number): "id" is not a number; correct the line (-1: unknown) or delete it`,
		"1,0,-1,15,4,-1,-1,4,420,-1,1,1,1,-1,1,1,-1,-1,7,8": `x:1: the line has 20 fields with "," between them, of 18; ` +
			"leave out what is no field of SWF, and write decimals with a point",
		"1;0;-1;1 5;4": `x:1: field 4 (run time): "1 5" is not a number; correct the line (-1: unknown) or delete it`,
		"1 0 -1 15,5 4 -1 -1 4 420 -1 1 1 1 -1 1 1 -1 -1": `x:1: field 4 (run time): "15,5" is not a number; ` +
			"correct the line (-1: unknown) or delete it",
	} {
		_, err := workload.ReadSWF(strings.NewReader(text), "x", workload.Options{CPUs: 4})
		require.EqualError(t, err, want)
	}
	require.False(t, workload.IsSWF([]byte("1 0 0 5 1 -1 -1 1 -1 -1 1"+strings.Repeat(" 1", 18))), "a trace of a grid")
	require.False(t, workload.IsSWF([]byte(columns)))
	require.True(t, workload.NamesFields([]byte(strings.Replace(columns, "wait", "start", 1)+twoJobs)))
	require.False(t, workload.NamesFields([]byte("JobID|User|Elapsed\n1|a|00:01:00\n")))
	require.False(t, workload.NamesFields([]byte(columns)))
	require.False(t, workload.IsSWF(nil))
}

// What is not read of each line is said once.
func TestMoreFields(t *testing.T) {
	text := "; MaxProcs: 4\n" + strings.ReplaceAll(twoJobs, "\n", " {1,2} x\n")
	require.Equal(t, []string{"the first job line has 20 fields: those behind the eighteenth are not read"},
		read(t, text, workload.Options{}).Misreadings())
}

// A run of less than a second is a run.
func TestSecondsAreRoundedUp(t *testing.T) {
	jobs := read(t, "; MaxProcs: 4\n1 0.9 -1 0.9 4 -1 -1 4 0.1 -1 1 1 1 -1 1 1 -1 -1\n", workload.Options{}).Jobs
	require.Equal(t, [3]int64{0, 1, 1}, [3]int64{jobs[0].Submit, jobs[0].Run, jobs[0].Estimate})
}
