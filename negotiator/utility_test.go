package negotiator

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestUtilities compares the expressions with the papers' formulas, up to a constant factor.
func TestUtilities(t *testing.T) {
	const h = 1e-6 // is a factor where there are logarithms alone
	formulas := map[string]func(w, t, n, s float64) float64{
		"WFP":      func(w, t, n, _ float64) float64 { return w / t * w / t * w / t * n },
		"WFP-wide": func(w, t, n, _ float64) float64 { return w / t * w / t * w / t * n * n },
		"XFactor":  func(w, t, _, _ float64) float64 { return (w + t) / t },
		"UNICEF":   func(w, t, n, _ float64) float64 { return w / (math.Log2(max(n, 2)) * t) / (h * math.Ln2) },
		"F1":       func(_, t, n, s float64) float64 { return -(math.Log10(t)*n + 870*math.Log10(s)) * h * math.Ln10 },
		"F2":       func(_, t, n, s float64) float64 { return -(math.Sqrt(t)*n + 2.56e4*math.Log10(s)) },
		"F3":       func(_, t, n, s float64) float64 { return -(t*n + 6.86e6*math.Log10(s)) },
		"F4":       func(_, t, n, s float64) float64 { return -(t*math.Sqrt(n) + 5.30e5*math.Log10(s)) },
	}
	require.Len(t, Utilities(), len(formulas))
	for _, u := range Utilities() {
		require.Contains(t, OrderHelp(), "\n           expr:"+u.Expression+"\n")
		_, j := newPriorities(t, u.Expression, "")
		rapid.Check(t, func(rt *rapid.T) {
			p, _ := newPriorities(t, u.Expression, "")
			job := *j
			job.Estimate = backfill.Time(rapid.IntRange(1, 1<<30).Draw(rt, "estimate"))
			job.Submit = backfill.Time(rapid.IntRange(1, 1<<31).Draw(rt, "submit"))
			job.Nodes = rapid.IntRange(1, 1<<20).Draw(rt, "nodes")
			job.Request = backfill.Vector{1, 500}
			wait := backfill.Time(rapid.IntRange(1, 1<<26).Draw(rt, "wait"))
			key, _ := p.key(&job, at(job.Submit+wait))
			want := formulas[u.Name](float64(wait), float64(job.Estimate), float64(job.Nodes), float64(job.Submit))
			require.InDelta(rt, want, -key, math.Abs(want)*2e-5+1e-12, u.Name)
		})
	}
}

// TestUtilitiesAreTheNamedOrders: utility functions that are also named orders give the same order.
func TestUtilitiesAreTheNamedOrders(t *testing.T) {
	for i, name := range []string{"wfp", "wfp-wide", "xfactor"} {
		named, err := backfill.OrderNamed(name)
		require.NoError(t, err)
		p, j := newPriorities(t, Utilities()[i].Expression, "")
		for _, now := range []backfill.Time{90, 100, 101, 130, 99_999} {
			want, _ := named(j, at(now))
			key, moves := p.key(j, at(now))
			require.InEpsilon(t, 1-want, 1-key, 1e-14, "%s at %d", name, now)
			require.True(t, moves.WithTime)
		}
	}
}

// TestTheBeginningOfATraceIsNoError: functions of the logarithm of the submit time have a value at
// 0.
func TestTheBeginningOfATraceIsNoError(t *testing.T) {
	for _, u := range Utilities() {
		p, j := newPriorities(t, u.Expression, "")
		first := *j
		first.Submit = 0
		key, _ := p.key(&first, at(0))
		require.False(t, math.IsNaN(key) || math.IsInf(key, 1), "%s: %v", u.Name, key)
	}
}
