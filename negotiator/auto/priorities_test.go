package auto

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestPrioritize: users' priorities count for the order of the pool and of plays, and jobs of those with
// the better ones count for more in what is compared.
func TestPrioritize(t *testing.T) {
	for _, order := range []string{"sjf", "xfactor", "wfp"} {
		c, err := New(map[string]string{"portfolio": "slack:" + order + " easy:" + order}, 1, nil)
		require.NoError(t, err)
		c.record.period = nil
		prio := map[string]float64{}
		owner := map[backfill.JobID]string{}
		c.Prioritize(func(id backfill.JobID) float64 { return prio[owner[id]] })
		r := busy(t, c, 10, 60)
		for id, a := range c.record.known {
			owner[id] = a.Job.Labels["owner"]
			prio[owner[id]] = 5
		}
		equal := c.See(r)
		before, _, err := Play(t.Context(), *equal, c.candidates, 1)
		require.NoError(t, err)
		plain := *equal
		plain.priorities = nil
		without, _, err := Play(t.Context(), plain, c.candidates, 1)
		require.NoError(t, err)
		require.InDelta(t, without[0].MeanBoundedSlowdown, before[0].MeanBoundedSlowdown, 1e-9, "equal priorities change nothing")

		prio["user3"] = 0.5
		c.prioritized, c.last, c.lastWork = -refreshed, -backfill.Forever, 0
		r.Delta = negotiator.Delta{Now: r.Delta.Now}
		f := c.See(r)
		require.NotNil(t, f)
		require.Len(t, f.priorities, 10)
		require.InDelta(t, 5, equal.priorities[whose{"user3", ""}], 0, "who plays sees what was")
		favoured := func(f *Future) (sum float64) {
			runs := &run{Future: f, starts: map[backfill.JobID]backfill.Time{}}
			runs.jobs = r.State.FirstWaiting(r.State.Waiting())
			start := f.Outlook.Taking(f.Outlook.Start(), false)
			var failed error
			require.NoError(t, runs.under(t.Context(), &c.candidates[1], start, 0, true, &failed))
			for _, j := range runs.jobs {
				if j.Labels["owner"] == "user3" {
					sum += float64(runs.starts[j.ID] - f.Outlook.Now())
				}
			}
			return sum
		}
		require.Less(t, favoured(f), favoured(equal), order)
	}
}

// TestPriorityOf: a user of whom nothing is known has used nothing.
func TestPriorityOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0.5, 1e6), 0, 5).Draw(t, "priorities")
		p, best := priorities{}, 1.0
		for i, value := range values {
			p[whose{owner: string(rune('a' + i))}] = value
			if i == 0 || value < best {
				best = value
			}
		}
		require.InDelta(t, best, p.of(&backfill.Job{Labels: map[string]string{"owner": "z"}}), 0)
		if len(values) > 0 {
			require.InDelta(t, values[0], p.of(&backfill.Job{Labels: map[string]string{"owner": "a"}}), 0)
		}
	})
}
