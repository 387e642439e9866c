package condorsim_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

// choosing runs a trace on a pool that chooses its own policy, and returns how many promises its changes
// lifted.
func choosing(t *testing.T, trace *workload.Trace, workers int, options map[string]string,
) (*condorsim.Result, *auto.Summary, int) {
	t.Helper()
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	chooser, err := auto.New(options, workers, nil)
	require.NoError(t, err)
	config := link(t, "easy", nil)
	chooser.TakeCharge(&config)
	lifted := 0
	result, err := condorsim.Run(t.Context(), w, config, nil, chooser, reports(func(r *negotiator.Report) {
		lifted += r.Decision.Lifted
	}))
	require.NoError(t, err)
	require.Empty(t, result.Refusals)
	return result, chooser.Summary(), lifted
}

// reports is called with the report of each cycle.
type reports func(*negotiator.Report)

func (f reports) Cycle(r *negotiator.Report) error {
	f(r)
	return nil
}

// TestAuto: a pool that chooses its own policy chooses the same for any number of workers. The audit of
// each run checks that no job is lost and no promise broken. With guarantees alone, no change lifts one.
func TestAuto(t *testing.T) {
	trace := madeUp(300)
	options := map[string]string{
		"every": "600", "gain": "0", "lift": "0", "work": "0", "window": "1800", "base": "7200",
		"portfolio": "easy:sjf slack:sjf slack:fcfs slack:wfp dc:wfp pc:sjf",
	}
	one, chosen, _ := choosing(t, trace, 1, options)
	require.Greater(t, chosen.Changes, 1)
	require.Greater(t, len(chosen.Shares), 2)
	sum := 0.0
	for _, s := range chosen.Shares {
		sum += s.Of
	}
	require.InDelta(t, 1, sum, 1e-9)
	many, again, _ := choosing(t, trace, 4, options)
	for i, o := range one.Outcomes {
		other := many.Outcomes[i]
		require.Equal(t, []any{o.Start, o.How, o.Promised, o.Guarantee},
			[]any{other.Start, other.How, other.Promised, other.Guarantee}, "job %d", i)
	}
	require.Equal(t, chosen, again)

	options["guarantees"] = "true"
	kept, chosen, lifted := choosing(t, trace, 2, options)
	require.Greater(t, chosen.Changes, 1)
	require.Zero(t, lifted)
	require.Zero(t, kept.Broken)
	for i, o := range kept.Outcomes {
		require.True(t, o.Promised, "job %d", i)
		require.LessOrEqual(t, o.Start, o.Guarantee, "job %d", i)
	}
}

// TestAutoLiftsNoPromise: whatever is chosen among policies that give guarantees, and whenever, each
// job starts by the time that it was promised first.
func TestAutoLiftsNoPromise(t *testing.T) {
	members := []string{"slack:sjf", "slack:fcfs", "slack:wfp:factor=0", "dc:sjf", "dc:fcfs", "pc:xfactor", "conservative"}
	changes := 0
	rapid.Check(t, func(inner *rapid.T) {
		in := drawTrace(inner)
		w := fromTrace(inner, in, nil, len(in.Jobs))
		portfolio := rapid.SliceOfNDistinct(rapid.SampledFrom(members), 2, 4, rapid.ID[string]).Draw(inner, "portfolio")
		every := rapid.IntRange(1, 40).Draw(inner, "every")
		base := rapid.SampledFrom([]int{0, every, every + 20}).Draw(inner, "base")
		chooser, err := auto.New(map[string]string{
			"portfolio": strings.Join(portfolio, " "), "guarantees": "true", "gain": "0", "work": "0",
			"every":   strconv.Itoa(every),
			"horizon": strconv.Itoa(rapid.IntRange(0, 90).Draw(inner, "horizon")),
			"window":  strconv.Itoa(rapid.IntRange(0, 90).Draw(inner, "window")),
			"base":    strconv.Itoa(base),
		}, 1, nil)
		require.NoError(inner, err)
		config := link(t, "easy", nil)
		chooser.TakeCharge(&config)
		if rapid.Bool().Draw(inner, "estimates") {
			config.Estimates, err = w.Estimators(estimate.Settings{All: "combined"}, true, nil)
			require.NoError(inner, err)
		}
		chooser.Use(config.Planning, config.Estimates)
		lifted := 0
		result, err := condorsim.Run(t.Context(), w, config, nil, chooser, reports(func(r *negotiator.Report) {
			lifted += r.Decision.Lifted
		}))
		require.NoError(inner, err)
		require.Empty(inner, result.Refusals)
		require.Zero(inner, lifted)
		require.Zero(inner, result.Broken)
		for i, o := range result.Outcomes {
			require.Equal(inner, o.Held == "", o.Promised, "job %d", i)
			require.LessOrEqual(inner, o.Start, o.Guarantee, "job %d", i)
		}
		changes += chooser.Summary().Changes
	})
	require.Positive(t, changes)
}
