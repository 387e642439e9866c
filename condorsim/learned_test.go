package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Predictions that change while jobs wait are the same in each run; under guarantees all of these are kept,
// and the queue stands by the predictions of now, whether its order asks at each instant or not.
func TestLearnedIsRepeatable(t *testing.T) {
	rapid.Check(t, func(inner *rapid.T) {
		in := drawTrace(inner)
		for i := range in.Jobs {
			in.Jobs[i].User = rapid.SampledFrom([]string{"ann", "bob"}).Draw(inner, "user")
			in.Jobs[i].Executable = rapid.SampledFrom([]string{"", "7"}).Draw(inner, "executable")
		}
		policy := rapid.SampledFrom([]string{"easy", "slack", "conservative", "first-fit"}).Draw(inner, "policy")
		order, err := negotiator.OrderNamed(rapid.SampledFrom([]string{"sjf", "xfactor", "area"}).Draw(inner, "order"))
		require.NoError(inner, err)
		run := func() *condorsim.Result {
			c := link(t, policy, nil)
			c.Order = order
			return estimated(t, inner, fromTrace(inner, in, nil, len(in.Jobs)), c, estimate.Settings{All: "learned"}, nil)
		}
		first := run()
		require.Equal(inner, table(inner, first), table(inner, run()))
		require.Empty(inner, first.Broken)
	})
}

// Fair start times are found in copies in which nobody predicts again.
func TestLearnedHasNoFairStarts(t *testing.T) {
	for again, wrong := range map[string]error{"true": condorsim.ErrFairAgain, "false": nil} {
		w := halves(t)
		s := estimate.Settings{All: "learned", Options: map[string]string{"predict-again": again}}
		c := link(t, "easy", nil)
		var err error
		c.Estimates, err = w.Estimators(s, false, nil)
		require.NoError(t, err)
		_, err = condorsim.RunFair(t.Context(), w, c, condorsim.Fair{Strict: true})
		require.ErrorIs(t, err, wrong)
	}
}
