package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

func TestReschedule(t *testing.T) {
	fake := fakes.NewSchedd(t, "schedd@test")
	schedd := client.Schedd{Security: fakes.Client(), Address: fake.Address()}
	for n := range 2 { // in a new session, and in a known one
		require.NoError(t, schedd.Reschedule(t.Context()))
		poll.Equal(t, n+1, fake.Rescheduled)
	}
	fake.Stop()
	require.ErrorContains(t, schedd.Reschedule(t.Context()), "have the schedd at")
}
