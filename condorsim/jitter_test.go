package condorsim_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestJitter is what jitter promises of keys: within its share of what they were, by the same
// factor at any instant, moving as before, and the same for the same seed.
func TestJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jitter := condorsim.Jitter{
			Keys: rapid.Float64Range(0, 0.999).Draw(t, "share"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		require.NoError(t, jitter.Validate())
		order, err := negotiator.OrderNamed(rapid.SampledFrom([]string{
			"sjf", "ljf", "area", "wfp", "xfactor", "fcfs",
		}).Draw(t, "order"))
		require.NoError(t, err)
		j := &backfill.Job{
			ID: backfill.JobID(rapid.Int64Range(0, 1<<40).Draw(t, "job")), Nodes: 1, Request: backfill.Vector{4},
			Estimate: backfill.Time(rapid.Int64Range(1, 1<<30).Draw(t, "estimate")),
		}
		factor := jitter.Factor(j.ID)
		require.InDelta(t, 1, factor, jitter.Keys)
		plain, moved := order.Of(nil, nil, 0, negotiator.World{}), jitter.Of(order).Of(nil, nil, 0, negotiator.World{})
		for _, now := range rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 3).Draw(t, "instants") {
			at := backfill.Moment{Now: backfill.Time(now), Capacity: backfill.Vector{8}}
			key, moves := plain(j, at)
			jittered, movesToo := moved(j, at)
			require.Equal(t, moves.And(moves), movesToo.And(movesToo), "whatever moves the key moves the other")
			if later := at.Now + 1000; moves.Curve != (backfill.Curve{}) {
				then, _ := moved(j, backfill.Moment{Now: later, Capacity: at.Capacity})
				require.Equal(t, math.Float64bits(then), math.Float64bits(movesToo.Curve.Key(later)))
			}
			require.Equal(t, math.Float64bits(key*factor), math.Float64bits(jittered))
			if jitter.Keys == 0 {
				require.Equal(t, math.Float64bits(key), math.Float64bits(jittered))
			}
		}
		again := condorsim.Jitter{Keys: jitter.Keys, Seed: jitter.Seed}
		require.Equal(t, math.Float64bits(factor), math.Float64bits(again.Factor(j.ID)))
	})
}

// TestJitterIsDrawnEvenly compares the first factors of some seeds with what even draws give: their
// mean, their variance, and that neighbours do not follow from each other.
func TestJitterIsDrawnEvenly(t *testing.T) {
	for seed := range uint64(5) {
		jitter := condorsim.Jitter{Keys: 0.5, Seed: seed}
		const n = 20_000
		var sum, squares, product float64
		before := 0.0
		for id := range backfill.JobID(n) {
			off := jitter.Factor(id) - 1
			sum, squares, product = sum+off, squares+off*off, product+off*before
			before = off
		}
		require.InDelta(t, 0, sum/n, 0.01)
		require.InDelta(t, 0.25/3, squares/n, 0.003)
		require.InDelta(t, 0, product/n, 0.003)
	}
}

// TestShareOfAKey has what is no share of a key refused.
func TestShareOfAKey(t *testing.T) {
	for _, share := range []float64{-0.1, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.ErrorContains(t, condorsim.Jitter{Keys: share}.Validate(), "from 0 to less than 1")
	}
}

// TestWhatJitterMoves is under which orders jitter changes anything.
func TestWhatJitterMoves(t *testing.T) {
	jitter, easy := condorsim.Jitter{Keys: 0.02}, backfill.PolicySpec{Name: "easy"}
	for order, moves := range map[string]bool{
		"wfp": true, "sjf": true, "expr:WaitTime": true, "": true, "fcfs": false, "fifo": false, negotiator.FairShare: false,
	} {
		require.Equal(t, moves, jitter.Moves(easy, order), order)
		require.False(t, condorsim.Jitter{Seed: 1}.Moves(easy, order))
		require.False(t, jitter.Moves(backfill.PolicySpec{Name: condorsim.HistoryPolicy}, order))
	}
	require.False(t, jitter.Moves(backfill.PolicySpec{Name: "conservative", IgnoresOrder: true}, "wfp"))
}

// TestRunsUnderJitter has the same seed give the same bytes, no jitter those without any, and fcfs
// the same under every seed.
func TestRunsUnderJitter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := drawTrace(rt)
		bytesOf := func(order string, jitter condorsim.Jitter) string {
			w, err := condorsim.FromTrace(in, nil)
			require.NoError(rt, err)
			c := link(t, "easy", nil)
			named, err := negotiator.OrderNamed(order)
			require.NoError(rt, err)
			c.Order = jitter.Of(named)
			result, err := condorsim.Run(t.Context(), w, c, nil)
			require.NoError(rt, err)
			var table bytes.Buffer
			require.NoError(rt, jobtable.Write(&table, result))
			return table.String()
		}
		one := condorsim.Jitter{Keys: 0.5, Seed: rapid.Uint64().Draw(rt, "seed")}
		once := bytesOf("wfp", one)
		require.Equal(rt, once, bytesOf("wfp", one))
		require.Equal(rt, bytesOf("wfp", condorsim.Jitter{}), bytesOf("wfp", condorsim.Jitter{Seed: one.Seed}))
		require.Equal(rt, bytesOf("fcfs", condorsim.Jitter{}), bytesOf("fcfs", one))
	})
}
