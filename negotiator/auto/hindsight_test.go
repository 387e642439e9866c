package auto

import (
	"math"
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
}

func (h *hindsight) Cycle(r *negotiator.Report) error {
	if !h.c.begun {
		h.c.begun = true
		h.c.record.begin(r)
	}
	h.c.record.see(r)
	if f := h.c.record.endPeriod(r, h.length); f != nil {
		h.periods = append(h.periods, f)
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
		for _, f := range h.periods {
			f.grain = 0
			for id := range f.runs {
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

// TestScores: periods count by the ratios of their values, the last ones most, beside two in which all
// did alike.
func TestScores(t *testing.T) {
	gains := func(gain float64) func(int) (float64, bool) {
		return func(int) (float64, bool) { return gain, true }
	}
	s := newScores(3)
	require.Equal(t, 0, s.best(0, gains(baseGain)))
	require.True(t, s.add([]float64{4, 2, 8}))
	require.InDeltaSlice(t, []float64{0, -math.Ln2 / 3, math.Ln2 / 3}, s.means(), 1e-12)
	require.Equal(t, "b 0.794, a 1, c 1.26", s.text([]string{"a", "b", "c"}))
	require.Equal(t, 1, s.best(0, gains(baseGain)))
	require.Equal(t, 0, s.best(0, func(i int) (float64, bool) { return baseGain, i != 1 }), "it may not")
	require.Equal(t, 0, s.best(0, gains(0.21)), "it is not that much better")
	require.True(t, s.add([]float64{1, 1000, math.Inf(1)}))
	require.InDeltaSlice(t, []float64{0, 1 - discount*math.Ln2, discount * math.Ln2}, s.sums, 1e-12,
		"one period counts so much at most")
	require.InDelta(t, 1.9, s.periods, 1e-12)
	require.True(t, s.add([]float64{-1, -2, -1}))
	require.Less(t, s.sums[1], discount*(1-discount*math.Ln2), "the less, the better")
	before := s.means()
	require.False(t, s.add([]float64{1, -1, 1}))
	require.Equal(t, before, s.means())
	require.True(t, s.add([]float64{0, 0, 0}))
	s = scores{sums: []float64{0.04, 0.03, 0}, periods: 1}
	require.Equal(t, 0, s.best(0, gains(baseGain)), "not by the gain")
	require.Equal(t, 2, s.best(0, gains(0)), "the best of those that are better")
}

// TestPeriodIsBounded: a period begins with so many jobs at most, takes no more, and knows each once.
func TestPeriodIsBounded(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf slack:fcfs"}, 1, nil)
	require.NoError(t, err)
	r := busy(t, c, 10, 60)
	c.record.beginPeriod(r)
	p := c.record.period
	began := len(p.known)
	come := func(id backfill.JobID, now backfill.Time) {
		p.come(&arrived{Expected: negotiator.Expected{Job: &backfill.Job{ID: id}}}, now)
	}
	first := firstAgain
	for i := range backfill.JobID(mostInPeriod) {
		come(first+i, 7)
		come(first+i, 8)
	}
	require.Len(t, p.known, mostInPeriod)
	require.Len(t, p.came, mostInPeriod-began)
	require.EqualValues(t, 7, p.ended)

	c.record.restart()
	for i := range backfill.JobID(mostInPeriod + 1) {
		c.record.known[i] = &arrived{}
	}
	c.record.beginPeriod(r)
	require.Nil(t, c.record.period)
}

// TestRestartForgetsPeriods: what candidates did before a restart does not count after it.
func TestRestartForgetsPeriods(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf slack:fcfs"}, 1, nil)
	require.NoError(t, err)
	require.True(t, c.scores.add([]float64{2, 1}))
	made := Choice{Names: c.names()}
	c.rebase(&made)
	require.Equal(t, 1, c.base)
	require.Equal(t, "the base changed: slack:fcfs 0.794, slack:sjf 1", made.Hindsight)
	require.Equal(t, "slack:fcfs", c.Summary().Base)
	c.Restart()
	require.Equal(t, "slack:sjf", c.Summary().Base)
	require.Equal(t, newScores(2), c.scores)
}
