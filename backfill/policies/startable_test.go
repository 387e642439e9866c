package policies_test

import (
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// planner is a policy with guarantees that plans jobs for random times, goes over the jobs that can
// start, leaves some and stops somewhere, and checks each against a look at every job in turn.
type planner struct {
	t      *testing.T
	random *rand.Rand
}

func (p planner) Decide(c *backfill.Cycle) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for j := range c.Fast().Beyond() {
		later := backfill.Time(p.random.Int64N(60))
		start, at, ok := c.Earliest(j, c.Now()+later)
		if !ok {
			c.Hold(j, "fits nowhere")
			continue
		}
		c.Reserve(j, start, at)
		if _, promised := c.State().Guaranteed(j.ID); !promised {
			c.Guarantee(j, start)
		}
	}
	for range p.random.IntN(3) {
		p.pass(c)
	}
	for _, j := range c.Fast().Planned() { // some move to earlier starts
		if planned, _, _ := c.Reservation(j); planned > c.Now() && p.random.IntN(6) == 0 {
			if start, at, ok := c.Earliest(j, c.Now()+1); ok {
				c.Reserve(j, start, at)
			}
		}
	}
	for _, j := range c.Due() {
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
	}
}

func (p planner) pass(c *backfill.Cycle) {
	var inTurn backfill.Placement
	next, stop := iter.Pull(func(yield func(*backfill.Job) bool) {
		for j := range c.Queue() {
			at, fits := c.FitsNow(j)
			if inTurn = at; fits && !yield(j) {
				return
			}
		}
	})
	defer stop()
	for j, at := range c.Fast().Startable() {
		want, ok := next()
		require.True(p.t, ok, "job %d cannot start", j.ID)
		require.Equal(p.t, want.ID, j.ID)
		require.Equal(p.t, inTurn, at)
		switch p.random.IntN(8) {
		case 0:
			return
		case 1:
		default:
			c.Start(j, at)
		}
	}
	want, ok := next()
	require.False(p.t, ok, "job %v can start", want)
}

// TestStartable checks what [backfill.Fast.Startable] says, whatever was done with it before, on
// small pools of all kinds.
func TestStartable(t *testing.T) {
	for seed := range thorough.Seeds(60, 300) {
		spec, err := policies.Named("slack")
		require.NoError(t, err)
		spec.New = func(backfill.Values) (backfill.Policy, error) {
			return planner{t, rand.New(rand.NewPCG(seed, 1))}, nil //nolint:gosec // not for secrets
		}
		run(t, seed, spec, []string{"fcfs", "sjf", "wfp"}[seed%3], backfill.Planning{}, seed%5 == 0)
	}
}

// TestStartableOnAFullPool is [TestStartable] on full pools of many slots.
func TestStartableOnAFullPool(t *testing.T) {
	fullPools(t, "slack", func(random *rand.Rand) backfill.Policy { return planner{t, random} })
}
