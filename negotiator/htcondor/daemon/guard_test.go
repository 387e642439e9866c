package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// TestServerPerLevel: SEC_LEVEL_… settings count for their level, DEFAULT ones never make a level
// above READ less than REQUIRED.
func TestServerPerLevel(t *testing.T) {
	levels := func(a, e, i security.Level) security.Wishes {
		return security.Wishes{Authentication: a, Encryption: e, Integrity: i}
	}
	const must, may, never, rather = security.Required, security.Optional, security.Never, security.Preferred
	for _, c := range []struct {
		text       string
		permission security.Permission
		want       security.Wishes
	}{
		{"", security.Read, levels(may, may, may)},
		{"", security.Daemon, levels(must, must, must)},
		{"SEC_DEFAULT_AUTHENTICATION = REQUIRED", security.Read, levels(must, may, may)},
		{"SEC_DEFAULT_ENCRYPTION = OPTIONAL", security.Administrator, levels(must, must, must)},
		{"SEC_DEFAULT_ENCRYPTION_NEGOTIATOR = OPTIONAL", security.Write, levels(must, must, must)},
		{"SEC_READ_AUTHENTICATION = REQUIRED\nSEC_DEFAULT_ENCRYPTION = PREFERRED", security.Read, levels(must, rather, may)},
		{"SEC_READ_AUTHENTICATION_NEGOTIATOR = NEVER", security.Read, levels(never, may, may)},
		{"SEC_ADMINISTRATOR_ENCRYPTION = OPTIONAL", security.Administrator, levels(must, may, must)},
		{"SEC_ADMINISTRATOR_ENCRYPTION = OPTIONAL", security.Write, levels(must, must, must)},
		{"SEC_DAEMON_INTEGRITY = PREFERRED", security.AdvertiseSchedd, levels(must, must, rather)},
	} {
		s, err := (&Site{Config: condorconfig.Parse(c.text, "")}).Server(nil)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Wishes(c.permission), "%s of %s", c.permission, c.text)
	}
	s, err := (&Site{Config: condorconfig.Parse("SEC_DEFAULT_AUTHENTICATION_METHODS = FS\n"+
		"SEC_ADMINISTRATOR_AUTHENTICATION_METHODS = IDTOKENS, KERBEROS\nSEC_TOKEN_MAX_AGE = 60", "")}).Server(nil)
	require.NoError(t, err)
	require.Equal(t, []security.Method{security.FS}, s.MethodsFor(security.Read))
	require.Equal(t, []security.Method{security.Token}, s.MethodsFor(security.Administrator))
	require.Equal(t, time.Minute, s.MaxAge)
	for _, wrong := range []string{
		"SEC_WRITE_ENCRYPTION = always", "SEC_TOKEN_REVOCATION_EXPR = jti ==", "SEC_TOKEN_BLACKLIST_EXPR = (",
		"SEC_TOKEN_MAX_AGE = old",
	} {
		_, err = (&Site{Config: condorconfig.Parse(wrong, "")}).Server(nil)
		require.Error(t, err, wrong)
	}
}
