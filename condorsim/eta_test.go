package condorsim_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// together is jobs that arrive at once on a machine of 4 processors and run for as long as they
// request.
func together(jobs int) *workload.Trace {
	trace := &workload.Trace{Name: "together", Machine: workload.Machine{Processors: 4}}
	for i := range jobs {
		run := int64(10 + 7*i%30)
		trace.Jobs = append(trace.Jobs, workload.Job{
			ID: int64(i + 1), User: strconv.Itoa(i % 3), Procs: int64(1 + i%3), Run: run, Estimate: run,
		})
	}
	return trace
}

// TestEtaIsTrue: with accurate estimates and no later arrivals, what jobs are told comes true.
func TestEtaIsTrue(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "fcfs", "slack"} {
		w, err := condorsim.FromTrace(together(30), nil)
		require.NoError(t, err)
		r, err := condorsim.RunEta(t.Context(), w, link(t, policy, nil), condorsim.Eta{})
		require.NoError(t, err)
		require.Greater(t, len(r.Eta.Arrival), 20, policy)
		for _, told := range append(r.Eta.Arrival, r.Eta.Head...) {
			start := r.Outcomes[told.Job].Start
			require.Equal(t, ahead.Range{Low: start, Mid: start, High: start}, told.Range, "%s, job %d", policy, told.Job)
		}
		m := r.Measures()
		require.Zero(t, m["eta_error_p90"], policy)
		require.InDelta(t, 1, m["eta_within_80"], 0, policy)
		require.InDelta(t, 1, m["eta_head_within_80"], 0, policy)
		require.InDelta(t, len(r.Eta.Arrival), m["eta_jobs"], 0, policy)
		for _, share := range []string{"eta_within_1min", "eta_within_10min", "eta_head_within_1min", "eta_all_within_10min"} {
			require.InDelta(t, 1, m[share], 0, "%s, %s", share, policy)
		}
		require.Equal(t, len(r.Eta.Arrival), r.Eta.Waited, policy)
		require.Equal(t, 30, r.Eta.Waited+r.Eta.AtOnce, policy)
	}
}

// TestEta: what is told does not depend on the number of workers, and changes nothing of the run. Of
// the jobs that wait every k-th is told.
func TestEta(t *testing.T) {
	in := together(120)
	for i := range in.Jobs {
		in.Jobs[i].Submit = int64(i * 5)
		in.Jobs[i].Run = 1 + int64(i*i%40)
		in.Jobs[i].Estimate = 40
	}
	for _, policy := range []string{"easy", "conservative"} {
		w, err := condorsim.FromTrace(in, nil)
		require.NoError(t, err)
		settings := estimate.Settings{All: "user", Options: map[string]string{"threshold": "2"}}
		run := func(workers, jobs int) *condorsim.Result {
			r, failed := condorsim.RunEta(t.Context(), w, link(t, policy, nil), condorsim.Eta{
				Jobs: jobs, Seed: 3, Futures: 10, Workers: workers, Estimates: settings,
			})
			require.NoError(t, failed)
			return r
		}
		one, four := run(1, 20), run(4, 20)
		require.Equal(t, one.Eta, four.Eta)
		require.Len(t, one.Eta.Arrival, 20)
		all := run(2, 1000).Eta.Arrival
		for i, told := range one.Eta.Arrival {
			require.Equal(t, all[i*len(all)/20], told)
			require.LessOrEqual(t, told.Range.Low, told.Range.Mid)
			require.LessOrEqual(t, told.Range.Mid, told.Range.High)
			require.GreaterOrEqual(t, told.Range.Low, told.At)
		}
		c := link(t, policy, nil)
		c.Estimates, err = w.Estimators(settings, c.Policy.Spec().Guarantees, nil)
		require.NoError(t, err)
		plain, err := condorsim.Run(t.Context(), w, c, nil)
		require.NoError(t, err)
		require.Equal(t, plain.Outcomes, one.Outcomes)
	}
}

// TestEtaNear: four jobs ask for an hour each, one after another, and run for as long but for the second,
// which ends early. So at their arrival the third and the fourth are told starts that are that much too
// late. As heads only the third is, while the second runs.
func TestEtaNear(t *testing.T) {
	for early, want := range map[int64][2]float64{0: {1, 1}, 60: {1, 1}, 61: {1. / 3, 1}, 600: {1. / 3, 1}, 601: {1. / 3, 1. / 3}} {
		in := &workload.Trace{Name: "near", Machine: workload.Machine{Processors: 1}}
		for i := range int64(4) {
			job := workload.Job{ID: i + 1, Submit: i, Procs: 1, Run: 3600, Estimate: 3600, User: "1"}
			if i == 1 {
				job.Run -= early
			}
			in.Jobs = append(in.Jobs, job)
		}
		w, err := condorsim.FromTrace(in, nil)
		require.NoError(t, err)
		r, err := condorsim.RunEta(t.Context(), w, link(t, "easy", nil), condorsim.Eta{})
		require.NoError(t, err)
		m := r.Measures()
		require.InDelta(t, want[0], m["eta_within_1min"], 1e-9, "%d s early", early)
		require.InDelta(t, want[1], m["eta_within_10min"], 1e-9, "%d s early", early)
		require.InDelta(t, want[0], m["eta_fit_within_1min"], 1e-9, "%d s early", early)
		require.InDelta(t, (1+want[0])/2, m["eta_head_fit_within_1min"], 1e-9, "2/3 where it is 1/3")
		require.InDelta(t, (1+want[1])/2, m["eta_head_fit_within_10min"], 1e-9)
		require.InDelta(t, (1+3*want[0])/4, m["eta_all_within_1min"], 1e-9, "the first started at once")
		require.InDelta(t, (1+3*want[1])/4, m["eta_all_within_10min"], 1e-9)
	}
}

// once is a policy of which there is only one.
type once struct{ backfill.Decider }

// TestEtaRefuses refuses what cannot be told.
func TestEtaRefuses(t *testing.T) {
	w, err := condorsim.FromTrace(together(5), nil)
	require.NoError(t, err)
	c := link(t, "easy", nil)
	c.Policy = once{c.Policy}
	_, err = condorsim.RunEta(t.Context(), w, c, condorsim.Eta{})
	require.ErrorContains(t, err, "there cannot be more than one of this policy")
	_, err = condorsim.RunEta(t.Context(), w, link(t, "easy", nil), condorsim.Eta{Estimates: estimate.Settings{All: "usr"}})
	require.ErrorContains(t, err, `unknown estimator "usr"`)
	w.Outages = []pools.Outage{{}}
	_, err = condorsim.RunEta(t.Context(), w, link(t, "easy", nil), condorsim.Eta{})
	require.ErrorContains(t, err, "nothing fails")
}

// TestEtaFits: what starts are compared with is a job's reservation or earliest fit at that instant.
func TestEtaFits(t *testing.T) {
	in := &workload.Trace{Name: "fits", Machine: workload.Machine{Processors: 1}}
	for i, estimate := range []int64{100, 10, 20} {
		in.Jobs = append(in.Jobs, workload.Job{
			ID: int64(i + 1), Submit: int64(i), Procs: 1, Run: 5, Estimate: estimate, User: "1",
		})
	}
	for _, policy := range []string{"easy", "conservative"} {
		w, err := condorsim.FromTrace(in, nil)
		require.NoError(t, err)
		r, err := condorsim.RunEta(t.Context(), w, link(t, policy, nil), condorsim.Eta{})
		require.NoError(t, err)
		var fits []string
		for _, told := range append(r.Eta.Arrival, r.Eta.Head...) {
			fits = append(fits, fmt.Sprint(told.Job, told.At, told.Fit))
		}
		require.Equal(t, []string{"1 1 100", "2 2 110", "1 1 100", "2 5 15"}, fits, policy)
	}
}
