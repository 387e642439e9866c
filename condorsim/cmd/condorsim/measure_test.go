package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// meddling changes the run time of the first job while it runs.
type meddling struct{ w *condorsim.Workload }

func (m meddling) Cycle(r *negotiator.Report) error {
	if len(r.Matches) > 0 {
		m.w.Jobs[0].Run++
	}
	return nil
}

// TestAnErrorOfTheSimulatorIsSaved requires that an error is saved as a case, and that the message
// says how to run it again.
func TestAnErrorOfTheSimulatorIsSaved(t *testing.T) {
	w, err := condorsim.FromTrace(&workload.Trace{
		Name: "a trace", Machine: workload.Machine{Processors: 4},
		Jobs: []workload.Job{{ID: 7, Run: 5, Estimate: 9, Procs: 2}},
	}, nil)
	require.NoError(t, err)
	c := &runCommand{
		Policy: "easy", Placement: "rank", Order: "expr:WaitTime * 2", PolicyOpt: map[string]string{"depth": "2"},
		DumpDir: t.TempDir(),
		estimateFlags: estimateFlags{
			Estimates: "mix:0.5", EstimatesRunning: "requested",
			EstimatesOpt: map[string]string{"window": "60"}, History: "a b.swf",
		},
	}
	config, closePolicy, err := c.config(t.Context(), w, nil, hclog.NewNullLogger())
	require.NoError(t, err)
	defer closePolicy()
	_, err = condorsim.Run(t.Context(), w, config, nil, meddling{w})
	require.Error(t, err)

	path := filepath.Join(c.DumpDir, "condorsim-error-a-trace-at-5.json")
	require.EqualError(t, c.saved(err), "internal error at 0 00:00:05, job 7: ended after 5 s, but was to run for 6 s; "+
		"please report it with the case that was saved, which shows it again: condorsim run --instance "+path+
		` --policy easy --policy-opt depth=2 --order 'expr:WaitTime * 2' --estimates mix:0.5 --estimates-running `+
		`requested --history 'a b.swf' --estimates-opt window=60`)
	instance, readErr := workload.OpenInstance(path)
	require.NoError(t, readErr)
	require.Equal(t, []workload.Job{{ID: 7, Run: 6, Estimate: 9, Procs: 2}}, instance.Trace.Jobs)
	files, readErr := os.ReadDir(c.DumpDir)
	require.NoError(t, readErr)
	require.Len(t, files, 1)

	t.Chdir(t.TempDir())
	var told bytes.Buffer
	view := &sweepView{out: &told}
	key := results.Key{ID: "a,easy", Policy: "easy", Order: "fcfs"}
	require.EqualError(t, view.failed([]sweep.Failure{{Key: key, Policy: key.Policy, Err: err}}),
		"1 cell failed, see above; the others are finished")
	require.Contains(t, told.String(), "condorsim run --instance condorsim-error-a-trace-at-5.json --policy easy")
	require.FileExists(t, "condorsim-error-a-trace-at-5.json")

	c.DumpDir = filepath.Join(c.DumpDir, "none")
	require.ErrorContains(t, c.saved(err), "was to run for 6 s; the case could not be saved: ")
	other := errors.New("something else")
	require.Equal(t, other, c.saved(other))
}
