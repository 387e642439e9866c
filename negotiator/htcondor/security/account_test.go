package security

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReservedNames: nobody becomes one of the family, or another session's owner, by name, whatever
// the method and the pool's domain.
func TestReservedNames(t *testing.T) {
	key := NewSigningKey("POOL", []byte("k"))
	for _, name := range []string{
		"condor@family", "Condor@FAMILY", "condor@parent", "condor@child", Unauthenticated,
		"negotiator-side@matchsession",
	} {
		for method, c := range map[Method]*Client{
			ClaimToBe: {User: name},
			Token:     {Tokens: []string{tokenFile(t, key, "POOL", "pool.test", name)}},
		} {
			s := serve(t, &Server{
				Methods: []Method{ClaimToBe, Token}, Keys: map[string]SigningKey{"POOL": key}, TrustDomain: "pool.test",
				Domain: "pool.test", Allow: everyone,
			})
			c.Methods, c.Timeout = []Method{method}, time.Minute
			got, err := who(t, c, s.address, ruling, nil)
			require.Error(t, err, "%s by %s: %s", name, method, got)
		}
	}
	// Where the pool's domain makes such a name of a user's.
	s := serve(t, &Server{
		Methods: []Method{ClaimToBe, FS}, Domain: "family", Directory: t.TempDir(), Allow: everyone,
		UserOf: func(int) (string, error) { return "condor", nil },
	})
	for _, m := range []Method{ClaimToBe, FS} {
		got, err := who(t, &Client{Methods: []Method{m}, User: "condor", Timeout: time.Minute}, s.address, ruling, nil)
		require.Error(t, err, got)
	}
}
