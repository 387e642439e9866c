package condorsim_test

import (
	"fmt"
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
func sameStarts(was, is *condorsim.Result) (same int, first string) {
	a, b := startsByName(was), startsByName(is)
	for _, j := range was.Workload.Jobs {
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
				was, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
				require.NoError(t, err)
				again := ofRecord(t, written(t, w, link(t, policy, nil), record.Options{}))
				require.Len(t, again.Jobs, len(w.Jobs))
				is, err := condorsim.Run(t.Context(), again, link(t, policy, nil), nil)
				require.NoError(t, err)
				if _, first := sameStarts(was, is); name != "preemption" && name != "scavengers" {
					require.Empty(t, first)
				}
				other, err := condorsim.Run(t.Context(), ofRecord(t, written(t, w, link(t, policy, nil), record.Options{})),
					link(t, "fcfs", nil), nil)
				require.NoError(t, err)
				_, first := sameStarts(was, other)
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
		was, err := condorsim.Run(outer.Context(), w, link(outer, policy, nil), nil)
		require.NoError(t, err)
		again := ofRecord(outer, written(outer, w, link(outer, policy, nil), record.Options{}))
		is, err := condorsim.Run(outer.Context(), again, link(outer, policy, nil), nil)
		require.NoError(t, err)
		_, first := sameStarts(was, is)
		require.Empty(t, first)
	})
}
