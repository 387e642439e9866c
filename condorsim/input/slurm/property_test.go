package slurm_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// plain returns jobs without what depends on how they are kept.
func plain(jobs []workload.Job) []workload.Job {
	all := make([]workload.Job, len(jobs))
	for i, j := range jobs {
		j.Recorded = nil
		all[i] = j
	}
	return all
}

// Random jobs, printed as sacct prints them in any of its forms, are read as the same jobs.
func TestPrintedJobsAreRead(t *testing.T) {
	paris := workload.Options{Zone: "Europe/Paris"}.Location()
	rapid.Check(t, func(t *rapid.T) {
		jobs := make([]workload.Job, rapid.IntRange(1, 20).Draw(t, "jobs"))
		submit := int64(0)
		for i := range jobs {
			j := &jobs[i]
			name := func(kind string) string { return rapid.SampledFrom([]string{"", "a", "b c", "ü"}).Draw(t, kind) }
			*j = workload.Job{
				ID: int64(10 + 3*i), Submit: submit, Run: rapid.Int64Range(0, 300_000).Draw(t, "run"),
				Procs: rapid.Int64Range(1, 100).Draw(t, "procs"), Memory: rapid.Int64Range(0, 9000).Draw(t, "memory"),
				GPUs: rapid.Int64Range(0, 3).Draw(t, "gpus"), User: name("user"), Group: name("group"), Queue: name("queue"),
				Executable: name("executable"), HasWaited: true, Waited: rapid.Int64Range(0, 100_000).Draw(t, "waited"),
			}
			j.Wait = j.Waited
			switch limit := 60 * rapid.Int64Range(0, 6000).Draw(t, "limit"); {
			case limit == 0:
				j.Estimate, j.Origin = max(j.Run, 1), workload.Assumed
			case limit < j.Run:
				j.Estimate, j.Origin, j.Beside = j.Run, workload.Raised, uint32(limit)
			default:
				j.Estimate = limit
			}
			submit += rapid.Int64Range(0, 5000).Draw(t, "later")
		}
		p := printer{zone: paris, start: 1_717_200_000} // summer
		for _, text := range []string{p.table(jobs), p.object(jobs, rapid.IntRange(38, 43).Draw(t, "version"))} {
			trace, readErr := try(text, workload.Options{Zone: "Europe/Paris", CPUs: 1000})
			require.NoError(t, readErr, text)
			require.Equal(t, jobs, plain(trace.Jobs), text)
			require.Equal(t, p.start, trace.Header.Start())
			require.Equal(t, len(jobs), trace.Cleaning.Steps)
			require.Empty(t, trace.Warnings)
		}
	})
}

// A real trace, printed as sacct prints it, is read as the same jobs; of objects some thousand, unless all cases
// are to be tried.
func TestRealTrace(t *testing.T) {
	const name = "../../../../shared/traces/KTH-SP2-1996-2.1-cln.swf.gz"
	if _, err := os.Stat(name); err != nil {
		t.Skipf("the trace is not there: %v", err)
	}
	want, err := workload.Open(name, workload.Options{})
	require.NoError(t, err)
	p := printer{zone: time.UTC, start: want.Header.Start()}
	some := want.Jobs[:thorough.Cases(3000, len(want.Jobs))]
	for what, text := range map[string]string{"sacct -P": p.table(want.Jobs), "sacct --json": p.object(some, 41)} {
		got, readErr := try(text, workload.Options{CPUs: want.Machine.Processors})
		require.NoError(t, readErr)
		t.Logf("%s: %d jobs and %d steps, %d bytes", what, len(got.Jobs), got.Cleaning.Steps, len(text))
		require.Contains(t, []int{len(want.Jobs), len(some)}, len(got.Jobs))
		for i := range got.Jobs {
			w := want.Jobs[i]
			w.Submit -= want.Jobs[0].Submit
			if what == "sacct --json" { // has limits in minutes
				w.Estimate, w.Origin, w.Beside = got.Jobs[i].Estimate, got.Jobs[i].Origin, got.Jobs[i].Beside
			}
			g := got.Jobs[i]
			g.Recorded, w.Memory, g.Memory = nil, 0, 0
			if w != g {
				require.Equal(t, w, g)
			}
		}
	}
}

// endless is a table of many rows that is made while it is read.
type endless struct {
	rows int
	rest string
}

func (e *endless) Read(b []byte) (int, error) {
	if e.rest == "" {
		if e.rows == 0 {
			return 0, io.EOF
		}
		e.rows--
		e.rest = fmt.Sprintf("%d.%d|x|100|100|0|1|%s\n", e.rows, e.rows, strings.Repeat("y", 900))
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// Rows are read one at a time: a table of a hundred million bytes needs no memory for its text.
func TestTextIsNotKept(t *testing.T) {
	text := io.MultiReader(strings.NewReader("JobID|JobName|Submit|Start|ElapsedRaw|AllocCPUS|Comment\n1|x|100|100|5|1|\n"),
		&endless{rows: 100_000})
	r, err := packed.NewReader(text)
	require.NoError(t, err)
	trace, err := slurm.Read(r, "jobs.txt", workload.Options{})
	require.NoError(t, err)
	require.Equal(t, 100_000, trace.Cleaning.Steps)
	require.Len(t, trace.Jobs, 1)
}
