package classad_test

import (
	"encoding/json"
	"strings"
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

// A line that cannot be read is shown up to the value of a private attribute, in every form of ads.
func TestErrorsDoNotShowPrivateAttributes(t *testing.T) {
	for _, text := range []string{
		"a = 1\nClaimId = \"SECRET", "a = 1\nClaimId == \"SECRET\"\n",
		"a = 1\nTransferKey = SECRET + \n", "[ a = 1; ClaimId = \"SECRET ]", "[ a = 1; 'ClaimId' = \"SECRET\" 9 ]",
		"[ a = [ Capability = \"SECRET\" 9 ] ]", `{"a": 1, "ClaimId": "SECRET }`,
		"<classads><c><a n=\"ClaimId\"><e>SECRET +</e></a></c></classads>",
	} {
		var failed error
		for _, err := range classad.ReadAds(strings.NewReader(text), "file") {
			failed = err
		}
		require.Error(t, failed, text)
		require.NotContains(t, failed.Error(), "SECRET", text)
	}
	_, err := classad.ParseExpr("TARGET.Capability >= 8 &&& x")
	require.ErrorContains(t, err, "TARGET.Capability >= 8 &&& x", "a name that is only used hides nothing")
}

// An explanation says that a private attribute counts, and not what it is. What a GPU can do is a number.
func TestExplanationsDoNotShowPrivateAttributes(t *testing.T) {
	job := parse(t, `[ TransferKey = "SECRET"; Requirements = TARGET.Capability == "x" && MY.TransferKey && `+
		`TARGET.ClaimIds == { "y" } && strcat(ClaimId, "z") == "z" && TARGET.GPU.Capability > 8.0 ]`)
	slot := parse(t, `[ Capability = "SECRET"; ClaimIds = { "SECRET" }; ClaimId = "SECRET"; GPU = [ Capability = 7.5 ] ]`)
	text, err := json.Marshal(job.Explain("Requirements", slot))
	require.NoError(t, err)
	require.NotContains(t, string(text), "SECRET")
	require.Contains(t, string(text), `(private)`)
	require.Contains(t, string(text), "7.5")
	for _, refusal := range job.Explain("Requirements", slot).Refusals() {
		require.NotContains(t, refusal.String(), "SECRET")
	}
}
