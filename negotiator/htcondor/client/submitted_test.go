package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

func TestSubmitted(t *testing.T) {
	fake := fakes.NewSchedd(t, "schedd@test")
	schedd := client.Schedd{Security: fakes.Client(), Address: fake.Address()}
	fake.SetSubmitted(1 << 40)
	n, err := schedd.Submitted(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1<<40, n)
	fake.SetSubmitted(-1)
	_, err = schedd.Submitted(t.Context())
	require.ErrorContains(t, err, "the schedd does not tell how many jobs were submitted")
	fake.Stop()
	_, err = schedd.Submitted(t.Context())
	require.ErrorContains(t, err, "ask the schedd at")
}
