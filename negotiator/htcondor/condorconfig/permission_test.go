package condorconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPermissions(t *testing.T) {
	p := Parse(`ALLOW_READ = *
ALLOW_READ_NEGOTIATOR = 10.0.0.0/8, *@pool.test
ALLOW_WRITE = alice@pool.test/10.1.*
ALLOW_DAEMON = condor@pool.test
ALLOW_ADMINISTRATOR = root@pool.test/127.0.0.1 host.name, admin@pool.test/[::1], away.name
ALLOW_NEGOTIATOR = */172.16.0.0/255.240.0.0, 192.0.2.0/255.255.255.0, */fe80:*
DENY_WRITE = mallory@pool.test, eve@pool.test/*.evil.test, [*@worse.test
DENY_ADMINISTRATOR = */10.9.9.9, bad@pool.test/host.name, spy@pool.test/gone.name`,
		"").Permissions(func(host string) ([]netip.Addr, error) {
		if host == "host.name" {
			return []netip.Addr{netip.MustParseAddr("10.5.5.5"), netip.MustParseAddr("2001:db8::5")}, nil
		}
		return nil, errors.New("no such host")
	})
	require.Equal(t, []string{
		"ALLOW_ADMINISTRATOR: away.name allows nobody: no such host",
		"DENY_ADMINISTRATOR: spy@pool.test/gone.name denies it everywhere: no such host",
		"DENY_WRITE: eve@pool.test/*.evil.test denies it everywhere: patterns of hosts' names are not known here, " +
			"name the hosts or their network",
	}, p.Warnings)
	for _, tt := range []struct {
		level, user, from string
		want              bool
	}{
		{"READ", "unauthenticated@unmapped", "10.2.3.4", true},
		{"READ", "unauthenticated@unmapped", "192.168.0.1", false},
		{"READ", "bob@pool.test", "192.168.0.1", true},
		{"WRITE", "alice@pool.test", "10.1.2.3", true},
		{"WRITE", "Alice@Pool.Test", "::ffff:10.1.2.3", true},
		{"WRITE", "alice@pool.test", "10.2.2.3", false},
		{"WRITE", "condor@pool.test", "10.2.2.3", true},
		{"WRITE", "[/x@worse.test", "10.2.2.3", false},
		{"READ", "condor@elsewhere", "192.168.0.1", false},
		{"WRITE", "mallory@pool.test", "10.1.2.3", false},
		{"DAEMON", "condor@pool.test", "fe80::1", true},
		{"DAEMON", "alice@pool.test", "10.1.2.3", false},
		{"ADMINISTRATOR", "root@pool.test", "127.0.0.1", true},
		{"ADMINISTRATOR", "root@pool.test", "127.0.0.2", false},
		{"ADMINISTRATOR", "anyone@pool.test", "10.5.5.5", true},
		{"ADMINISTRATOR", "anyone@pool.test", "2001:db8::5", true},
		{"ADMINISTRATOR", "anyone@pool.test", "10.5.5.6", false},
		{"ADMINISTRATOR", "bad@pool.test", "10.5.5.5", false},
		{"ADMINISTRATOR", "spy@pool.test", "10.5.5.5", false},
		{"ADMINISTRATOR", "admin@pool.test", "::1", true},
		{"ADMINISTRATOR", "admin@pool.test", "::2", false},
		{"NEGOTIATOR", "condor@pool.test", "172.31.0.1", true},
		{"NEGOTIATOR", "condor@pool.test", "172.32.0.1", false},
		{"NEGOTIATOR", "condor@pool.test", "192.0.2.9", true},
		{"NEGOTIATOR", "condor@pool.test", "fe80::9%eth0", true},
		{"ADMINISTRATOR", "condor@family", "127.0.0.2", false},
		{"ADMINISTRATOR", "condor@parent", "127.0.0.2", false},
		{"NEGOTIATOR", "condor@pool.test", "127.0.0.1", false},
		{"SOAP", "root@pool.test", "127.0.0.1", false},
	} {
		require.Equal(t, tt.want, p.Allows(tt.level, tt.user, netip.MustParseAddr(tt.from)), fmt.Sprint(tt))
	}
}

func TestGlobs(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a/b@c", true},
		{"*@pool.test", "A@Pool.Test", true},
		{"*@pool.test", "a@pool.test.evil", false},
		{"a*", "ba", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "a-b-bc", true},
		{"a*b*c", "a-c-b", false},
		{"**", "x", true},
		{"10.0.*", "10.0.1.2", true},
		{"10.0.*", "10.10.1.2", false},
		{"a?", "ab", false},
		{"[a", "[a", true},
	} {
		require.Equal(t, tt.want, globs(tt.pattern, tt.text), "%q of %q", tt.pattern, tt.text)
	}
}

// nowhere finds no host.
func nowhere(string) ([]netip.Addr, error) { return nil, errors.New("no such host") }

// TestSpellings: an address is denied, and allowed, in any of its spellings, alone or in a network.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		entry, from string
		want        bool
	}{
		{"2001:db8:0:0:0:0:0:1", "2001:db8::1", true},
		{"2001:0DB8::0001", "2001:db8::1", true},
		{"[2001:db8::1]", "2001:db8::1", true},
		{"2001:db8::1", "2001:db8::2", false},
		{"::ffff:10.0.0.1", "10.0.0.1", true},
		{"::ffff:a00:1", "10.0.0.1", true},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"::ffff:10.0.0.0/104", "10.9.9.9", true},
		{"::ffff:10.0.0.0/104", "11.0.0.1", false},
		{"[2001:db8::]/32", "2001:db8:1::1", true},
		{"2001:db8::/255.255.255.0", "2001:db8:1::1", true}, // unreadable: denies everybody
		{"10.1.2.3/8", "10.9.9.9", true},
		{"10.0.*", "10.0.9.9", true},
		{"10.0.*", "10.1.9.9", false},
		{"2001:db8:*", "2001:db8:ffff::1", true},
		{"2001:db8:*", "2001:db9::1", false},
		{"fe80:*", "fe80::1%eth0", true},
		{"*/::/0", "2001:db8::1", true},
		{"*/0.0.0.0/0", "2001:db8::1", false},
	} {
		from := netip.MustParseAddr(tt.from)
		denies := Parse("ALLOW_READ = *\nDENY_READ = "+tt.entry, "").Permissions(nowhere)
		require.Equal(t, !tt.want, denies.Allows("READ", "a@b", from), "%v", tt)
	}
}

// TestUnreadable: what cannot be read in a DENY_ list denies, and allows nobody in an ALLOW_ list;
// both are named. No resolver is asked what a misspelt address may be.
func TestUnreadable(t *testing.T) {
	asked := func(host string) ([]netip.Addr, error) {
		t.Errorf("asked for %q", host)
		return nil, nil
	}
	from := netip.MustParseAddr("192.0.2.1")
	for _, text := range []string{
		"10.0.0.0/33", "10.0.0.0/255.0.255.0", "10.0.0.256", "010.0.0.1", "10.0", "0x0a000001", "10.0/8", "10.1*",
		"10.*.1.1", "*.1", "2001:db8::1::", "2001:db8::/129", "fe80::*", "::ffff:10.0.*", "::ffff:10.0.0.0/95",
		"::ffff:0:0/-1", "[::1", "10.0.0.1:9618", "<10.0.0.1:9618>", "+admins", "pool.*", "$(HOST)", "root/10.0.0.1",
		"10.0.0.0/8/8",
	} {
		for _, user := range []string{"", "*/", "eve@pool.test/"} {
			if user != "" && strings.HasPrefix(text, "root/") {
				continue
			}
			p := Parse("ALLOW_READ = *\nDENY_READ = good@pool.test "+user+text, "").Permissions(asked)
			require.False(t, p.Allows("READ", "eve@pool.test", from), user+text)
			require.Len(t, p.Warnings, 1)
			require.Contains(t, p.Warnings[0], "DENY_READ: "+user+text+" denies ")
			p = Parse("ALLOW_READ = "+user+text, "").Permissions(asked)
			require.False(t, p.Allows("READ", "eve@pool.test", from), user+text)
			require.Len(t, p.Warnings, 1)
			require.Contains(t, p.Warnings[0], "ALLOW_READ: "+user+text+" allows nobody")
		}
	}
}

// spellings returns texts that all mean the address.
func spellings(a netip.Addr) []string {
	long := a.StringExpanded()
	all := []string{a.String(), long, strings.ToUpper(long), fmt.Sprintf("%v/%d", a, a.BitLen())}
	if a.Is4() {
		mapped := netip.AddrFrom16(a.As16())
		all = append(all, spellings(mapped)...)
		return append(all, a.String()+"/255.255.255.255", "::FFFF:"+a.String())
	}
	for _, text := range all[:3] {
		all = append(all, "["+text+"]")
	}
	return append(all, "["+long+"]/128")
}

// TestSpellingsAgree: for any address, every spelling in a list and every spelling of the caller
// give the same verdict, and the network around it covers it.
func TestSpellingsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{4, 16}).Draw(t, "size")
		draw := func(name string) netip.Addr {
			bytes := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 10, 0xfe, 0xff}), size, size).Draw(t, name)
			a, _ := netip.AddrFromSlice(bytes)
			return a
		}
		a, b := draw("a"), draw("b")
		bits := rapid.IntRange(1, a.BitLen()).Draw(t, "bits")
		network := netip.PrefixFrom(a, bits)
		for _, text := range spellings(a) {
			for _, user := range []string{"", "*/", "u@d/"} {
				p := Parse("ALLOW_READ = *\nALLOW_WRITE = "+user+text+"\nDENY_READ = "+user+text, "").Permissions(nowhere)
				if len(p.Warnings) > 0 {
					t.Fatalf("%v", p.Warnings)
				}
				for _, other := range []netip.Addr{a, netip.AddrFrom16(a.As16()), b, netip.AddrFrom16(b.As16())} {
					same := other.Unmap() == a.Unmap()
					if p.Allows("WRITE", "u@d", other) != same || p.Allows("READ", "u@d", other) == same {
						t.Fatalf("%s%s and %v", user, text, other)
					}
				}
			}
		}
		if !a.Is4In6() && !b.Is4In6() {
			p := Parse("ALLOW_WRITE = "+network.String(), "").Permissions(nowhere)
			if p.Allows("WRITE", "u@d", b) != network.Contains(b) {
				t.Fatalf("%v and %v", network, b)
			}
		}
	})
}

// TestInheritedLists: where a level has no list, that of DEFAULT counts; ADVERTISE_ levels take that
// of DAEMON first, as in HTCondor.
func TestInheritedLists(t *testing.T) {
	from := netip.MustParseAddr("192.0.2.1")
	p := Parse("ALLOW_DEFAULT = *@pool.test\nDENY_DEFAULT = eve@pool.test\nALLOW_DAEMON = condor@pool.test\n"+
		"DENY_DAEMON_NEGOTIATOR = old@pool.test", "").Permissions(nowhere)
	require.Empty(t, p.Warnings)
	for _, tt := range []struct {
		level, user string
		want        bool
	}{
		{"ADMINISTRATOR", "bob@pool.test", true},
		{"ADMINISTRATOR", "eve@pool.test", false},
		{"READ", "eve@pool.test", false},
		{"ADVERTISE_SCHEDD", "condor@pool.test", true},
		{"ADVERTISE_SCHEDD", "bob@pool.test", false},
		{"ADVERTISE_SCHEDD", "old@pool.test", false},
	} {
		require.Equal(t, tt.want, p.Allows(tt.level, tt.user, from), "%v", tt)
	}
	// As before HTCondor 9, the lists of WRITE count for DAEMON where asked for.
	for legacy, want := range map[string]bool{"true": false, "false": true} {
		p = Parse("ALLOW_DEFAULT = *\nDENY_WRITE = eve@pool.test\nLEGACY_ALLOW_SEMANTICS = "+legacy, "").Permissions(nowhere)
		require.Equal(t, want, p.Allows("DAEMON", "eve@pool.test", from))
	}
	// Who is denied a level has none that he would have by it.
	p = Parse("ALLOW_ADMINISTRATOR = boss@pool.test\nDENY_WRITE = boss@pool.test", "").Permissions(nowhere)
	require.True(t, p.Allows("ADMINISTRATOR", "boss@pool.test", from))
	require.False(t, p.Allows("READ", "boss@pool.test", from))
}
