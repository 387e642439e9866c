package auto

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// hindsight plays each period once it is over, and notes what became of its jobs.
type hindsight struct {
	c       *Chooser
	length  backfill.Time
	periods []*Future
	over    []backfill.Time // when each was
}

func (h *hindsight) Cycle(r *negotiator.Report) error {
	if !h.c.begun {
		h.c.begun = true
		h.c.record.begin(r)
	}
	h.c.record.see(r)
	if f, _ := h.c.record.endPeriod(r, h.length); f != nil {
		h.periods, h.over = append(h.periods, f), append(h.over, r.Delta.Now)
	}
	return nil
}

// TestHindsightIsTrue: who has decided in a period would have decided so, if all run times are known: in
// hindsight each job starts when it did.
func TestHindsightIsTrue(t *testing.T) {
	periods := 0
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"easy:sjf", "slack:wfp", "slack-small", "dc:xfactor"}).Draw(t, "candidate")
		c, err := New(map[string]string{"portfolio": name}, 1, nil)
		require.NoError(t, err)
		var config negotiator.Config
		c.TakeCharge(&config)
		jobs := drawArrivals(t)
		h := &hindsight{c: c, length: backfill.Time(rapid.IntRange(300, 3000).Draw(t, "period"))}
		starts := schedule(t, jobs, config, h)
		for i, f := range h.periods {
			f.grain = 0
			for id := range f.runs {
				if starts[id]+jobs[id].runs <= h.over[i] {
					require.Equal(t, jobs[id].runs, f.runs[id], "it is over")
				}
				f.runs[id] = jobs[id].runs
			}
			began := f.Outlook.Now()
			var want tally
			for id := range f.runs {
				if at := starts[id]; at > began {
					j := &backfill.Job{Submit: jobs[id].at}
					want.add(j, min(at, max(began+f.Horizon, j.Submit)), jobs[id].runs, 1)
				}
			}
			found, failed, err := Play(t.Context(), *f, c.candidates, 1)
			require.NoError(t, err)
			require.NoError(t, failed[0])
			expected := want.measures(began)
			require.Equal(t, expected.Jobs, found[0].Jobs)
			require.InDelta(t, expected.MeanWait, found[0].MeanWait, 1e-6)
			require.InDelta(t, expected.MeanBoundedSlowdown, found[0].MeanBoundedSlowdown, 1e-6)
			periods++
		}
	})
	require.Greater(t, periods, 50)
}

// TestRestartForgetsPeriods: what candidates did before a restart does not count after it.
func TestRestartForgetsPeriods(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf slack:fcfs"}, 1, nil)
	require.NoError(t, err)
	require.True(t, c.scores.add([]float64{2, 1}, 1))
	text := c.rebase()
	require.Equal(t, 1, c.base)
	require.Equal(t, "the base changed: slack:fcfs 0.781, slack:sjf 1", text)
	require.Equal(t, "slack:fcfs", c.Summary().Base)
	c.Restart()
	require.Equal(t, "slack:sjf", c.Summary().Base)
	require.Equal(t, newScores(2), c.scores)
}
