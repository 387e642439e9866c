package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func TestPeak(t *testing.T) {
	var peak workload.Peak
	require.Zero(t, peak.Most())
	peak.Add(10, 5, 4)
	peak.Add(15, 5, 3) // begins as the first ends
	require.EqualValues(t, 4, peak.Most())
	peak.Add(14, 2, 2)
	require.EqualValues(t, 6, peak.Most())
	peak.Add(0, 0, 100) // takes no time
	require.EqualValues(t, 6, peak.Most())
}
