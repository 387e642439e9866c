package report_test

import (
	"cmp"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
)

// The results are a policy's own if it decided at least half of the rounds, and not if it was given up.
func TestOwnResults(t *testing.T) {
	for _, c := range []struct {
		rounds, refused int
		givenUp         bool
		want            string
	}{
		{0, 0, false, ""},
		{97, 0, false, ""},
		{97, 1, false, ""},
		{97, 48, false, ""},
		{97, 49, false, "policy mine failed in most rounds: its fallback, easy, decided 49 of 97 rounds, so these are not " +
			"its results; it failed first at 0 00:00:07: no idea"},
		{97, 96, false, "decided 96 of 97 rounds"},
		{1, 1, false, "decided 1 of 1 rounds"},
		{2, 1, false, ""},
		{900, 800, true, "policy mine failed in most rounds"},
		{900, 100, true, "policy mine was given up: its fallback, easy, decided 100 of 900 rounds"},
	} {
		r := &condorsim.Result{Workload: &condorsim.Workload{}, Cycles: c.rounds, Decided: c.rounds}
		if c.refused > 0 {
			r.Refusals = []condorsim.Refusals{{
				Policy: "mine", Count: c.refused, GivenUp: c.givenUp,
				First: backfill.Refusal{Now: 7, Fallback: "easy", Err: errors.New("no idea")},
			}}
		}
		err := cmp.Or(report.OwnResults(r), report.NotGivenUp(r))
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}
