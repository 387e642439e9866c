package security

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	allow, err := ParseRules(
		map[Permission]string{
			Read: "*", Write: "*@pool.test/10.0.*, 192.168.0.0/16", Administrator: "root@pool.test\tcondor@*/127.0.0.1",
			Daemon: "condor@pool.test/2001:db8::/32 */::1",
		},
		map[Permission]string{Write: "mallory@*"},
	)
	require.NoError(t, err)
	for _, c := range []struct {
		user, address string
		need          Permission
		want          bool
	}{
		{"anybody", "1.2.3.4", Read, true},
		{"alice@pool.test", "10.0.1.2", Write, true},
		{"alice@pool.test", "10.1.1.2", Write, false},
		{"alice@elsewhere", "10.0.1.2", Write, false},
		{"mallory@pool.test", "10.0.1.2", Write, false},
		{Unauthenticated, "192.168.7.7", Write, true},
		{"root@pool.test", "1.2.3.4", Administrator, true},
		{"root@pool.test", "1.2.3.4", Write, true},
		{"root@pool.test", "1.2.3.4", Negotiator, false},
		{"condor@x", "127.0.0.1", Administrator, true},
		{"condor@x", "127.0.0.11", Administrator, false},
		{"condor@pool.test", "2001:db8::7", Daemon, true},
		{"condor@pool.test", "2001:db9::7", Daemon, false},
		{"x", "::1", AdvertiseSchedd, true},
	} {
		require.Equal(t, c.want, allow(Peer{User: c.user, Address: c.address}, c.need), c)
	}
	require.True(t, allow(Peer{User: "condor@family", Family: true}, Administrator))
	_, err = ParseRules(map[Permission]string{Read: "good@x, pool.test, $(X)"}, nil)
	require.ErrorContains(t, err, `READ: "$(X)", READ: "pool.test"`)
	for pattern, texts := range map[string]map[string]bool{
		"a*b*c": {"abc": true, "axxbyyc": true, "ab": false, "abcd": false, "xabc": false},
		"*":     {"": true, "x": true},
		"a*a":   {"a": false, "aa": true},
		"a":     {"a": true, "b": false},
	} {
		for text, want := range texts {
			require.Equal(t, want, like(pattern, text), "%s %s", pattern, text)
		}
	}
}
