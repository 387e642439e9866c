package auto

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// fragile is a policy of which those that decide in plays fail: they cannot be made, make no decision
// or an impossible one.
type fragile struct {
	backfill.Repeatable
	how   string
	alive *int // further ones that were not closed
}

var errFragile = errors.New("it broke")

func (f fragile) Again(ctx context.Context) (backfill.Decider, error) {
	if f.how == "makes-none" {
		return nil, errFragile
	}
	again, err := f.Repeatable.Again(ctx)
	*f.alive++
	return failing{again, f}, err
}

type failing struct {
	backfill.Decider
	kind fragile
}

func (f failing) Decide(ctx context.Context, t *backfill.Transaction) error {
	switch f.kind.how {
	case "errs":
		return errFragile
	case "invents":
		t.Start(&backfill.Job{ID: 999_999}, nil)
	}
	return f.Decider.Decide(ctx, t)
}

func (f failing) Close() { *f.kind.alive-- }

// fragileFind finds linked-in policies, of which those with "HOW/" before their names are fragile.
func fragileFind(alive *int) Find {
	return func(policy string, options map[string]string) (main, fallback backfill.Repeatable, end func(), err error) {
		how, name, found := strings.Cut(policy, "/")
		if !found {
			return LinkedIn(policy, options)
		}
		if main, fallback, _, err = LinkedIn(name, options); err != nil {
			return nil, nil, nil, err
		}
		*alive++
		return fragile{main, how, alive}, fallback, func() { *alive-- }, err
	}
}

// TestFailing: a candidate that fails in a play is told once, is not chosen and not played again; if the
// base does, another one is in charge. Nothing that was made is left after Close.
func TestFailing(t *testing.T) {
	for _, how := range []string{"errs", "invents", "makes-none"} {
		for _, tt := range []struct {
			name, portfolio, chosen string
			failed                  int
		}{
			{"another", "slack:sjf BAD/slack:xfactor slack:fcfs", "slack:sjf", 1},
			{"the base", "BAD/slack:fcfs slack:sjf", "slack:sjf", 1},
			{"all", "BAD/slack:fcfs BAD/slack:sjf", "BAD/slack:fcfs", 2},
			{
				"none", "ok/slack:fcfs:factor=1:aging=0:replace=false ok/slack:sjf:factor=2:aging=0:replace=false",
				"ok/slack:sjf:factor=2:aging=0:replace=false", 0,
			},
		} {
			t.Run(how+" "+tt.name, func(t *testing.T) {
				alive := 0
				c, err := New(map[string]string{
					"portfolio": strings.ReplaceAll(tt.portfolio, "BAD", how), "gain": "0", "lift": "0", "work": "0",
				}, 1, fragileFind(&alive))
				require.NoError(t, err)
				r := busy(t, c, 10, 60)
				var told []Failure
				c.Chosen = func(made *Choice) {
					require.Contains(t, made.Text(), c.candidates[0].Name)
					told = append(told, made.Failed...)
					require.NotContains(t, strings.ReplaceAll(made.Text(), c.Base().Name, ""), how+"/", "only the base has a value")
				}
				for range 2 {
					c.last = -backfill.Forever
					_, err = c.Choose(t.Context(), c.See(r))
					require.NoError(t, err)
				}
				require.Len(t, told, tt.failed)
				require.Equal(t, strings.ReplaceAll(tt.chosen, "BAD", how), c.InCharge().Name)
				var left []string
				for _, share := range c.Summary().Most(0) {
					left = append(left, share.Name)
				}
				require.Len(t, left, tt.failed)
				for _, failed := range told {
					require.Contains(t, left, failed.Name)
				}
				c.Restart()
				c.last = -backfill.Forever
				_, err = c.Choose(t.Context(), c.See(r))
				require.NoError(t, err)
				require.Len(t, told, 2*tt.failed, "each gets another chance")
				c.Close()
				require.Zero(t, alive)
				change, err := c.Choose(t.Context(), &Future{Outlook: outlook.New(r.Negotiator())})
				require.NoError(t, err)
				require.Nil(t, change)
				require.Zero(t, alive)
			})
		}
	}
}

// TestGivenUp: a candidate that fails so often in charge of the pool that it is given up is left out,
// too.
func TestGivenUp(t *testing.T) {
	alive := 0
	c, err := New(map[string]string{"portfolio": "slack:fcfs slack:sjf"}, 1, fragileFind(&alive))
	require.NoError(t, err)
	r := busy(t, c, 10, 60)
	bad := failing{c.Base().Policy, fragile{how: "errs", alive: &alive}}
	require.NoError(t, r.Negotiator().Change(negotiator.Change{Policy: bad, Fallback: c.Base().Fallback}))
	now := r.Delta.Now
	for i := range backfill.Time(200) {
		require.False(t, i < 99 && c.faults[0] != nil, "%d", i)
		r, err = r.Negotiator().RunCycle(t.Context(), negotiator.Delta{Now: now + i*60})
		require.NoError(t, err)
		c.See(r)
	}
	require.ErrorIs(t, c.faults[0], backfill.ErrGivenUp)
}

// TestPortfolioEnds: what was started of a portfolio that is refused ends.
func TestPortfolioEnds(t *testing.T) {
	for _, portfolio := range []string{"ok/slack ok/esy", "ok/slack ok/easy:sfj", "ok/slack ok/slack", "ok/easy ok/easy:x"} {
		alive := 0
		_, err := New(map[string]string{"portfolio": portfolio}, 1, fragileFind(&alive))
		require.Error(t, err)
		require.Zero(t, alive, portfolio)
	}
	alive := 0
	_, err := New(map[string]string{"portfolio": "ok/easy", "guarantees": "true"}, 1, fragileFind(&alive))
	require.ErrorContains(t, err, "no candidate gives guarantees")
	require.Zero(t, alive)
}
