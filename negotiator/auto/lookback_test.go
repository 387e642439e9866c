package auto

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator"
)

// looking is a pool with a period that is over; told is what its looks back tell.
func looking(t *testing.T, options map[string]string, find Find) (c *Chooser, f *Future, told *[]Hindsight) {
	t.Helper()
	c, err := New(options, 1, find)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	r := busy(t, c, 10, 60)
	told = new([]Hindsight)
	c.LookedBack = func(h *Hindsight) { *told = append(*told, *h) }
	f = c.See(r)
	require.NotNil(t, f)
	require.Nil(t, f.past)
	past := *f
	past.Head, past.Horizon, past.share = 0, 0, 1
	f.past = &past
	return c, f, told
}

// TestAPeriodCountsOnce: a look back is made once, whatever becomes of the choice.
func TestAPeriodCountsOnce(t *testing.T) {
	c, f, told := looking(t, map[string]string{"portfolio": "slack:fcfs slack:sjf"}, nil)
	c.LookBack(t.Context(), f)
	require.Len(t, *told, 1)
	require.NoError(t, (*told)[0].Wrong)
	once := c.scores.means()
	require.NotZero(t, once[1])
	f.LookAlso(&Future{dropped: []string{"it was full"}})
	c.LookBack(t.Context(), f)
	require.Equal(t, once, c.scores.means())
	require.Len(t, *told, 2)
	require.Equal(t, "the base stays: it was full", (*told)[1].Text)
}

// TestAPeriodIsHandedOutOnce: so it is by See, also while no choice is due, which stays so.
func TestAPeriodIsHandedOutOnce(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf slack:fcfs", "base": "7200"}, 1, nil)
	require.NoError(t, err)
	defer c.Close()
	r := busy(t, c, 10, 60)
	require.NotNil(t, c.See(r))
	last, work := c.last, c.lastWork
	p := c.record.period
	for id := range p.known { // as if they had come in it
		p.came = append(p.came, id)
	}
	r.Delta = negotiator.Delta{Now: p.began + 7200}
	c.lastWork = c.record.work(r.State) // as it stays, no choice is due
	f := c.See(r)
	require.NotNil(t, f)
	require.NotNil(t, f.past)
	require.False(t, f.due)
	require.Nil(t, f.Outlook, "there is nothing to choose from")
	change, err := c.Choose(t.Context(), f)
	require.NoError(t, err)
	require.Nil(t, change)
	require.Zero(t, c.Summary().Choices)
	require.Equal(t, last, c.last)
	require.InEpsilon(t, work, c.lastWork, 0.5)
	r.Delta.Now++
	require.Nil(t, c.See(r))
}

// TestALookBackThatFails: what keeps a period from counting is told as a warning, and the choice is made
// all the same; who failed is told at once.
func TestALookBackThatFails(t *testing.T) {
	for _, tt := range []struct{ name, objective, says string }{
		{"late", "MeanWait", "its period could not be played: "},
		{"signs", "MY.MeanWait - TARGET.MeanWait - (MY.MeanWait == TARGET.MeanWait ? 1 : 0)", "option objective: its values"},
		{"no value", "MeanWait > 0 && Jobs == 100 ? 1 : \"?\"", "option objective: slack:fcfs: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, f, told := looking(t, map[string]string{"portfolio": "slack:fcfs slack:sjf", "objective": tt.objective}, nil)
			ctx, done := context.WithCancelCause(t.Context())
			defer done(nil)
			if tt.name == "late" {
				done(context.DeadlineExceeded)
			}
			if tt.name == "signs" {
				c.candidates[0], c.candidates[1] = c.candidates[1], c.candidates[0]
			}
			chosen := false
			c.Chosen = func(*Choice) { chosen = true }
			before := c.scores.means()
			c.LookBack(ctx, f)
			require.Len(t, *told, 1)
			var warned []string
			(*told)[0].Log(func(string, ...any) { t.Error("no warning") }, func(_ string, about ...any) {
				warned = append(warned, about[5].(string))
			})
			require.Len(t, warned, 1)
			require.Contains(t, warned[0], "the base stays: "+tt.says)
			require.Equal(t, before, c.scores.means())
			_, err := c.Choose(t.Context(), f)
			require.NoError(t, err)
			require.True(t, chosen)
		})
	}
	alive := 0
	c, f, told := looking(t, map[string]string{"portfolio": "slack:fcfs errs/slack:sjf"}, fragileFind(&alive))
	c.LookBack(t.Context(), f)
	require.Len(t, (*told)[0].Failed, 1)
	ctx, done := context.WithCancelCause(t.Context())
	done(errors.New("too late"))
	_, err := c.Choose(ctx, f)
	require.Error(t, err)
	require.ErrorIs(t, c.faults[1], errFragile)
}

// TestALookBackOfBefore: what was looked back at before a restart does not count after it.
func TestALookBackOfBefore(t *testing.T) {
	c, f, told := looking(t, map[string]string{"portfolio": "slack:fcfs slack:sjf"}, nil)
	found := []Measures{{Jobs: 1, MeanBoundedSlowdown: 2}, {Jobs: 1, MeanBoundedSlowdown: 1}}
	c.Restart()
	require.Nil(t, c.judge(f, f.past, found, nil, nil))
	c.LookBack(t.Context(), f)
	require.Empty(t, *told)
	require.Equal(t, newScores(2), c.scores)
}

// TestAFailedBaseIsReplaced: by the best that lifts no promise.
func TestAFailedBaseIsReplaced(t *testing.T) {
	c, f, _ := looking(t, map[string]string{"portfolio": "slack:fcfs easy:sjf slack:sjf slack:wfp"}, nil)
	c.faults[0] = errFragile
	c.scores.sums = []float64{-2, 0, 0, 0}
	var found []Measures
	for _, slowdown := range []float64{1, 1.9, 2.1, 2} {
		found = append(found, Measures{Jobs: 1, MeanBoundedSlowdown: slowdown})
	}
	h := c.judge(f, f.past, found, nil, nil)
	require.NoError(t, h.Wrong)
	require.Equal(t, "slack:wfp", h.Base)
	require.Equal(t, 1, c.Summary().Bases)
}
