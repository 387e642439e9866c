package security

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// TestBearer checks which tokens open the page: those that would open the command port for readers.
func TestBearer(t *testing.T) {
	key, other := NewSigningKey("POOL", []byte("k")), NewSigningKey("POOL", []byte("another"))
	revoked, err := classad.ParseExpr(`sub == "bob@pool.test"`)
	require.NoError(t, err)
	s := &Server{
		Methods: []Method{Token}, Domain: "pool.test", TrustDomain: "pool.test", Keys: map[string]SigningKey{"POOL": key}, Revoked: revoked,
		MaxAge: time.Hour, Clock: func() time.Time { return time.Unix(2000, 0) },
		Allow: func(p Peer, _ Permission) bool { return p.Address == "10.0.0.1" && p.User != "eve@pool.test" },
	}
	sign := func(k SigningKey, name, issuer, subject string, at int64, limits ...Permission) string {
		text, failed := k.Sign(name, issuer, subject, at, limits...)
		require.NoError(t, failed)
		return text
	}
	good := sign(key, "POOL", "pool.test", "ann@pool.test", 1000, Read)
	for text, want := range map[string]string{
		good: "ann@pool.test",
		sign(key, "POOL", "pool.test", "ann", 1000):                      "ann@pool.test",
		sign(key, "POOL", "pool.test", "ann@pool.test", 1000, Write):     "ann@pool.test",
		sign(other, "POOL", "pool.test", "ann@pool.test", 1000):          "!no key here",
		sign(key, "mine", "pool.test", "ann@pool.test", 1000):            "!no key here",
		sign(key, "POOL", "else.test", "ann@pool.test", 1000):            "!by key",
		sign(key, "POOL", "pool.test", "bob@pool.test", 1000):            "!revoked",
		sign(key, "POOL", "pool.test", "eve@pool.test", 1000):            "!denied",
		sign(key, "POOL", "pool.test", "ann@pool.test", -9000):           "!MAX_AGE",
		sign(key, "POOL", "pool.test", "ann@pool.test", 1000, "NOTHING"): "!denied",
		sign(key, "POOL", "pool.test", "condor@family", 1000):            "!session",
		good[:strings.LastIndexByte(good, '.')+1]:                        "!no key here",
		good[:len(good)-4]:                  "!no key here",
		"":                                  "!no key here",
		"a.b.c":                             "!no key here",
		strings.Repeat("x", 1<<20):          "!no key here",
		"\x00.\xff.\xfe":                    "!no key here",
		strings.ReplaceAll(good, ".", ".."): "!no key here",
	} {
		user, failed := s.Bearer(text, "10.0.0.1", Read)
		if reason, wrong := strings.CutPrefix(want, "!"); wrong {
			require.ErrorContains(t, failed, reason)
			require.NotContains(t, failed.Error(), good)
			require.Empty(t, user)
			continue
		}
		require.NoError(t, failed)
		require.Equal(t, want, user)
	}
	_, err = s.Bearer(good, "10.0.0.2", Read)
	require.ErrorContains(t, err, "denied")
	_, err = s.Bearer(good, "10.0.0.1", Write)
	require.ErrorContains(t, err, "denied")
	s.Methods = []Method{FS}
	_, err = s.Bearer(good, "10.0.0.1", Read)
	require.ErrorContains(t, err, "denied", "tokens do not count for readers")
	s.Succeed(&Server{TrustDomain: "pool.test", Keys: map[string]SigningKey{"POOL": other}})
	_, err = s.Bearer(good, "10.0.0.1", Read)
	require.ErrorContains(t, err, "no key here", "by the new configuration")
}
