package gwf_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/gwf"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// printed returns jobs in the format. Their memory is a multiple of their processors.
func printed(jobs []workload.Job, processors int64) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# MaxProcs: %d\n", processors)
	for i := range jobs {
		j := &jobs[i]
		wait, requested, memory := int64(-1), int64(-1), int64(-1)
		if j.HasWaited {
			wait = j.Waited
		}
		switch j.Origin {
		case workload.Stated:
			requested = j.Estimate
		case workload.Raised:
			requested = int64(j.Beside)
		case workload.Assumed:
		}
		if j.Memory > 0 {
			memory = j.Memory * 1024 / j.Procs
		}
		name := func(label string) string { return cmp.Or(label, "-1") }
		fmt.Fprintf(&text, "%d\t%d\t%d\t%d\t%d\t-1\t-1\t%d\t%d\t%d\t1\t%s\t%s\t%s\t%s\tP0\tS1\tS1\tUNITARY%s\n",
			j.ID, j.Submit, wait, j.Run, j.Procs, j.Procs, requested, memory, name(j.User), name(j.Group),
			name(j.Executable), name(j.Queue), strings.Repeat("\t-1", 10))
	}
	return text.String()
}

// Jobs that are printed are read again as they were.
func TestPrintedJobsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`|[A-Za-z_/.#;"=-]{0,5}[A-Za-zé]`)
		var jobs []workload.Job
		submit := int64(0)
		for id := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			run := rapid.Int64Range(0, 1e6).Draw(t, "run")
			procs := int64(1) << rapid.IntRange(0, 10).Draw(t, "procs")
			j := workload.Job{
				ID: 100 - int64(id), Submit: submit, Run: run, Procs: procs,
				Estimate: max(1, run+rapid.Int64Range(0, 1e6).Draw(t, "more")),
				Memory:   procs * rapid.Int64Range(0, 1000).Draw(t, "memory"),
				User:     label.Draw(t, "user"), Group: label.Draw(t, "group"), Executable: label.Draw(t, "name"),
				Queue: label.Draw(t, "queue"),
			}
			if rapid.Bool().Draw(t, "assumed") {
				j.Estimate, j.Origin = max(1, run), workload.Assumed
			}
			if rapid.Bool().Draw(t, "waited") {
				j.Wait, j.HasWaited = rapid.Int64Range(0, 1e6).Draw(t, "wait"), true
			}
			j.Waited = j.Wait
			jobs = append(jobs, j)
			submit += rapid.Int64Range(0, 1000).Draw(t, "gap")
		}
		trace, err := gwf.Read(strings.NewReader(printed(jobs, 2048)), "log", workload.Options{Memory: 1e9})
		require.NoError(t, err)
		require.Equal(t, jobs, trace.Jobs)
		require.EqualValues(t, 2048, trace.Machine.Processors)
	})
}

// Real traces that are printed in the format are read again as they were.
func TestPrintedTraces(t *testing.T) {
	names := []string{"KTH-SP2-1996-2.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"}
	for _, name := range names[:thorough.Cases(1, len(names))] {
		path := filepath.Join("../../../../shared/traces", name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the trace is not there: %v", err)
		}
		want, err := workload.Open(path, workload.Options{})
		require.NoError(t, err)
		text := printed(want.Jobs, want.Machine.Processors)
		got, err := gwf.Read(strings.NewReader(text), "log", workload.Options{})
		require.NoError(t, err)
		t.Logf("%s: %d jobs, %d MB", name, len(got.Jobs), len(text)>>20)
		require.Equal(t, want.Jobs, got.Jobs)
		require.Equal(t, want.Machine, got.Machine)
	}
}
