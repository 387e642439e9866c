package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestGuaranteeing requires that whoever must choose a policy with guarantees is told of all of them.
func TestGuaranteeing(t *testing.T) {
	require.Equal(t, "conservative, dc, pc, slack and slack-small", policies.Guaranteeing("and"))
	easy, err := policies.Named("easy")
	require.NoError(t, err)
	slack, err := policies.Named("slack")
	require.NoError(t, err)
	_, err = policies.FallbackNamed(easy.Name, slack)
	require.ErrorContains(t, err, "choose conservative, dc, pc, slack or slack-small")
}
