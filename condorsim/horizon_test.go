package condorsim_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// burst is 2,000 jobs of one user on eight cpus, and some of another who comes 10 s later.
func burst(t *testing.T, later int, run func() int64) *condorsim.Workload {
	t.Helper()
	jobs := []workload.Job{{Run: run(), Procs: 1, User: "1"}}
	for len(jobs) < 2000+later {
		j := workload.Job{Run: run(), Procs: 1, User: "1"}
		if len(jobs) >= 2000 {
			j.User, j.Submit = "2", 10
		}
		jobs = append(jobs, j)
	}
	return newWorkload(t, jobs...)
}

// waited returns how long the second user's jobs wait on average where that user comes first.
func waited(t *testing.T, w *condorsim.Workload, policy string, planning backfill.Planning) (mean float64) {
	t.Helper()
	c := link(t, policy, nil)
	var err error
	c.Order, err = negotiator.OrderNamed(`expr:Owner == "2"`)
	require.NoError(t, err)
	c.Planning = planning
	result, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	n := 0.0
	for i, o := range result.Outcomes[2000:] {
		mean += float64(o.Start - w.Jobs[2000+i].Submit)
		n++
	}
	return mean / n
}

// TestABurstKeepsThePlanFromNobody checks that a user with a better priority waits at most one and a
// half times as long as under easy where another user's many jobs were promised starts before, if
// the plan has a horizon; and several times as long if it has none.
func TestABurstKeepsThePlanFromNobody(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a workload
	for name, run := range map[string]func() int64{
		"alike": func() int64 { return 100 },
		"mixed": func() int64 { return 20 + random.Int64N(161) },
	} {
		for _, later := range []int{8, 400} {
			w := burst(t, later, run)
			best := waited(t, w, "easy", backfill.Planning{})
			for _, policy := range []string{"slack", "conservative", "pc", "dc"} {
				p := backfill.Planning{Depth: 10_000, Reorder: true, Horizon: 90}
				require.LessOrEqual(t, waited(t, w, policy, p), 1.5*best, "%s, %s, %d", policy, name, later)
				if p.Horizon = 0; policy == "slack" && later == 400 || policy == "dc" {
					require.Greater(t, waited(t, w, policy, p), 5*best, "%s, %s, %d, no horizon", policy, name, later)
				}
			}
		}
	}
}

// TestNobodyStarvesBesideAHorizon checks on random workloads of a few users, with the audit, that every
// job runs, that each user of whom jobs wait holds a promise, and that all promises are kept.
func TestNobodyStarvesBesideAHorizon(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var jobs []workload.Job
		at := int64(0)
		for range rapid.IntRange(1, 60).Draw(rt, "jobs") {
			at += rapid.Int64Range(0, 30).Draw(rt, "gap")
			run := rapid.Int64Range(1, 90).Draw(rt, "run")
			jobs = append(jobs, workload.Job{
				Submit: at, Run: run, Estimate: run + rapid.Int64Range(0, 60).Draw(rt, "over"),
				Procs: rapid.Int64Range(1, 8).Draw(rt, "procs"), User: rapid.SampledFrom([]string{"1", "2", "3"}).Draw(rt, "user"),
			})
		}
		w := newWorkload(t, jobs...)
		c := link(t, rapid.SampledFrom([]string{"slack", "conservative", "pc", "dc"}).Draw(rt, "policy"), nil)
		order, err := negotiator.OrderNamed(`expr:Owner == "2"`)
		require.NoError(t, err)
		c.Order = order
		c.Planning = backfill.Planning{
			Horizon: backfill.Time(rapid.IntRange(1, 200).Draw(rt, "horizon")), Reorder: rapid.Bool().Draw(rt, "reorder"),
		}
		result, err := condorsim.Run(t.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
			require.Empty(rt, r.Decision.Broken)
			return nil
		}))
		require.NoError(t, err)
		for i, o := range result.Outcomes {
			require.True(t, o.Ended, "job %d", i)
		}
	})
}

// TestAuditOfAHorizon feeds the audit a correct run under a plan with a horizon, and one in which no
// user seems to hold a promise.
func TestAuditOfAHorizon(t *testing.T) {
	for _, hides := range []bool{false, true} {
		w, c := queueOf(t), link(t, "conservative", nil)
		c.Planning.Horizon = 10
		books, closeBooks := condorsim.Audited(w)
		_, err := condorsim.Run(t.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
			if hides {
				r.Decision.Actions, r.Decision.Started = nil, slices.Clone(r.Decision.Started)
				for i := range r.Decision.Started {
					r.Decision.Started[i].Promised = false
				}
			}
			return books.Cycle(r)
		}))
		if hides {
			require.EqualError(t, err, `internal error at 0 00:00:00, job 2: waits, and no job of its user "" is promised a start`)
		} else {
			require.NoError(t, err)
			require.NoError(t, closeBooks())
		}
	}
}
