package condorsim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestASavedCaseKeepsScavengersAndGroups: on the same pool, the saved jobs are scavengers and of groups as they
// were, also one that is a scavenger by its ad, and the pool is not filled once more.
func TestASavedCaseKeepsScavengersAndGroups(t *testing.T) {
	for _, text := range []string{
		"scavengers: {fill: {jobs: 3, cpus: 1, run_time: 20}, users: [ann]}\n", "scavengers: {queues: [spare]}\n", "",
	} {
		text = one + "groups: [{name: lab, quota: 3, users: [ann, bob]}, {name: chem, quota: 1}]\n" + text
		w := onDescribed(
			t, text, workload.Job{Run: 100, Procs: 1, User: "ann", Queue: "spare"},
			workload.Job{Run: 100, Procs: 1, User: "eve"}, workload.Job{Run: 50, Procs: 1, User: "bob"},
			workload.Job{Submit: 5, Run: 10, Procs: 1, User: "cy", Group: "chem", Queue: "main"},
		)
		last := len(w.Jobs) - 1
		w.Jobs[last-1].Scavenger = w.Scavengers != nil
		w.Jobs[last-2].Labels["account"] = "chem.eve"
		pool := &stopping{wrongPool{condorsim.NewPool(w, nil), func(d *negotiator.Delta) {
			for _, j := range d.Submitted {
				if int(j.ID) == last {
					d.Now += 2
				}
			}
		}}}
		_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), pool)
		var violation *condorsim.Violation
		require.ErrorAs(t, err, &violation)
		path, err := violation.Save(t.TempDir())
		require.NoError(t, err)
		instance, err := workload.OpenInstance(path)
		require.NoError(t, err)
		description, err := pools.Read(strings.NewReader(text), "pool.yaml")
		require.NoError(t, err)
		again, err := condorsim.OnPool(instance.Trace, description)
		require.NoError(t, err)
		require.Len(t, again.Jobs, len(w.Jobs), text)
		require.Equal(t, w.Scavengers, again.Scavengers, text)
		for i := range w.Jobs {
			before, after := w.Jobs[i], again.Jobs[i]
			require.Equal(t, before.Scavenger, after.Scavenger, "%s: job %d", text, i)
			require.Equal(t, before.User, after.User, "%s: job %d", text, i)
			require.Equal(t, before.Labels["qos"], after.Labels["qos"], "%s: job %d", text, i)
			if i != last-2 {
				require.Equal(t, before.Labels["group"], after.Labels["group"], "%s: job %d", text, i)
			} else {
				require.Equal(t, "chem", after.Labels["group"])
			}
		}
		first, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		require.NoError(t, err)
		second, err := condorsim.Run(t.Context(), again, link(t, "easy", nil), nil)
		require.NoError(t, err)
		require.Equal(t, starts(first), starts(second), text)
		require.NotContains(t, starts(second), backfill.Forever)
	}
}
