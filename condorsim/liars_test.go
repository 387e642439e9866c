package condorsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// crowd is a workload in which user u0 says a hundredth of what the jobs run, if it lies.
func crowd(t *testing.T, lies bool) *condorsim.Workload {
	t.Helper()
	var jobs []workload.Job
	for i := range int64(400) {
		j := workload.Job{
			ID: i + 1, Submit: 20 * i, Run: 200 + 37*(i%11), Estimate: 700, Procs: 1 + i%5, User: fmt.Sprint("u", i%4),
		}
		if lies && j.User == "u0" {
			j.Estimate, j.Lies = j.Run/100, true
		}
		jobs = append(jobs, j)
	}
	return newWorkload(t, jobs...)
}

// starts lists when each job started.
func starts(r *condorsim.Result) (all []backfill.Time) {
	for _, o := range r.Outcomes {
		all = append(all, o.Start)
	}
	return all
}

// waits returns the mean wait of a user's jobs, in seconds.
func waits(r *condorsim.Result, user string) float64 {
	sum, jobs := 0.0, 0.0
	for i, j := range r.Workload.Jobs {
		if j.User == user {
			sum, jobs = sum+float64(r.Outcomes[i].Start-j.Submit), jobs+1
		}
	}
	return sum / jobs
}

// Where nobody lies, all ways to trust users give the same schedule. If all are believed, a liar
// waits 40 % less, at least, than he does when he states the truth; by the record he gains less
// than 1 %, does not wait less than the honest, and hardly one of these is late.
func TestWhatLiarsGain(t *testing.T) {
	for _, policy := range []string{"conservative", "slack", "easy"} {
		results := map[estimate.Trust]*condorsim.Result{}
		var honest float64 // what the liar waits when he states the truth
		for _, lies := range []bool{false, true} {
			for _, trust := range []estimate.Trust{"", estimate.TrustRecord, estimate.TrustEnforced, estimate.TrustAll} {
				c := link(t, policy, nil)
				c.Trust = trust
				r, err := condorsim.Run(t.Context(), crowd(t, lies), c, nil)
				require.NoError(t, err)
				if _, measured := r.Measures()["liars_jobs"]; !lies {
					require.False(t, measured)
					if first := results[""]; first != nil {
						require.Equal(t, starts(first), starts(r), trust)
						continue
					}
				}
				results[trust] = r
			}
			if !lies {
				honest = waits(results[""], "u0")
				clear(results)
			}
		}
		require.Equal(t, starts(results[""]), starts(results[estimate.TrustRecord]))
		all, record := results[estimate.TrustAll].Measures(), results[estimate.TrustRecord].Measures()
		enforced := results[estimate.TrustEnforced].Measures()
		require.InDelta(t, 100, all["liars_jobs"], 0)
		require.Less(t, all["liars_wait_ratio"], 1.0, policy)
		require.Greater(t, record["liars_wait_ratio"], 0.99, policy)
		require.Greater(t, enforced["liars_wait_ratio"], 0.99, policy)
		require.Greater(t, record["liars_slowdown_ratio"], all["liars_slowdown_ratio"], policy)
		gain := func(trust estimate.Trust) float64 { return 1 - waits(results[trust], "u0")/honest }
		require.Greater(t, gain(estimate.TrustAll), 0.4, policy)
		require.Less(t, gain(estimate.TrustRecord), 0.01, policy)
		require.Less(t, gain(estimate.TrustEnforced), 0.01, policy)
		if policy != "easy" {
			require.Less(t, record["honest_mean_wait"], all["honest_mean_wait"], policy)
			require.Less(t, record["honest_late"], all["honest_late"]/5, policy)
			require.Zero(t, enforced["honest_late"], policy)
		}
	}
}

// Where users' words come to count otherwise, their jobs are predicted anew, and those whose place in the plan
// stays have other keys nevertheless: the same as if the order was asked at each instant.
func TestDoubtsChangeKeys(t *testing.T) {
	for _, policy := range []string{"slack", "dc", "conservative"} {
		for _, name := range []string{"wfp", "xfactor", "sjf"} {
			order, err := negotiator.OrderNamed(name)
			require.NoError(t, err)
			run := func(o negotiator.Order) *condorsim.Result {
				c := link(t, policy, nil)
				c.Order = o
				return estimated(t, t, crowd(t, true), c, estimate.Settings{All: "learned"}, nil)
			}
			named, err := backfill.OrderNamed(name)
			require.NoError(t, err)
			always := negotiator.OrderBy(func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
				key, _ := named(j, at)
				return key, backfill.Moves{WithTime: true, WithCapacity: true}
			})
			require.Equal(t, starts(run(always)), starts(run(order)), "%s, %s", policy, name)
		}
	}
}

// outliving lists what cycles are told of runs beyond their estimates.
type outliving struct{ runs []string }

func (o *outliving) Cycle(r *negotiator.Report) error {
	for _, run := range r.Delta.Outliving {
		o.runs = append(o.runs, fmt.Sprintf("%d for %d at %d", run.Job.ID, run.Ran, r.Delta.Now))
	}
	return nil
}

// The pool tells of runs that go on beyond their estimates, at first and each time after twice as
// long.
func TestThePoolTellsOfRunsBeyondEstimates(t *testing.T) {
	w := newWorkload(t, workload.Job{Run: 100, Estimate: 10, Lies: true, Procs: 1}, workload.Job{Run: 10, Estimate: 10, Procs: 1})
	told := &outliving{}
	_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, told)
	require.NoError(t, err)
	require.Equal(t, []string{"0 for 11 at 11", "0 for 22 at 22", "0 for 44 at 44", "0 for 88 at 88"}, told.runs)
}

// A group without jobs has no means: where all lie, nothing is said of the honest.
func TestNothingIsSaidOfNobody(t *testing.T) {
	liar := workload.Job{Run: 100, Estimate: 10, Lies: true, Procs: 1, User: "a"}
	honest := workload.Job{ID: 1, Run: 100, Estimate: 100, Procs: 1, User: "b"}
	names := func(jobs ...workload.Job) (names []string) {
		r, err := condorsim.Run(t.Context(), newWorkload(t, jobs...), link(t, "easy", nil), nil)
		require.NoError(t, err)
		for name := range r.Measures() {
			if strings.HasPrefix(name, "liars_") || strings.HasPrefix(name, "honest_") {
				names = append(names, name)
			}
		}
		return names
	}
	require.ElementsMatch(t, []string{"liars_jobs", "liars_mean_wait"}, names(liar))
	require.ElementsMatch(t, []string{ // nobody waits, so that no ratio of waits is
		"liars_jobs", "liars_mean_wait", "honest_mean_wait", "liars_slowdown_ratio", "honest_late",
	}, names(liar, honest))
}
