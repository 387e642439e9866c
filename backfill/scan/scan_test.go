package scan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// TestAMemoChangesNoDecision checks that a policy decides the same with and without a memo, whatever it
// does in the same round before and after a pass.
func TestAMemoChangesNoDecision(t *testing.T) {
	depth := func(c *backfill.Cycle) { scan.Depth(c, 1) }
	for name, decide := range map[string]func(*backfill.Cycle){
		"heads alone": func(c *backfill.Cycle) { scan.Heads(c) },
		"depth alone": depth,
		"begin, heads": func(c *backfill.Cycle) {
			scan.Begin(c)
			scan.Heads(c)
			fill(c)
		},
		"begin, depth": func(c *backfill.Cycle) {
			scan.Begin(c)
			depth(c)
		},
		"an event, depth": func(c *backfill.Cycle) {
			c.Next()
			depth(c)
		},
		"released, heads": func(c *backfill.Cycle) {
			releaseAll(c)
			scan.Heads(c)
			fill(c)
		},
		"heads, released": func(c *backfill.Cycle) {
			scan.Heads(c)
			releaseAll(c)
			fill(c)
		},
		"heads, begin": func(c *backfill.Cycle) {
			scan.Heads(c)
			scan.Begin(c)
			fill(c)
		},
		"heads, moved": func(c *backfill.Cycle) {
			if j := scan.Heads(c); j != nil {
				if start, at, ok := c.Earliest(j, c.Now()+3); ok && j.ID%2 == 0 {
					c.Reserve(j, start, at)
				}
			}
			fill(c)
		},
		"heads, another's": func(c *backfill.Cycle) {
			scan.Heads(c)
			for j := range c.Queue() {
				if start, at, ok := c.Earliest(j, c.Now()+1); ok && j.ID%2 == 0 {
					c.Reserve(j, start, at)
					break
				}
			}
			fill(c)
		},
		"heads, depth": func(c *backfill.Cycle) {
			scan.Heads(c)
			depth(c)
		},
		"begin, plan": func(c *backfill.Cycle) {
			scan.Begin(c)
			compress(c)
		},
		"an event, plan": func(c *backfill.Cycle) {
			c.Next()
			compress(c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := backfill.PolicySpec{Name: "twice", New: func(backfill.Values) (backfill.Policy, error) {
				return backfill.PolicyFunc(decide), nil
			}}
			for seed := range uint64(thorough.Cases(12, 60)) {
				require.Equal(t, decisions(t, spec, seed, true), decisions(t, spec, seed, false), "pool %d", seed)
			}
		})
	}
}

// decisions lets a policy decide some rounds of a pool, without a memo if the state is to be renewed.
func decisions(t *testing.T, spec backfill.PolicySpec, seed uint64, renew bool) (all [][]backfill.Action) {
	t.Helper()
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	run, err := conformance.Start(seed, main)
	require.NoError(t, err)
	for range 80 {
		if renew {
			require.NoError(t, run.Renew())
		}
		d, err := run.Next(t.Context())
		require.NoError(t, err)
		all = append(all, append([]backfill.Action(nil), d.Actions...))
	}
	return all
}

// fill starts whatever fits now.
func fill(c *backfill.Cycle) {
	for j := range c.Queue() {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}

func releaseAll(c *backfill.Cycle) {
	for _, j := range c.Fast().Planned() {
		c.Release(j)
	}
}

// compress plans all jobs by a plan with a memo, in a policy without guarantees.
func compress(c *backfill.Cycle) {
	p := plan.Open(c, plan.ByQueue, func(*plan.Plan, *backfill.Job) {})
	for _, more := p.Next(); more; {
		_, more = p.Next()
	}
	for j := range c.Waiting() {
		if start, at, ok := c.Earliest(j, c.Now()); ok {
			c.Reserve(j, start, at)
		}
	}
	p.Compress()
	p.Start()
	c.Fast().Remember(p)
}
