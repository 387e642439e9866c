package condorconfig

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnheeded: nothing is named on a default pool, and what is set and has no effect is.
func TestUnheeded(t *testing.T) {
	stock, err := os.ReadFile("testdata/debian-23.9.txt")
	require.NoError(t, err)
	require.Contains(t, string(stock), "ALLOW_CLIENT = *")
	require.Empty(t, Parse(string(stock), "").Warnings())

	// What HTCondor 25.13 has by default, where 23.9 has it otherwise or not at all.
	require.Empty(t, Parse(string(stock)+"SEC_CLAIMTOBE_INCLUDE_DOMAIN = true\nSEC_ACCEPT_CAPABILITY_TOKENS = false\n"+
		"SEC_USE_LOW_DATA_MODE = false\nSEC_USE_TOKENS_DATABASE = false\nALLOW_COMMON_FILES_ON_LVS = false\n", "").
		Warnings())

	for _, name := range []string{
		"SEC_DEFAULT_SESSION_DURATION", "SEC_READ_NEGOTIATION", "CERTIFICATE_MAPFILE", "DENY_CLIENT", "ALLOW_CLIENT",
		"SEC_USE_FAMILY_SESSION", "HOSTDENY_WRITE", "SEC_CLIENT_CRYPTO_METHODS", "NEGOTIATOR.SEC_CLAIMTOBE_USER",
		"N2.FS_REMOTE_DIR", "UNAUTHENTICATED_USER", "SEC_NEGOTIATOR_SESSION_LEASE", "SEC_CLIENT_ENCRYPTION_NEGOTIATOR",
	} {
		bare := name[strings.IndexByte(name, '.')+1:]
		require.Equal(t, []string{bare + " is set, and not heeded here"},
			Parse(string(stock)+name+" = something\n", "n2").Warnings(), name)
	}
	for _, set := range []string{
		"DENY_DAEMON = *", "DENY_READ_NEGOTIATOR = *", "SEC_WRITE_ENCRYPTION = REQUIRED", "ALLOW_WRITE_COLLECTOR = *",
		"SEC_ADVERTISE_SCHEDD_AUTHENTICATION_METHODS = FS", "SCHEDD.SEC_CLAIMTOBE_USER = a", "SEC_TOKEN_MAX_AGE = 7",
		"SEC_DEFAULT_CRYPTO_METHODS = AES,BLOWFISH", "ALLOW_ADVERTISE_STARTD = *", "SEC_ENABLE_TOKEN_FETCH = false",
		"CERTIFICATE_MAPFILE =",
	} {
		require.Empty(t, Parse(string(stock)+set, "").Warnings(), set)
	}
}

// TestHalfDivided checks that a pool is divided only if both negotiators' slots are given.
func TestHalfDivided(t *testing.T) {
	const own, other = "NEGOTIATOR_SLOT_CONSTRAINT = Half == 1\n", "BACKFILL_OTHER_SLOT_CONSTRAINT = Half == 2\n"
	require.Empty(t, Parse(own, "").Warnings())
	require.Empty(t, Parse(own+other, "").Warnings())
	require.Equal(t, []string{"BACKFILL_OTHER_SLOT_CONSTRAINT is set and NEGOTIATOR_SLOT_CONSTRAINT is not: " +
		"this negotiator takes all slots, so it steps back"}, Parse(other, "").Warnings())
}
