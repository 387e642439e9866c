package condorsim_test

import (
	"context"
	"path/filepath"
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
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestFairStartsOfExamples compares the fair start times with known ones, for any number of
// workers.
func TestFairStartsOfExamples(t *testing.T) {
	files, err := filepath.Glob(shared + "/sim-examples/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("skipped: the instances with expected fair start times; shared/sim-examples is not here")
	}
	for _, file := range files {
		instance, err := workload.OpenInstance(file)
		require.NoError(t, err)
		for policy, expected := range instance.Expected {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+policy, func(t *testing.T) {
				for _, workers := range []int{1, 4} {
					w, err := condorsim.FromTrace(instance.Trace, nil)
					require.NoError(t, err)
					r, err := condorsim.RunFair(t.Context(), w, ordered(t, policy),
						condorsim.Fair{Strict: true, Relaxed: true, Workers: workers})
					require.NoError(t, err)
					require.Equal(t, times(expected.StrictFST), r.StrictFST, "strict")
					require.Equal(t, times(expected.RelaxedFST), r.RelaxedFST, "relaxed")
					require.InEpsilon(t, 1+expected.Metrics["strict_unfairness"], 1+r.Unfairness(r.StrictFST), 1e-6)
					require.InEpsilon(t, 1+expected.Metrics["relaxed_unfairness"], 1+r.Unfairness(r.RelaxedFST), 1e-6)
				}
			})
		}
	}
}

func times(list []int64) (all []backfill.Time) {
	for _, t := range list {
		all = append(all, backfill.Time(t))
	}
	return all
}

// TestFairStarts compares the fair start times with those of two simulations from the beginning for
// each job: of the jobs up to it, and of the jobs before it with this job arriving once they have
// started.
func TestFairStarts(t *testing.T) {
	pool := slots(t)
	for _, policy := range policies.All() {
		t.Run(policy.Name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				in := drawTrace(t)
				var on []*negotiator.Slot
				if rapid.Bool().Draw(t, "on slots") {
					on = pool
				}
				c := link(outer, policy.Name, nil)
				order, err := negotiator.OrderNamed(rapid.SampledFrom([]string{
					"fcfs", "sjf", "wfp", "area",
					"expr:WaitTime * Width",
				}).Draw(t, "order"))
				require.NoError(t, err)
				c.Order = order
				if c.Policy.Spec().PlanDepth {
					c.Planning.Depth = rapid.IntRange(0, 3).Draw(t, "depth")
					c.Planning.Reorder = rapid.Bool().Draw(t, "reorder")
				}
				w := fromTrace(t, in, on, len(in.Jobs))
				settings := rapid.SampledFrom([]estimate.Settings{
					{},
					{All: "mix:0.5"},
					{Order: "accurate"},
					{All: "tsafrir"},
					{All: "user", Options: map[string]string{"threshold": "1"}},
				}).Draw(t, "estimates")
				learns := settings.All == "tsafrir" || settings.All == "user"
				with := func(w *condorsim.Workload) negotiator.Config {
					c := c
					c.Estimates, err = w.Estimators(settings, c.Policy.Spec().Guarantees, nil)
					require.NoError(t, err)
					return c
				}
				fair := condorsim.Fair{
					Strict: rapid.Bool().Draw(t, "strict"), Relaxed: rapid.Bool().Draw(t, "relaxed"),
					Capped: rapid.Bool().Draw(t, "capped"),
				}
				r, err := condorsim.RunFair(outer.Context(), w, with(w), fair)
				require.NoError(t, err)
				for i, o := range r.Outcomes {
					if !o.Started {
						continue
					}
					limit := backfill.Forever
					if fair.Capped {
						limit = o.Start
					}
					if fair.Strict {
						first := fromTrace(t, in, on, i+1)
						copied, err := condorsim.Run(outer.Context(), first, with(first), nil)
						require.NoError(t, err)
						require.Equal(t, min(limit, copied.Outcomes[i].Start), min(limit, r.StrictFST[i]),
							"job %d, strict", i)
					}
					if fair.Relaxed && !learns { // a job that comes late has more to learn from
						first := fromTrace(t, in, on, i+1)
						want := relaxedStart(t, first, with(first))
						require.Equal(t, min(limit, want), min(limit, r.RelaxedFST[i]), "job %d, relaxed", i)
					}
				}
			})
		})
	}
}

// fromTrace makes a workload of the first n jobs.
func fromTrace(t require.TestingT, in *workload.Trace, on []*negotiator.Slot, n int) *condorsim.Workload {
	cut := *in
	cut.Jobs = in.Jobs[:n]
	w, err := condorsim.FromTrace(&cut, on)
	require.NoError(t, err)
	return w
}

// relaxedStart returns the start of the last job if it arrives only after all others that wait at
// its arrival have started.
func relaxedStart(t require.TestingT, w *condorsim.Workload, c negotiator.Config) (start backfill.Time) {
	last := &w.Jobs[len(w.Jobs)-1]
	arrives := last.Job
	never := *arrives
	never.Submit, last.Job = backfill.Forever, &never // only the pool uses its run time
	c.Schema = w.Schema
	c.Actual = func(id backfill.JobID) backfill.Time { return w.Jobs[id].Run }
	n, err := negotiator.New(c)
	require.NoError(t, err)
	pool := &latePool{Pool: condorsim.NewPool(w, nil), n: n, late: arrives}
	require.NoError(t, negotiator.Run(context.Background(), n, pool, sink(func(r *negotiator.Report) error {
		for _, s := range r.Decision.Started {
			if s.Job.ID == arrives.ID {
				start = r.Delta.Now
			}
		}
		return nil
	})))
	return start
}

// latePool withholds a job until all others have started.
type latePool struct {
	negotiator.Pool

	n    *negotiator.Negotiator
	late *negotiator.Job // nil once it has arrived
}

func (p *latePool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	state := p.n.State()
	if p.late != nil && state.Waiting() == 0 {
		if state.Now() >= p.late.Submit {
			d := negotiator.Delta{Now: state.Now(), Submitted: []*negotiator.Job{p.late}}
			p.late = nil
			return d, nil
		}
		wake = min(wake, p.late.Submit)
	}
	return p.Pool.Fetch(ctx, wake)
}

func TestFairStartsNeedAPoolThatDoesNotFail(t *testing.T) {
	w := newWorkload(t, workload.Job{Run: 5})
	w.Outages = []pools.Outage{{}}
	_, err := condorsim.RunFair(t.Context(), w, link(t, "easy", nil), condorsim.Fair{Strict: true})
	require.ErrorContains(t, err, "nothing fails")
}

func TestFairStartsNeedAPolicyTwice(t *testing.T) {
	c := link(t, "easy", nil)
	c.Policy = refusing{c.Policy}
	_, err := condorsim.RunFair(t.Context(), newWorkload(t, workload.Job{Run: 5}), c, condorsim.Fair{Strict: true})
	require.ErrorContains(t, err, "more than one of this policy")
}

func TestFairStartsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorkload(t, workload.Job{Run: 5, Procs: 8}, workload.Job{Run: 5, Procs: 8}, workload.Job{Submit: 1, Run: 5})
	_, err := condorsim.RunFair(ctx, w, link(t, "easy", nil), condorsim.Fair{Relaxed: true},
		sink(func(*negotiator.Report) error {
			cancel()
			return nil
		}))
	require.ErrorIs(t, err, context.Canceled)
}
