package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// toldAndCome returns what the 43 jobs are told that wait at t = 60 in the built-in workload, when all
// have arrived, and when they then start.
func toldAndCome(t *testing.T, policy, estimates string) (told, came map[backfill.JobID]backfill.Time) {
	t.Helper()
	w := fourNodes(t)
	with := func() negotiator.Config {
		spec, err := policies.Named(policy)
		require.NoError(t, err)
		main, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
		require.NoError(t, err)
		set, err := w.Estimators(estimate.Settings{All: estimates}, spec.Guarantees, nil)
		require.NoError(t, err)
		return negotiator.Config{Policy: main, Fallback: fallback, Estimates: set}
	}
	p := &prepared{activator: activator{active: &active{}}, workload: w, config: with()}
	at, err := p.stateAt(t.Context(), 60, outlook.FuturesOptions{})
	require.NoError(t, err)
	result, err := condorsim.Run(t.Context(), w, with(), nil)
	require.NoError(t, err)
	told, came = map[backfill.JobID]backfill.Time{}, map[backfill.JobID]backfill.Time{}
	for _, j := range at.state.FirstWaiting(at.state.Waiting()) {
		e := p.expect(at, w.Jobs[j.ID].Job)
		require.NotNil(t, e.Start, e.Job)
		told[j.ID], came[j.ID] = backfill.Time(*e.Start), result.Outcomes[j.ID].Start
	}
	return told, came
}

// TestToldStartsAreThoseThatCome compares what start-times tells at t = 60 with what then happens. If
// run times are known, it is the same under every policy. By what is requested all of it is later,
// but the jobs come in about the order that they were told.
func TestToldStartsAreThoseThatCome(t *testing.T) {
	for _, spec := range policies.All() {
		told, came := toldAndCome(t, spec.Name, "accurate")
		require.NotEmpty(t, told, spec.Name)
		require.Equal(t, came, told, spec.Name)
	}
	told, came := toldAndCome(t, "ibb", "requested")
	require.Len(t, told, 43)
	different := map[backfill.Time]bool{}
	agree, pairs := 0, 0
	for a := range told {
		different[told[a]] = true
		for b := range told {
			if came[a] < came[b] {
				pairs++
				if told[a] <= told[b] {
					agree++
				}
			}
		}
		require.GreaterOrEqual(t, told[a], came[a], "everybody runs for less time than requested")
	}
	require.Greater(t, len(different), 20, "not one start for nearly all")
	require.Greater(t, float64(agree), 0.85*float64(pairs))
}
