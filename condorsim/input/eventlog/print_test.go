package eventlog_test

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

	"github.com/condor-backfill/condor-backfill/condorsim/input/eventlog"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

const zero = 1_717_236_000 // second 0 of printed jobs

// event is one to be printed.
type event struct {
	at   int64
	text string
}

// events returns the events of a job, which is alone in its cluster. With asJSON they are ads.
func events(j *workload.Job, asJSON bool) []event {
	id := fmt.Sprintf("(%d.000.000)", j.ID)
	submit, start, end := zero+j.Submit, zero+j.Submit+j.Wait, zero+j.Submit+j.Wait+j.Run
	date := func(at int64) string { return time.Unix(at, 0).UTC().Format(time.DateTime) }
	stated := ""
	if j.Estimate > 0 {
		stated = fmt.Sprintf("MaxRuntime = %d\n", j.Estimate)
	}
	if asJSON {
		ad := func(kind int, at int64, more string) event {
			return event{at, fmt.Sprintf("{\n  \"EventTypeNumber\": %d,\n  \"EventTime\": %q,\n  \"Cluster\": %d,\n  \"Proc\": 0%s\n}\n",
				kind, strings.Replace(date(at), " ", "T", 1), j.ID, more)}
		}
		if stated != "" {
			stated = fmt.Sprintf(",\n  \"MaxRuntime\": %d", j.Estimate)
		}
		return []event{
			ad(0, submit, ""), ad(28, submit, fmt.Sprintf(",\n  \"Owner\": %q", j.User)+stated), ad(1, start, ""),
			ad(5, end, fmt.Sprintf(",\n  \"RequestCpus\": %d,\n  \"RequestMemory\": %d", j.Procs, j.Memory)),
		}
	}
	return []event{
		{submit, fmt.Sprintf("000 %s %s Job submitted from host: <192.0.2.1:9618>\n...\n", id, date(submit))},
		{submit, fmt.Sprintf("028 %s %s Job ad information event triggered.\nOwner = %q\n%s...\n", id, date(submit), j.User, stated)},
		{start, fmt.Sprintf("001 %s %s Job executing on host: <192.0.2.2:9618>\n...\n", id, date(start))},
		{end, fmt.Sprintf("005 %s %s Job terminated.\n\t(1) Normal termination (return value 0)\n"+
			"\tPartitionable Resources :    Usage  Request Allocated\n\t   Cpus                 :           %8d %8d\n"+
			"\t   Memory (MB)          :       12  %8d %8d\n...\n", id, date(end), j.Procs, j.Procs, j.Memory, j.Memory)},
	}
}

// printed returns the log of jobs, by time.
func printed(jobs []workload.Job, asJSON bool) string {
	var all []event
	for i := range jobs {
		all = append(all, events(&jobs[i], asJSON)...)
	}
	slices.SortStableFunc(all, func(a, b event) int { return int(a.at - b.at) })
	var text strings.Builder
	for _, e := range all {
		text.WriteString(e.text)
	}
	return text.String()
}

// jobsOf returns the jobs of a log, with the numbers of their clusters.
func jobsOf(log *eventlog.Log) []workload.Job {
	jobs := make([]workload.Job, len(log.Jobs))
	for i := range log.Jobs {
		jobs[i] = log.Jobs[i].Job
		jobs[i].ID = log.Jobs[i].Place.Cluster
	}
	return jobs
}

func options() history.Options { return history.Options{Estimates: []string{"MaxRuntime"}} }

// Jobs that are printed as a log are read again as they were.
func TestPrintedJobsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []workload.Job
		submit := int64(0)
		for id := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			j := workload.Job{
				ID: int64(id) + 1, Submit: submit, Run: rapid.Int64Range(0, 1e7).Draw(t, "run"),
				Procs: rapid.Int64Range(1, 1e4).Draw(t, "procs"), Memory: rapid.Int64Range(1, 1e6).Draw(t, "memory"),
				Wait: rapid.Int64Range(0, 1e6).Draw(t, "wait"), Estimate: rapid.Int64Range(1, 1e7).Draw(t, "estimate"),
				User: rapid.StringMatching(`[a-z "é]{0,5}[a-z]`).Draw(t, "user"),
			}
			if j.Run > 0 { // else an ad does not say that it waited
				j.Waited, j.HasWaited = j.Wait, true
			}
			jobs = append(jobs, j)
			submit += rapid.Int64Range(0, 1e6).Draw(t, "gap")
		}
		for _, asJSON := range []bool{false, true} {
			log, err := eventlog.Read(strings.NewReader(printed(jobs, asJSON)), "log", nil, options())
			require.NoError(t, err)
			require.Equal(t, jobs, jobsOf(log))
			require.EqualValues(t, zero, log.Start)
		}
	})
}

// Real traces that are printed as logs are read again as they were.
func TestPrintedTraces(t *testing.T) {
	names := []string{"KTH-SP2-1996-2.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"}
	for _, name := range names[:thorough.Cases(1, len(names))] {
		path := filepath.Join("../../../../shared/traces", name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the trace is not there: %v", err)
		}
		trace, err := workload.Open(path, workload.Options{Memory: 1e9})
		require.NoError(t, err)
		want := make([]workload.Job, len(trace.Jobs))
		for i, j := range trace.Jobs {
			want[i] = workload.Job{
				ID: j.ID, Submit: j.Submit - trace.Jobs[0].Submit, Run: j.Run, Procs: j.Procs, Memory: j.Memory, Wait: j.Wait,
				User: j.User,
			}
			if j.Run > 0 {
				want[i].Waited, want[i].HasWaited = j.Wait, true
			}
			if j.Origin == workload.Stated {
				want[i].Estimate = j.Estimate
			}
		}
		slices.SortStableFunc(want, func(a, b workload.Job) int {
			if a.Submit != b.Submit {
				return int(a.Submit - b.Submit)
			}
			return int(a.ID - b.ID)
		})
		text := printed(want, false)
		log, err := eventlog.Read(strings.NewReader(text), "log", nil, options())
		require.NoError(t, err)
		t.Logf("%s: %d jobs, %d MB", name, len(log.Jobs), len(text)>>20)
		got := jobsOf(log)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	}
}
