package ask

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// What an older negotiator does not say, and what nothing is known of, is empty.
func TestAccuracyTable(t *testing.T) {
	near, less := 0.25, 0.754
	require.Equal(t, ` told     jobs  median error  p90 error  within 1 min  within 10 min  in the 80 % range
 arrival     4  1m0s          1h0m0s     25 %          75 %           50 % of 2
 head        2  9s            10s
 later       0
`, AccuracyTable([]Accuracy{
		{Accuracy: daemon.Accuracy{Told: "arrival", Jobs: 4, Ranged: 2, Median: 60, P90: 3600, Minute: &near, TenMinutes: &less, Within: 0.5}},
		{Accuracy: daemon.Accuracy{Told: "head", Jobs: 2, Median: 9, P90: 10}},
		{Accuracy: daemon.Accuracy{Told: "later", Minute: &near, TenMinutes: &less}},
	}))
}
