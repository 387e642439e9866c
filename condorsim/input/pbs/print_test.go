package pbs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pbs"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// printed returns the records of jobs as a server writes them: by time, a start and an end of each. Second 0 of
// their times is the given Unix time.
func printed(jobs []workload.Job, zero int64) string {
	type record struct {
		at   int64
		text string
	}
	var all []record
	for i := range jobs {
		j := &jobs[i]
		submit, start, end := zero+j.Submit, zero+j.Submit+j.Wait, zero+j.Submit+j.Wait+j.Run
		attributes := fmt.Sprintf("user=%s group=%s jobname=%s queue=%s ctime=%d qtime=%d etime=%d start=%d exec_host=n1/0*%d",
			quoted(j.User), quoted(j.Group), quoted(j.Executable), quoted(j.Queue), submit, submit, submit, start, j.Procs)
		selection := fmt.Sprintf("%d:ncpus=1", j.Procs)
		if j.GPUs > 0 {
			selection += fmt.Sprintf("+%d:ncpus=0:ngpus=1", j.GPUs)
		}
		attributes += fmt.Sprintf(" Resource_List.select=%s Resource_List.mem=%dmb", selection, j.Memory)
		if j.Origin != workload.Assumed {
			attributes += fmt.Sprintf(" Resource_List.walltime=%02d:%02d:%02d", j.Estimate/3600, j.Estimate/60%60, j.Estimate%60)
		}
		write := func(at int64, kind, more string) {
			all = append(all, record{at, fmt.Sprintf("%s;%s;%d.server;%s%s\n",
				time.Unix(at, 0).UTC().Format("01/02/2006 15:04:05"), kind, j.ID, attributes, more)})
		}
		write(start, "S", "")
		write(end, "E", fmt.Sprintf(" session=1 end=%d Exit_status=0", end))
	}
	slices.SortStableFunc(all, func(a, b record) int { return int(a.at - b.at) })
	var text strings.Builder
	for _, r := range all {
		text.WriteString(r.text)
	}
	return text.String()
}

// quoted writes a value as a server does if it has blanks.
func quoted(value string) string {
	if !strings.ContainsAny(value, ` "'\`) {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// Jobs that are printed as a log are read again as they were.
func TestPrintedJobsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`|[a-z0-9_.-]{1,8}|[a-z"'=;\\ ]{0,6}[a-z]`)
		var jobs []workload.Job
		submit := int64(0)
		for id := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			run := rapid.Int64Range(0, 1e6).Draw(t, "run")
			j := workload.Job{
				ID: int64(id) + 1, Submit: submit, Run: run, Procs: rapid.Int64Range(1, 1e4).Draw(t, "procs"),
				Estimate: max(1, run+rapid.Int64Range(0, 1e6).Draw(t, "more")),
				Memory:   rapid.Int64Range(1, 1e6).Draw(t, "memory"), GPUs: rapid.Int64Range(0, 9).Draw(t, "gpus"),
				Wait: rapid.Int64Range(0, 1e6).Draw(t, "wait"), HasWaited: true,
				User: label.Draw(t, "user"), Group: label.Draw(t, "group"), Executable: label.Draw(t, "name"),
				Queue: label.Draw(t, "queue"),
			}
			if rapid.Bool().Draw(t, "assumed") {
				j.Estimate, j.Origin = max(1, run), workload.Assumed
			}
			j.Waited = j.Wait
			jobs = append(jobs, j)
			submit += rapid.Int64Range(0, 1000).Draw(t, "gap")
		}
		trace, err := pbs.Read(strings.NewReader(printed(jobs, begin)), "log", workload.Options{Memory: 1e9, CPUs: 1e5})
		require.NoError(t, err)
		records, err := pbs.Records(printed(jobs, begin))
		require.NoError(t, err)
		for _, r := range records { // the trace of a machine without GPUs has none
			j := &jobs[r.Number-1]
			require.Equal(t, j.GPUs, max(0, r.GPUs))
			j.GPUs, trace.Jobs[r.Number-1].GPUs = 0, 0
		}
		require.Equal(t, jobs, trace.Jobs)
		require.EqualValues(t, begin, trace.Header.Start())
	})
}

// Real traces that are printed as logs are read again as they were.
func TestPrintedTraces(t *testing.T) {
	names := []string{"KTH-SP2-1996-2.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"} // the second has memory, and ten times the jobs
	for _, name := range names[:thorough.Cases(1, len(names))] {
		path := filepath.Join("../../../../shared/traces", name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the trace is not there: %v", err)
		}
		want, err := workload.Open(path, workload.Options{Memory: 1e9})
		require.NoError(t, err)
		slices.SortStableFunc(want.Jobs, func(a, b workload.Job) int {
			if a.Submit != b.Submit {
				return int(a.Submit - b.Submit)
			}
			return int(a.ID - b.ID)
		})
		first := want.Jobs[0].Submit
		for i := range want.Jobs {
			j := &want.Jobs[i]
			j.Submit -= first
			if j.Origin == workload.Raised { // the log has what was stated
				j.Estimate = int64(j.Beside)
			}
		}
		text := printed(want.Jobs, begin)
		got, err := pbs.Read(strings.NewReader(text), "log", workload.Options{Memory: 1e9, CPUs: want.Machine.Processors})
		require.NoError(t, err)
		t.Logf("%s: %d jobs, %d MB", name, len(got.Jobs), len(text)>>20)
		require.Len(t, got.Jobs, len(want.Jobs))
		for i := range want.Jobs {
			j := want.Jobs[i]
			if j.Origin == workload.Raised {
				j.Estimate = j.Run
			}
			if j.Memory == 0 {
				require.Zero(t, got.Jobs[i].Memory)
			}
			j.Wait, j.HasWaited = got.Jobs[i].Wait, true // an unknown wait is printed as none
			require.Equal(t, j, got.Jobs[i])
		}
	}
}
