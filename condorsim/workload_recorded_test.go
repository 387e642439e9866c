package condorsim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// ofRecord makes a workload of a record.
func ofRecord(tb testing.TB, path string) *condorsim.Workload {
	tb.Helper()
	jobs, err := formats.ReadFile(path, formats.Options{})
	require.NoError(tb, err)
	w, err := condorsim.From(jobs, nil)
	require.NoError(tb, err)
	return w
}

// sameStarts returns for how many jobs, found by their names, one run has the start of the other, and the first that
// has another one.
func sameStarts(before, after *condorsim.Result) (same int, first string) {
	a, b := startsByName(before), startsByName(after)
	for _, j := range before.Workload.Jobs {
		switch {
		case j.Scavenger:
		case a[j.Name] == b[j.Name]:
			same++
		case first == "":
			first = fmt.Sprintf("job %s, of %d, started at %d and then at %d", j.Name, j.Submit, a[j.Name], b[j.Name])
		}
	}
	return same, first
}

// startsByName returns when each job started; none for those that did not.
func startsByName(r *condorsim.Result) map[string]backfill.Time {
	starts := map[string]backfill.Time{}
	for i, o := range r.Outcomes {
		if o.Started {
			starts[r.Workload.Jobs[i].Name] = o.Start
		}
	}
	return starts
}

// TestARecordIsAWorkload: the policy of a record, simulated on the jobs and the slots of the record, starts each job
// when the record says, also where slots fail; another policy makes a valid schedule. Why jobs make way for others is
// not in a record.
func TestARecordIsAWorkload(t *testing.T) {
	for name, w := range recordable(t) {
		for _, policy := range []string{"easy", "conservative", "slack", "pc"} {
			t.Run(name+"/"+policy, func(t *testing.T) {
				t.Parallel()
				before, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
				require.NoError(t, err)
				again := ofRecord(t, written(t, w, link(t, policy, nil), record.Options{}))
				require.Len(t, again.Jobs, len(w.Jobs))
				after, err := condorsim.Run(t.Context(), again, link(t, policy, nil), nil)
				require.NoError(t, err)
				if _, first := sameStarts(before, after); name != "preemption" && name != "scavengers" {
					require.Empty(t, first)
				}
				other, err := condorsim.Run(t.Context(), ofRecord(t, written(t, w, link(t, policy, nil), record.Options{})),
					link(t, "fcfs", nil), nil)
				require.NoError(t, err)
				_, first := sameStarts(before, other)
				require.NotEmpty(t, first)
			})
		}
	}
}

// TestAnyRecordIsAWorkload does the same for jobs of all kinds on a pool of several slots.
func TestAnyRecordIsAWorkload(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		policy := rapid.SampledFrom([]string{"fcfs", "easy", "conservative", "slack", "dc", "pc"}).Draw(t, "policy")
		var jobs []workload.Job
		submit := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "jobs") {
			submit += rapid.Int64Range(0, 40).Draw(t, "gap")
			run := rapid.Int64Range(0, 300).Draw(t, "run")
			jobs = append(jobs, workload.Job{
				Submit: submit, Run: run, Estimate: max(1, run+rapid.Int64Range(0, 200).Draw(t, "more")),
				Procs: rapid.Int64Range(1, 12).Draw(t, "procs"), User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
			})
		}
		w := onDescribed(outer, "classes: [{name: node, cpus: 4, count: 3}]\npack: {chunk_cpus: 2}\n", jobs...)
		before, err := condorsim.Run(outer.Context(), w, link(outer, policy, nil), nil)
		require.NoError(t, err)
		again := ofRecord(outer, written(outer, w, link(outer, policy, nil), record.Options{}))
		after, err := condorsim.Run(outer.Context(), again, link(outer, policy, nil), nil)
		require.NoError(t, err)
		_, first := sameStarts(before, after)
		require.Empty(t, first)
	})
}

// joined joins the files of a record.
func joined(tb testing.TB, path string) (one string) {
	tb.Helper()
	files, err := record.Former(path)
	require.NoError(tb, err)
	var all []byte
	for _, name := range append(files, path) {
		text, readErr := os.ReadFile(name)
		require.NoError(tb, readErr)
		all = append(all, text...)
	}
	one = filepath.Join(tb.TempDir(), "joined.rec")
	require.NoError(tb, os.WriteFile(one, all, 0o600))
	return one
}

// TestARecordInFilesIsAWorkload: the files of a record are one when they are joined.
func TestARecordInFilesIsAWorkload(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(20_000), nil)
	require.NoError(t, err)
	path := written(t, w, link(t, "easy", nil), record.Options{FileSize: 1})
	again := ofRecord(t, joined(t, path))
	require.Len(t, again.Jobs, len(w.Jobs))
	r, err := condorsim.Run(t.Context(), again, link(t, "easy", nil), nil)
	require.NoError(t, err)
	e, err := r.SimulatorError()
	require.NoError(t, err)
	require.Equal(t, condorsim.SimulatorError{Policy: "easy", Jobs: len(w.Jobs), Within: len(w.Jobs)}, *e)

	// The last file alone begins with jobs that run and others that wait.
	part := ofRecord(t, path)
	require.Less(t, len(part.Jobs), len(w.Jobs)/2)
	r, err = condorsim.Run(t.Context(), part, link(t, "easy", nil), nil)
	require.NoError(t, err)
	e, err = r.SimulatorError()
	require.NoError(t, err)
	require.Zero(t, e.Median)
	t.Log(e)
}
