package security

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestRevokedTokens: a token is refused if it is revoked, too old, or of another issuer, and also
// if that cannot be told.
func TestRevokedTokens(t *testing.T) {
	key := NewSigningKey("POOL", []byte("k"))
	file := tokenFile(t, key, "POOL", "pool.test", "condor@pool.test", Read)
	at := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		domain, revoked string
		age             time.Duration
		want            string // part of the error; empty: accepted
	}{
		"good":            {domain: "pool.test"},
		"no domain":       {want: "TRUST_DOMAIN and UID_DOMAIN are empty"},
		"not revoked":     {domain: "pool.test", revoked: `sub == "eve@pool.test" || iat < 1000 || time() < 500`},
		"revoked":         {domain: "pool.test", revoked: `sub == "condor@pool.test"`, want: "is revoked"},
		"by time":         {domain: "pool.test", revoked: "iat <= 1000", want: "is revoked"},
		"by scope":        {domain: "pool.test", revoked: `regexp("READ", scope)`, want: "is revoked"},
		"by a number":     {domain: "pool.test", revoked: "7", want: "is revoked"},
		"no such claim":   {domain: "pool.test", revoked: `jti == "7"`, want: "neither true nor false"},
		"an error":        {domain: "pool.test", revoked: "sub > 7", want: "neither true nor false"},
		"without an end":  {domain: "pool.test", revoked: "member(0, {" + long + "})", want: "neither true nor false"},
		"young":           {domain: "pool.test", age: time.Hour},
		"as old as it is": {domain: "pool.test", age: 10 * time.Second},
		"too old":         {domain: "pool.test", age: 9 * time.Second, want: "older than SEC_TOKEN_MAX_AGE"},
	} {
		t.Run(name, func(t *testing.T) {
			guard := &Server{
				Methods: []Method{Token}, Keys: map[string]SigningKey{"POOL": key}, Allow: everyone,
				TrustDomain: c.domain, Clock: func() time.Time { return at.Add(10 * time.Second) }, MaxAge: c.age,
			}
			if c.revoked != "" {
				guard.Revoked = classad.MustParseExpr(c.revoked)
			}
			s := serve(t, guard)
			got, err := who(t, &Client{Methods: []Method{Token}, Tokens: []string{file}, Timeout: time.Minute},
				s.address, reading, nil)
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, "condor@pool.test by TOKEN, encrypted true", got)
				return
			}
			require.Error(t, err)
			refused := poll.Until(t, "a refusal", func() ([]error, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.refused, len(s.refused) > 0
			})
			require.ErrorContains(t, refused[0], c.want)
		})
	}
}

// long is a list that takes more steps to walk than there are.
var long = strings.Repeat("1,", revocationSteps) + "1"

// A token that does not say when it was issued is too old.
func TestTokenWithoutAge(t *testing.T) {
	s := &Server{MaxAge: time.Hour, Clock: func() time.Time { return time.Unix(1000, 0) }}
	require.ErrorContains(t, s.stillGood(token{}), "does not say when it was issued")
	require.NoError(t, s.stillGood(token{IssuedAt: 999}))
}

// TestMethodsPerLevel: a method counts only for the levels that it is configured for, also on a
// session that was made for another level.
func TestMethodsPerLevel(t *testing.T) {
	s := serve(t, &Server{
		Methods: []Method{ClaimToBe, FS}, Domain: "d", Allow: everyone, Directory: t.TempDir(),
		UserOf: func(int) (string, error) { return "me", nil },
		MethodsFor: func(p Permission) []Method {
			if p == Read {
				return []Method{ClaimToBe}
			}
			return []Method{FS}
		},
	})
	c := &Client{Methods: []Method{ClaimToBe, FS}, User: "root", Timeout: time.Minute}
	got, err := who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	require.Equal(t, "root@d by CLAIMTOBE, encrypted true", got)
	known := c.negotiated.find(place{s.address.String(), reading}, time.Now())
	require.NotNil(t, known)
	c.negotiated.keep(s.address.String(), []int{deciding}, known, time.Now())
	got, err = who(t, c, s.address, deciding, nil)
	require.NoError(t, err)
	require.Equal(t, "me@d by FS, encrypted true", got)
	_, err = who(t, &Client{Methods: []Method{ClaimToBe}, User: "root", Timeout: time.Minute}, s.address, deciding, nil)
	require.Error(t, err)
}
