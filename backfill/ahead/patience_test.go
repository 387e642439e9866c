package ahead_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// asking is a policy that calls the function for each job of the queue, and ask thereafter.
func asking(tb testing.TB, each func(), ask func(*backfill.Cycle, *backfill.Job)) backfill.Decider {
	tb.Helper()
	spec := backfill.PolicySpec{Name: "asking", New: func(backfill.Values) (backfill.Policy, error) {
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			for _, more := c.Next(); more; {
				_, more = c.Next()
			}
			for j := range c.Queue() {
				each()
				ask(c, j)
			}
		}), nil
	}}
	d, err := backfill.Link(spec, nil)
	require.NoError(tb, err)
	return d
}

// TestARoundIsBrokenOff: a play ends within a round when its time is over, however long the policy
// would go on, and whatever it asks.
func TestARoundIsBrokenOff(t *testing.T) {
	estimates := make([]backfill.Time, 100)
	for i := range estimates {
		estimates[i] = 10
	}
	p := one(estimates...)
	s := begun(t, p, rules(t, "easy", "fcfs"))
	for name, ask := range map[string]func(*backfill.Cycle, *backfill.Job){
		"nothing":  func(*backfill.Cycle, *backfill.Job) {},
		"fits now": func(c *backfill.Cycle, j *backfill.Job) { c.FitsNow(j) },
		"earliest": func(c *backfill.Cycle, j *backfill.Job) { c.Earliest(j, c.Now()) },
		"a profile": func(c *backfill.Cycle, j *backfill.Job) {
			c.State().Profile().Clone().Place(c.State().Request(j), c.Now())
		},
	} {
		const enough = 10
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		policy := asking(t, func() {
			if asked++; asked == enough {
				cancel()
			}
		}, ask)
		play, err := ahead.Rules{Policy: policy, Fallback: policy}.Play(ahead.Start{
			State: s.Clone(), End: p.end, First: &backfill.Round{Now: s.Now()},
		})
		require.NoError(t, err)
		found, err := play.Starts(ctx, ahead.Bounds{})
		require.ErrorIs(t, err, context.Canceled, name)
		require.Empty(t, found, name)
		require.LessOrEqual(t, asked, enough+1, name)
	}
}
