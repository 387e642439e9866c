package classad_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// What HTCondor's printers leave out is left out, in any case of letters; the ad itself stays.
func TestPublic(t *testing.T) {
	secret := parse(t, `[ ClaimId = "1"; CLAIMIDS = "2"; ClaimIdList = "3"; ChildClaimIds = { "4" }; `+
		`capability = "5"; TransferKey = "6"; PairedClaimId = "7"; _condor_privRemoteX = "8"; _CONDOR_PRIV = "9"; `+
		`PublicClaimId = "a"; Capabilities = "b"; _condor_pri = "c" ]`)
	before := secret.String()
	require.Equal(t, `[ _condor_pri = "c"; Capabilities = "b"; PublicClaimId = "a" ]`, classad.Public(secret).String())
	require.Equal(t, before, secret.String())
	open := classad.New()
	require.Same(t, open, classad.Public(open))
}
