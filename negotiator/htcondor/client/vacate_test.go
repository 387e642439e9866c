package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// TestVacate: jobs that run are vacated, others are passed over, and who may not do that is told so.
func TestVacate(t *testing.T) {
	fake := fakes.NewSchedd(t, "schedd@test")
	fake.SetJobs("ClusterId = 1\nProcId = 0\nJobStatus = 2", "ClusterId = 1\nProcId = 1\nJobStatus = 1",
		"ClusterId = 2\nProcId = 0\nJobStatus = 2")
	schedd := client.Schedd{Security: fakes.Client(), Address: fake.Address()}
	require.NoError(t, schedd.Vacate(t.Context(), []string{"1.0", "1.1", "2.0", "3.0"}))
	require.Equal(t, []string{"1.0", "2.0"}, fake.Vacated())
	require.NoError(t, schedd.Vacate(t.Context(), []string{"1.1"}))
	fake.Unwilling(true)
	require.ErrorIs(t, schedd.Vacate(t.Context(), []string{"1.1", "1.0"}), client.ErrMayNotVacate)
	require.Len(t, fake.Vacated(), 2)
	fake.Stop()
	require.ErrorContains(t, schedd.Vacate(t.Context(), []string{"1.0"}), "vacate jobs of the schedd at")
}
