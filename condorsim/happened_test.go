package condorsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// recorded reads a trace of a machine of 8 processors in which the last job was cancelled.
func recorded(t *testing.T, lines string) *condorsim.Workload {
	t.Helper()
	trace, err := workload.ReadSWF(strings.NewReader("; MaxProcs: 8\n"+lines), "small.swf",
		workload.Options{Clean: workload.CleanNone})
	require.NoError(t, err)
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	return w
}

const (
	swfFirst  = "1 0 0 100 8 -1 -1 8 100 -1 1 1 -1 -1 -1 -1 -1 -1\n"
	swfSecond = "2 10 200 50 4 -1 -1 4 60 -1 1 2 -1 -1 -1 -1 -1 -1\n"
	swfNoWait = "3 20 -1 5 1 -1 -1 1 10 -1 1 2 -1 -1 -1 -1 -1 -1\n"
	swfAway   = "4 30 700 0 1 -1 -1 1 10 -1 5 2 -1 -1 -1 -1 -1 -1\n" // cancelled after 700 s
)

func TestHappened(t *testing.T) {
	r, err := condorsim.Happened(recorded(t, swfFirst+swfSecond))
	require.NoError(t, err)
	got := r.Measures()
	require.InDelta(t, 100, got["mean_wait"], 0)
	require.InDelta(t, 200, got["longest_wait"], 0)
	require.InDelta(t, 260, got["makespan"], 0)
	require.InDelta(t, 1000.0/(8*260), got["utilisation"], 1e-12)
	require.NotContains(t, got, "cycles", "no negotiator ran")
	require.NotContains(t, got, "share_from_top")
	require.Empty(t, r.Impossible())

	r, err = condorsim.Happened(recorded(t, swfFirst+swfSecond+swfNoWait+swfAway))
	require.NoError(t, err)
	require.Equal(t, 2, r.Held(), "no start, and cancelled before it")
	require.InDelta(t, 100, r.Measures()["mean_wait"], 0)
	require.InDelta(t, 1000.0/(8*260), r.Measures()["utilisation"], 1e-12, "by the jobs that are known")
	require.NotContains(t, r.Measures(), "loss_of_capacity", "it depends on all jobs")

	_, err = condorsim.Happened(recorded(t, swfNoWait+swfAway))
	require.ErrorContains(t, err, "no job has a recorded start")
}

// Two jobs of 8 processors at one time cannot have been on 8.
func TestWhatCannotHaveHappened(t *testing.T) {
	r, err := condorsim.Happened(recorded(t, swfFirst+strings.Replace(swfSecond, "200", "20", 1)))
	require.NoError(t, err)
	require.Equal(t, "what really happened cannot have happened on this pool: 12 cpus were in use at 0 00:00:30, and it has 8",
		r.Impossible())
	require.NotContains(t, r.Measures(), "utilisation")
	require.InDelta(t, 10, r.Measures()["mean_wait"], 0)
}

// Beside what happened a run counts the same jobs, as it does in a sweep with a row of the history.
func TestOnlyRecorded(t *testing.T) {
	r, err := condorsim.Run(t.Context(), recorded(t, swfFirst+swfSecond+swfNoWait), link(t, "conservative", nil), nil)
	require.NoError(t, err)
	r.OnlyRecorded()
	got := r.Measures()
	require.InDelta(t, 45, got["mean_wait"], 0)
	require.InDelta(t, 2, got["guarantees_given"], 0)
	require.InDelta(t, 1000.0/(8*150), got["utilisation"], 1e-12, "by the same jobs as of what happened")
	require.NotContains(t, got, "loss_of_capacity")
	require.Equal(t, 1, r.Held())

	r, err = condorsim.Run(t.Context(), recorded(t, swfFirst+swfSecond), link(t, "conservative", nil), nil)
	require.NoError(t, err)
	want := r.Measures()
	r.OnlyRecorded()
	require.Equal(t, want, r.Measures(), "nothing is left out")
}

// Both sides are of the same jobs: those with a recorded start that ran.
func TestCompareWithHistory(t *testing.T) {
	result, err := condorsim.Run(t.Context(), recorded(t, swfFirst+swfSecond+swfNoWait+swfAway), link(t, "fcfs", nil), nil)
	require.NoError(t, err)
	c, err := result.CompareWithHistory()
	require.NoError(t, err)
	require.Equal(t, []int{2, 2, 0}, []int{c.Jobs, c.NoStart, c.NotRun})
	require.Len(t, c.Simulated, len(c.Happened))
	for i, happened := range c.Happened {
		require.Equal(t, happened.Name, c.Simulated[i].Name)
		switch happened.Name {
		case "mean_wait":
			require.InDelta(t, 100, happened.Value, 0)
			require.InDelta(t, 45, c.Simulated[i].Value, 0)
		case "utilisation":
			require.InDelta(t, 1000.0/(8*260), happened.Value, 1e-12, "by the jobs that are compared")
			require.InDelta(t, 1000.0/(8*150), c.Simulated[i].Value, 1e-12)
		case "loss_of_capacity":
			require.Fail(t, "it depends on all jobs, and some are left out")
		}
	}
}

// What happened is a fact of the file: a run that ends jobs at their limits, also scaled ones, does not
// change it.
func TestHappenedWhateverARunCuts(t *testing.T) {
	lines := "; MaxProcs: 8\n" + swfFirst + strings.Replace(swfSecond, " 60 ", " 30 ", 1) // runs 50 s, asked for 30
	for name, options := range map[string]struct {
		overrun workload.Overrun
		scale   float64
	}{
		"as it is": {workload.OverrunRaise, 0}, "cut": {workload.OverrunKill, 0},
		"scaled and cut": {workload.OverrunKill, 0.5}, "scaled": {workload.OverrunRaise, 0.5},
	} {
		trace, err := workload.ReadSWF(strings.NewReader(lines), "small.swf", workload.Options{Overrun: options.overrun})
		require.NoError(t, err)
		trace, err = trace.Transform(workload.Transform{EstimateScale: options.scale})
		require.NoError(t, err)
		w, err := condorsim.FromTrace(trace, nil)
		require.NoError(t, err)
		r, err := condorsim.Happened(w)
		require.NoError(t, err)
		got := r.Measures()
		require.InDelta(t, (100.0+250)/2, got["mean_response"], 0, name)
		require.InDelta(t, 260, got["makespan"], 0, name)
		require.InDelta(t, (1.0+5)/2, got["mean_bounded_slowdown"], 0, name)
		require.InDelta(t, 1000.0/(8*260), got["utilisation"], 1e-12, name)
	}
}

// A job after another waited from its submission, or from that end and the think time if that is later. The
// reader says which were submitted later than a run submits them.
func TestHappenedAfterAnother(t *testing.T) {
	after := "2 500 %d 50 4 -1 -1 4 60 -1 1 2 -1 -1 -1 -1 1 %d\n"
	for _, c := range []struct {
		wait, think int
		mean        float64
		later       int
	}{
		{0, 30, 0, 1},   // submitted 370 later, and started at once
		{20, -1, 10, 0}, // from 500 to 520
		{0, 700, 0, 0},  // it started before
	} {
		w := recorded(t, swfFirst+fmt.Sprintf(after, c.wait, c.think))
		r, err := condorsim.Happened(w)
		require.NoError(t, err)
		require.InDelta(t, c.mean, r.Measures()["mean_wait"], 0)
		require.Equal(t, c.later, w.Cleaning.SubmittedLater)
		require.Len(t, w.Cleaning.Doubts(), c.later)
	}
}
