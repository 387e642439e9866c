package slurm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

const shortTitles = "JobID|JobIDRaw|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|AllocCPUS|ReqCPUS|User|AllocTRES\n"

// described says of each job: number, arrival from the first one, wait, run time, estimate, processors.
func described(trace *workload.Trace) (list []string) {
	for _, j := range trace.Jobs {
		list = append(list, fmt.Sprintf("%d: %d +%d %d/%d x%d", j.ID, j.Submit, j.Wait, j.Run, j.Estimate, j.Procs))
	}
	return list
}

// What becomes of jobs that did not simply run: the jobs that are left, and the counts, for each way of cleaning.
func TestWhichJobsAreKept(t *testing.T) {
	const (
		ran       = "1|1|COMPLETED|100|100|110|170|60|2|4|4|ann|\n"
		cancelled = "2|2|CANCELLED by 7|100|100|None|150|0|2|0|4|ann|\n"
		removed   = "3|3|CANCELLED by 7|100|100|110|120|10|2|4|4|ann|\n"
		pending   = "4|4|PENDING|100|100|Unknown|Unknown|0|2|0|4|ann|\n"
		running   = "5|5|RUNNING|100|100|130|Unknown|500|2|4|4|ann|\n"
		endless   = "6|6|RUNNING|100|100|130|Unknown|500|UNLIMITED|4|4|ann|\n"
		noRun     = "7|7|FAILED|100|100|130|130|0|2|4|4|ann|\n"
		neverRan  = "8|8|BOOT_FAIL|100|100|Unknown|130|0|2|4|4|ann|\n"
		noCpus    = "9|9|COMPLETED|100|100|110|170|60|2|0|0|ann|\n"
		noSubmit  = "10|10|COMPLETED|Unknown|Unknown|110|170|60|2|4|4|ann|\n"
		held      = "11|11|COMPLETED|100|160|170|230|60|2|4|4|ann|\n"
		steps     = "1.batch|1.batch|COMPLETED|110|110|110|170|60||4|4||\n1.extern|1.extern|COMPLETED||||||| | ||\n1.0|1.0|FAILED|x||||||||y|\n"
		waiting   = "12_[4-9%2]|12|PENDING|100|100|Unknown|Unknown|0|2|0|2|ann|\n"
		task      = "12_1|13|COMPLETED|100|100|110|170|60|2|2|2|ann|\n"
		het       = "14+0|14|COMPLETED|100|100|110|170|60|2|4|4|ann|mem=1G,gres/gpu=1\n14+0.0|14.0|||||||||||\n" +
			"14+1|15|COMPLETED|100|100|110|200|90|3|6|6|ann|mem=2G,gres/gpu=2\n"
		requeued = "16|16|REQUEUED|100|100|110|140|30|2|4|4|ann|\n16|16|NODE_FAIL|141|150|160|170|10|2|4|4|ann|\n" +
			"16|16|COMPLETED|200|200|210|270|60|2|4|4|ann|\n"
		twice = "17|17|RUNNING|100|100|110|Unknown|5|2|4|4|ann|\n17|17|COMPLETED|100|100|110|170|60|2|4|4|ann|\n"
		again = "18|18|COMPLETED|100|100|110|170|60|2|4|4|ann|\n18|18|COMPLETED|900000|900000|900010|900070|60|2|4|4|ann|\n"
	)
	for _, c := range []struct {
		text  string
		clean workload.Clean
		jobs  []string
		count workload.Cleaning
	}{
		{ran, "", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 1}},
		{ran + cancelled, "", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 2, Cancelled: 1}},
		{ran + cancelled, "none", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 2, NegativeRun: 1}},
		{removed, "", []string{"3: 0 +10 10/120 x4"}, workload.Cleaning{JobsRead: 1}},
		{ran + pending + running, "", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 3, Unfinished: 2}},
		{pending + running + endless, "none", []string{"4: 0 +0 120/120 x4", "5: 0 +30 120/120 x4"}, workload.Cleaning{
			JobsRead: 3, RunAssumed: 2, NegativeRun: 1,
		}},
		{noRun + neverRan, "", []string{"7: 0 +30 0/120 x4"}, workload.Cleaning{JobsRead: 2, NegativeRun: 1}},
		{ran + noRun + neverRan, "strong", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 3, NegativeRun: 1, NoRun: 1}},
		{ran + noCpus + noSubmit, "", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 3, NoProcessors: 1, NoSubmit: 1}},
		{held + ran, "", []string{"1: 0 +10 60/120 x4", "11: 60 +10 60/120 x4"}, workload.Cleaning{JobsRead: 2, HeldBefore: 1}},
		{ran + steps, "", []string{"1: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 1, Steps: 3}},
		{waiting + task, "", []string{"13: 0 +10 60/120 x2"}, workload.Cleaning{JobsRead: 7, Unfinished: 6}},
		{waiting + task, "none", []string{
			"14: 0 +0 120/120 x2", "15: 0 +0 120/120 x2", "16: 0 +0 120/120 x2", "17: 0 +0 120/120 x2", "18: 0 +0 120/120 x2",
			"19: 0 +0 120/120 x2", "13: 0 +10 60/120 x2",
		}, workload.Cleaning{JobsRead: 7, RunAssumed: 6}},
		{het, "", []string{"14: 0 +10 90/180 x10"}, workload.Cleaning{JobsRead: 1, Steps: 1}},
		{het + het, "", []string{"14: 0 +10 90/180 x10"}, workload.Cleaning{JobsRead: 3, Steps: 2, Repeated: 2}},
		{requeued, "", []string{"16: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 3, Partial: 2}},
		{requeued, "cancelled", []string{"17: 0 +10 30/120 x4", "18: 50 +10 10/120 x4", "16: 100 +10 60/120 x4"}, workload.Cleaning{
			JobsRead: 3, HeldBefore: 1,
		}},
		{twice, "", []string{"17: 0 +10 60/120 x4"}, workload.Cleaning{JobsRead: 2, Repeated: 1}},
		{again, "", []string{"19: 0 +10 60/120 x4", "18: 899900 +10 60/120 x4"}, workload.Cleaning{JobsRead: 2}},
	} {
		trace := read(t, shortTitles+c.text, workload.Options{Clean: c.clean})
		require.Equal(t, c.jobs, described(trace), "%s%s", c.text, c.clean)
		c.count.Lines, c.count.JobsLeft = strings.Count(c.text, "\n")+1, len(c.jobs)
		c.count.EstimateUnknown = trace.Cleaning.EstimateUnknown
		require.Equal(t, c.count, trace.Cleaning, c.text)
		dropped := 0
		for _, left := range trace.Cleaning.Dropped() {
			dropped += left.Jobs
		}
		require.Equal(t, c.count.JobsRead, dropped+len(c.jobs), c.text)
	}
	j := read(t, shortTitles+het, workload.Options{}).Jobs[0]
	require.Equal(t, []int64{3 << 10, 3}, []int64{j.Memory, j.GPUs})
	// The order of the rows does not matter.
	rows := strings.SplitAfter(requeued, "\n")
	require.Equal(t, described(read(t, shortTitles+requeued, workload.Options{})),
		described(read(t, shortTitles+rows[2]+rows[0]+rows[1], workload.Options{})))
	// What is not left is not counted.
	require.Equal(t, 1, read(t, shortTitles+held+ran, workload.Options{Max: 2}).Cleaning.HeldBefore)
	require.Zero(t, read(t, shortTitles+held+ran, workload.Options{Max: 1}).Cleaning.HeldBefore)
	trace := read(t, shortTitles+ran+cancelled+removed+requeued, workload.Options{})
	require.Equal(t, []workload.Drop{
		{ID: 2, Why: workload.WhyCancelled}, {ID: 17, Why: workload.WhyPartial}, {ID: 18, Why: workload.WhyPartial},
	}, trace.Drops)
	require.EqualValues(t, 8, trace.Machine.Processors) // of two jobs at one time
}

// Tasks of arrays get numbers of their own if the file does not say theirs.
func TestTasksWithoutRawNumbers(t *testing.T) {
	trace := read(t, "JobID|Submit|ElapsedRaw|AllocCPUS|State\n12_1|5|60|1|COMPLETED\n12_2|5|60|1|COMPLETED\n"+
		"12_1.batch|5|60|1|COMPLETED\n30|5|60|1|COMPLETED\n12_1|5|60|1|COMPLETED\n", workload.Options{})
	require.Equal(t, []string{"31: 0 +0 60/60 x1", "32: 0 +0 60/60 x1", "30: 0 +0 60/60 x1"}, described(trace))
	require.Equal(t, 1, trace.Cleaning.Repeated)
}

// A short file cannot ask for any number of jobs.
func TestTooManyTasks(t *testing.T) {
	row := "1_[0-4000000]|1|PENDING|100|100|Unknown|Unknown|0|2|0|4|ann|\n"
	trace := read(t, shortTitles+row, workload.Options{})
	require.Equal(t, 4_000_001, trace.Cleaning.Unfinished)
	_, err := try(shortTitles+row+strings.Replace(row, "1_[", "2_[", 1), workload.Options{})
	require.EqualError(t, err, "jobs.txt:3: more than 4000001 tasks of arrays wait; print jobs that ended: sacct "+
		"--state=CD,F,TO,CA")
	for _, list := range []string{"", "x", "3-1", "0-5:0", "0-4000001", "1,,2"} {
		_, err = try(shortTitles+strings.Replace(row, "0-4000000", list, 1), workload.Options{})
		require.ErrorContains(t, err, "is no number of a job", list)
	}
	for list, want := range map[string]int{"1,3,5-7": 5, "0-15:4": 4, "0-9%3": 10, "1-3,9...": 4, "1,2,...": 2, "7": 1} {
		trace = read(t, shortTitles+strings.Replace(row, "0-4000000", list, 1), workload.Options{})
		require.Equal(t, want, trace.Cleaning.Unfinished, "%s", list)
	}
}
