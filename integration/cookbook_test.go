package integration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/plugins/examples/cookbook"
)

// recipe is a policy of plugins/COOKBOOK.md with a workload that shows what it is for.
type recipe struct {
	options map[string]string
	// than is a policy that does not do what the recipe is for.
	than string
	jobs []workload.Job
	// pool is the description of the pool; empty: one machine of 10 cpus and 1000 MiB.
	pool string
	// does reports whether a simulation shows what the recipe is for.
	does func(*condorsim.Result) bool
}

// TestRecipesDoWhatTheyAreFor simulates each policy of plugins/COOKBOOK.md. It does what it is for,
// and another policy does not.
func TestRecipesDoWhatTheyAreFor(t *testing.T) {
	list := recipes()
	for _, spec := range cookbook.All() {
		t.Run(spec.Name, func(t *testing.T) {
			r, known := list[spec.Name]
			require.True(t, known, "no workload shows what it is for")
			other, err := policies.Named(r.than)
			require.NoError(t, err)
			require.True(t, r.does(r.simulate(t, spec, r.options)))
			require.False(t, r.does(r.simulate(t, other, nil)), "%s does it as well", r.than)
		})
	}
}

func (r recipe) simulate(t *testing.T, spec backfill.PolicySpec, options map[string]string) *condorsim.Result {
	t.Helper()
	jobs := slices.Clone(r.jobs)
	slices.SortStableFunc(jobs, func(a, b workload.Job) int { return int(a.Submit - b.Submit) })
	for i := range jobs {
		jobs[i].ID, jobs[i].Estimate = int64(i+1), jobs[i].Run
	}
	trace := &workload.Trace{Name: spec.Name, Machine: workload.Machine{Processors: 10, Memory: 1000}, Jobs: jobs}
	w, err := condorsim.FromTrace(trace, nil)
	if r.pool != "" {
		pool, wrong := pools.Read(strings.NewReader(r.pool), "test.yaml")
		require.NoError(t, wrong)
		w, err = condorsim.OnPool(trace, pool)
	}
	require.NoError(t, err)
	main, err := backfill.Link(spec, options)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	result, err := condorsim.Run(t.Context(), w, negotiator.Config{
		Policy: main, Fallback: fallback, Placement: profile.Spread,
		Refused: func(r backfill.Refusal) { require.NoError(t, r.Err, "refused at %d", r.Now) },
	}, nil)
	require.NoError(t, err)
	require.Len(t, result.Ran(), len(jobs))
	return result
}

// many returns equal jobs that are submitted one after the other.
func many(n int, every int64, job workload.Job) (jobs []workload.Job) {
	for i := range n {
		jobs = append(jobs, job)
		jobs[i].Submit += int64(i) * every
	}
	return jobs
}

// all reports whether the condition holds for each job of a simulation.
func all(r *condorsim.Result, holds func(condorsim.Job, condorsim.Outcome) bool) bool {
	for i, j := range r.Workload.Jobs {
		if !holds(j, r.Outcomes[i]) {
			return false
		}
	}
	return true
}

// waitedLess returns a condition: that all jobs of a kind waited for at most so long.
func waitedLess(than backfill.Time, kind func(condorsim.Job) bool) func(*condorsim.Result) bool {
	return func(r *condorsim.Result) bool {
		return all(r, func(j condorsim.Job, o condorsim.Outcome) bool { return !kind(j) || o.Start-j.Submit <= than })
	}
}

func wide(j condorsim.Job) bool { return j.Cpus >= 8 }

// recipes returns the workloads, by policy. A stream of narrow jobs keeps the machine busy unless
// something is reserved.
func recipes() map[string]recipe {
	narrow := many(100, 50, workload.Job{Run: 200, Procs: 3, User: "ada"})
	night := func(at backfill.Time) bool { return at%86_400 < 6*3600 || at%86_400 >= 20*3600 }
	return map[string]recipe{
		"age-wide": {
			than: "first-fit", does: waitedLess(1000, wide),
			jobs: slices.Concat(narrow, many(3, 1500, workload.Job{Submit: 60, Run: 100, Procs: 9})),
		},
		"deadline-first": {
			than: "easy", does: waitedLess(3600, func(j condorsim.Job) bool { return j.Labels["qos"] == "urgent" }),
			jobs: slices.Concat(many(100, 1, workload.Job{Run: 600, Procs: 5}),
				many(3, 100, workload.Job{Submit: 200, Run: 600, Procs: 5, Queue: "urgent"})),
		},
		"short-backfill": {
			options: map[string]string{"longest": "100"}, than: "easy",
			does: func(r *condorsim.Result) bool {
				return all(r, func(_ condorsim.Job, o condorsim.Outcome) bool { return !o.Backfilled || o.Estimate <= 100 }) &&
					!all(r, func(_ condorsim.Job, o condorsim.Outcome) bool { return !o.Backfilled })
			},
			jobs: slices.Concat([]workload.Job{{Run: 1000, Procs: 6}, {Submit: 1, Run: 100, Procs: 10}},
				many(2, 1, workload.Job{Submit: 2, Run: 500, Procs: 1}), many(2, 1, workload.Job{Submit: 4, Run: 90, Procs: 1})),
		},
		"owner-cap": {
			options: map[string]string{"cpus": "6"}, than: "easy", does: capped("ada", 6),
			jobs: slices.Concat(narrow, many(20, 100, workload.Job{Run: 300, Procs: 2, User: "bob"})),
		},
		"packed": {
			than: "first-fit", pool: "classes: [{name: node, count: 4, cpus: 8}]",
			does: func(r *condorsim.Result) bool {
				first := r.Outcomes[0].Placement[0].Slot
				return all(r, func(_ condorsim.Job, o condorsim.Outcome) bool { return o.Placement[0].Slot == first })
			},
			jobs: many(30, 15, workload.Job{Run: 100, Procs: 1}),
		},
		"largest-share": {
			than: "easy", does: func(r *condorsim.Result) bool { return r.Outcomes[3].Start < r.Outcomes[2].Start },
			jobs: []workload.Job{
				{Run: 1000, Procs: 7, Memory: 400},
				{Submit: 1, Run: 1000, Procs: 10, Memory: 100},
				{Submit: 2, Run: 500, Procs: 3, Memory: 100},
				{Submit: 2, Run: 500, Procs: 1, Memory: 600},
			},
		},
		"widest-first": {
			options: map[string]string{"k": "1"}, than: "easy", does: waitedLess(300, wide),
			jobs: slices.Concat(many(60, 1, workload.Job{Run: 200, Procs: 5}),
				[]workload.Job{{Submit: 100, Run: 100, Procs: 10}}),
		},
		"night": {
			options: map[string]string{"large": "8"}, than: "easy",
			does: func(r *condorsim.Result) bool {
				return all(r, func(j condorsim.Job, o condorsim.Outcome) bool { return !wide(j) || night(o.Start) }) &&
					!all(r, func(_ condorsim.Job, o condorsim.Outcome) bool { return night(o.Start) })
			},
			jobs: slices.Concat(many(30, 3600, workload.Job{Run: 1800, Procs: 2}),
				many(5, 7200, workload.Job{Submit: 5 * 3600, Run: 5000, Procs: 8})),
		},
		"head-on-time": {
			than: "first-fit", does: waitedLess(200, wide),
			jobs: slices.Concat(narrow, []workload.Job{{Submit: 101, Run: 100, Procs: 10}}),
		},
		"turns": {
			than: "easy", does: waitedLess(300, func(j condorsim.Job) bool { return j.User == "bob" }),
			jobs: slices.Concat(many(40, 1, workload.Job{Run: 200, Procs: 3, User: "ada"}),
				many(4, 200, workload.Job{Submit: 50, Run: 200, Procs: 3, User: "bob"})),
		},
	}
}

// capped returns a condition: that an owner's running jobs never have more cpus than given.
func capped(owner string, most int64) func(*condorsim.Result) bool {
	return func(r *condorsim.Result) bool {
		return all(r, func(_ condorsim.Job, at condorsim.Outcome) bool {
			var cpus int64 // when the job has started
			_ = all(r, func(other condorsim.Job, o condorsim.Outcome) bool {
				if other.User == owner && o.Start <= at.Start && at.Start < o.End {
					cpus += other.Cpus
				}
				return true
			})
			return cpus <= most
		})
	}
}
