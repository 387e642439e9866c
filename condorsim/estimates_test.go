package condorsim_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// estimated runs a workload under a policy with estimators.
func estimated(tb testing.TB, t require.TestingT, w *condorsim.Workload, c negotiator.Config, s estimate.Settings,
	open func(string) (io.ReadCloser, error), sinks ...negotiator.Sink,
) *condorsim.Result {
	tb.Helper()
	var err error
	c.Estimates, err = w.Estimators(s, c.Policy.Spec().Guarantees, open)
	require.NoError(t, err)
	r, err := condorsim.Run(tb.Context(), w, c, nil, sinks...)
	require.NoError(t, err)
	return r
}

// table returns the table of jobs as text.
func table(t require.TestingT, r *condorsim.Result) string {
	var out bytes.Buffer
	require.NoError(t, jobtable.Write(&out, r))
	return out.String()
}

// drawOrder draws an order of the queue; some orders use estimates.
func drawOrder(t *rapid.T) negotiator.Order {
	order, err := negotiator.OrderNamed(rapid.SampledFrom([]string{
		"fcfs", "sjf", "wfp", "area",
		"expr:-EstimatedRunTime",
	}).Draw(t, "order"))
	require.NoError(t, err)
	return order
}

// Settings that mean the same give the same schedules, under every policy.
func TestEstimatorsThatAreTheSame(t *testing.T) {
	for _, policy := range policies.All() {
		t.Run(policy.Name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				in := drawTrace(t)
				c := link(outer, policy.Name, nil)
				c.Order = drawOrder(t)
				names := func(seconds func(workload.Job) int64) func(string) (io.ReadCloser, error) {
					var lines strings.Builder
					for _, j := range in.Jobs {
						fmt.Fprintf(&lines, "%d,%d\n", j.ID, seconds(j))
					}
					return func(string) (io.ReadCloser, error) {
						return io.NopCloser(strings.NewReader(lines.String())), nil
					}
				}
				run := func(spec string, open func(string) (io.ReadCloser, error)) string {
					return table(t, estimated(outer, t, fromTrace(t, in, nil, len(in.Jobs)),
						c, estimate.Settings{All: spec}, open))
				}
				byRequest := names(func(j workload.Job) int64 { return j.Estimate })
				byRun := names(func(j workload.Job) int64 { return max(1, j.Run) })
				if rapid.Bool().Draw(t, "accurate") {
					want := run("accurate", nil)
					if rapid.Bool().Draw(t, "from a file") {
						require.Equal(t, want, run("file:x", byRun))
					} else {
						require.Equal(t, want, run("mix:1", nil))
					}
					return
				}
				plain, err := condorsim.Run(outer.Context(), fromTrace(t, in, nil, len(in.Jobs)), c, nil)
				require.NoError(t, err)
				// There are too few jobs for combined to learn from.
				spec := rapid.SampledFrom([]string{"", "requested", "mix:0", "combined", "file:x"}).Draw(t,
					"as requested")
				require.Equal(t, table(t, plain), run(spec, byRequest), "%q", spec)
			})
		})
	}
}

// With accurate estimates no running job outlives its planned end.
func TestAccurateEstimatesAreNeverOutlived(t *testing.T) {
	rapid.Check(t, func(inner *rapid.T) {
		in := drawTrace(inner)
		w := fromTrace(inner, in, nil, len(in.Jobs))
		c := link(t, "easy", nil)
		c.Order = drawOrder(inner)
		r := estimated(t, inner, w, c, estimate.Settings{All: "accurate"}, nil, sink(func(r *negotiator.Report) error {
			for _, j := range r.State.Snapshot().Jobs {
				if j.Running {
					require.Equal(inner, j.Start+max(1, w.Jobs[j.Job.ID].Run), j.End, "job %d", j.Job.ID)
				}
			}
			return nil
		}))
		if r.Held() < len(in.Jobs) {
			m := r.Measures()
			require.Equal(inner, []float64{1, 0, 0},
				[]float64{m["prediction_accuracy"], m["prediction_too_short"], m["prediction_error"]})
		}
	})
}

// halves has a user who needs half of what she requests, as jobs 1 and 2 show. Job 4 waits for
// job 3. Job 5, also hers, may overtake it if it is expected to end before job 3, or if the order
// puts it first.
func halves(t *testing.T) *condorsim.Workload {
	t.Helper()
	ann := func(j workload.Job) workload.Job {
		j.User = "ann"
		return j
	}
	return newWorkload(
		t,
		ann(workload.Job{Submit: 0, Run: 50, Estimate: 100, Procs: 1}),
		ann(workload.Job{Submit: 0, Run: 50, Estimate: 100, Procs: 1}),
		workload.Job{Submit: 50, Run: 60, Estimate: 60, Procs: 4},
		workload.Job{Submit: 50, Run: 10, Estimate: 100, Procs: 8},
		ann(workload.Job{Submit: 50, Run: 55, Estimate: 120, Procs: 4}),
	)
}

// Each use of estimates changes what it should, and nothing else.
func TestUses(t *testing.T) {
	learned := map[string]string{"threshold": "2"}
	for _, c := range []struct {
		name     string
		settings estimate.Settings
		order    string
		starts   []backfill.Time // of jobs 4 and 5
		uses     estimate.Uses   // of job 5
	}{
		{"requested", estimate.Settings{}, "fcfs", []backfill.Time{110, 120}, estimate.Uses{}},
		{
			"for all",
			estimate.Settings{All: "user", Options: learned},
			"fcfs",
			[]backfill.Time{110, 50},
			estimate.Uses{Order: 60, Backfill: 60, Running: 60},
		},
		{
			"to backfill",
			estimate.Settings{Backfill: "user", Options: learned},
			"fcfs",
			[]backfill.Time{110, 50},
			estimate.Uses{Order: 120, Backfill: 60, Running: 120},
		},
		{
			"for running jobs",
			estimate.Settings{Running: "user", Options: learned},
			"fcfs",
			[]backfill.Time{110, 120},
			estimate.Uses{Order: 120, Backfill: 120, Running: 60},
		},
		{
			"for the order, which does not ask",
			estimate.Settings{Order: "user", Options: learned},
			"fcfs",
			[]backfill.Time{110, 120},
			estimate.Uses{Order: 60, Backfill: 120, Running: 120},
		},
		{
			"for the order",
			estimate.Settings{Order: "user", Options: learned},
			"sjf",
			[]backfill.Time{110, 50},
			estimate.Uses{Order: 60, Backfill: 120, Running: 120},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, config := halves(t), link(t, "easy", nil)
			var err error
			config.Order, err = negotiator.OrderNamed(c.order)
			require.NoError(t, err)
			r := estimated(t, t, w, config, c.settings, nil)
			starts := []backfill.Time{r.Outcomes[3].Start, r.Outcomes[4].Start}
			require.Equal(t, c.starts, starts)
			if c.uses == (estimate.Uses{}) {
				require.Nil(t, r.Predictions)
			} else {
				require.Equal(t, c.uses, r.Predictions[4])
			}
			require.EqualValues(t, 120, r.Ran()[4].Estimate, "the wait is held against what was requested")
			require.Contains(t, table(t, r), "\n5,50,", "as is the row")
		})
	}
}

// Estimators learn from the first jobs of a workload, and from what ended before it.
func TestLearnFrom(t *testing.T) {
	w := newWorkload(
		t,
		workload.Job{Submit: 10, Run: 500, Estimate: 600, User: "ann"}, workload.Job{Submit: 20, Run: 5, Estimate: 9},
		workload.Job{Submit: 30, Run: 7, Estimate: 8}, workload.Job{Submit: 40, Run: 7, Estimate: 8},
		workload.Job{Submit: 50, Run: 7, Estimate: 8},
	)
	w.Cleaning.JobsRead, w.Cleaning.JobsLeft = 5, 5
	w.LearnFrom(0.5)
	require.Len(t, w.Jobs, 3)
	for i, name := range []string{"3", "4", "5"} {
		require.Equal(t, name, w.Jobs[i].Name)
		require.EqualValues(t, i, w.Jobs[i].ID)
	}
	require.Equal(t, []any{2, 3}, []any{w.Cleaning.Learned, w.Cleaning.JobsLeft})
	require.Equal(t, []int64{1, 2}, workload.Dropped(w.Drops, workload.WhyLearned))
	first := estimate.Ended{
		Job: estimate.Job{Name: "1", Requested: 600, Cpus: 1, Labels: map[string]string{"owner": "ann"}},
		Ran: 500, At: 30,
	}
	second := estimate.Ended{Job: estimate.Job{Name: "2", Requested: 9, Cpus: 1}, Ran: 5, At: 25}
	require.Equal(t, []estimate.Ended{second, first}, w.History)

	before := []estimate.Ended{
		{Job: estimate.Job{Name: "x", Requested: 1}, At: 1000},
		{Job: estimate.Job{Name: "y", Requested: 1}, At: 900},
	}
	w.Remember(before)
	require.EqualValues(t, 1000, before[0].At, "others may use it too")
	var order []string
	for _, e := range w.History {
		order = append(order, fmt.Sprint(e.Name, " ", e.At))
	}
	require.Equal(t, []string{"y -70", "2 25", "1 30", "x 30"}, order)

	set, err := w.Estimators(estimate.Settings{All: "mix:0", Order: "requested"}, true, nil)
	require.NoError(t, err)
	require.Nil(t, set, "guarantees rest on requests, and the order is of them")
	set, err = w.Estimators(estimate.Settings{All: "user"}, false, nil)
	require.NoError(t, err)
	require.Equal(t, 4, set.History().Len())

	soon := newWorkload(t, workload.Job{Submit: 0, Run: 5}, workload.Job{Submit: 100, Run: 5})
	soon.LearnFrom(0.9999999999)
	require.EqualValues(t, 5, soon.History[0].At, "on the clock of the workload")
	require.Len(t, soon.Jobs, 1)

	w.Remember(nil)
	w.LearnFrom(0)
	require.Len(t, w.Jobs, 3)
	r := estimated(t, t, w, link(t, "easy", nil),
		estimate.Settings{All: "user", Options: map[string]string{"threshold": "1"}}, nil)
	require.Zero(t, r.Held())
}

// A job that lost its slot keeps the prediction of its arrival, whatever was learned since.
func TestARequeuedJobIsNotForetoldAnew(t *testing.T) {
	w := newWorkload(
		t, workload.Job{Submit: 0, Run: 10, Estimate: 100, Procs: 1, User: "ann"},
		workload.Job{Submit: 0, Run: 10, Estimate: 100, Procs: 1, User: "ann"},
		workload.Job{Submit: 5, Run: 60, Estimate: 100, Procs: 1, User: "ann"},
		workload.Job{Submit: 40, Run: 60, Estimate: 100, Procs: 1, User: "ann"},
	)
	w.Outages = []pools.Outage{{Slots: []int{0}, At: 20, For: 10}}
	r := estimated(t, t, w, link(t, "easy", nil), estimate.Settings{All: "tsafrir"}, nil)
	require.Equal(t, 1, r.Outcomes[2].Requeues)
	require.EqualValues(t, 30, r.Outcomes[2].Start)
	require.EqualValues(t, 100, r.Predictions[2].Backfill)
	require.EqualValues(t, 10, r.Predictions[3].Backfill)
	require.InDelta(t, (0.1+0.1+0.6+1.0/6)/4, r.Measures()["prediction_accuracy"], 1e-9)
	require.InDelta(t, 0.25, r.Measures()["prediction_too_short"], 1e-9)
	require.InDelta(t, (90+90+40+50)/4., r.Measures()["prediction_error"], 1e-9)
}
