package cedar_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]cedar.Address{
		"<127.0.0.1:9618>": {Host: "127.0.0.1", Port: 9618},
		"pool.test:9618":   {Host: "pool.test", Port: 9618},
		"<127.0.0.1:9618?addrs=127.0.0.1-9618&alias=pool.test&noUDP&sock=schedd_1_2>": {
			Host: "127.0.0.1", Port: 9618, Sock: "schedd_1_2", NoUDP: true, Alias: "pool.test",
			Addrs: []string{"127.0.0.1:9618"},
		},
		"<[::1]:9618?addrs=[--1]-9618+10.0.0.1-5&noUDP>": {
			Host: "::1", Port: 9618,
			NoUDP: true, Addrs: []string{"[::1]:9618", "10.0.0.1:5"},
		},
		"<10.0.0.1:1?CCBID=1.2.3.4:9618%3faddrs%3d1.2.3.4-9618#7&PrivNet=home&new=1>": {
			Host: "10.0.0.1", Port: 1,
			Brokers: []string{"1.2.3.4:9618?addrs=1.2.3.4-9618#7"}, Network: "home",
		},
		"<10.0.0.1:1?CCBID=a:1%3fsock%3dx#7%20[%3a%3a1]%3a2#8#9&PrivAddr=%3c192.168.0.1:1%3fsock%3dy%3e&PrivNet=home&sock=y>": {
			Host: "10.0.0.1", Port: 1, Sock: "y",
			Brokers: []string{"a:1?sock=x#7", "[::1]:2#8#9"}, Network: "home", Inside: "<192.168.0.1:1?sock=y>",
		},
		"<10.0.0.1:1?sock=a%20b%26c;noUDP>": {
			Host: "10.0.0.1", Port: 1,
			Sock: "a b&c", NoUDP: true,
		},
	} {
		got, err := cedar.ParseAddress(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := cedar.ParseAddress(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for text, want := range map[string]string{
		"<127.0.0.1:9618":                  "the > is missing",
		"127.0.0.1":                        "must be <host:port",
		"<127.0.0.1:x>":                    `port "x"`,
		"<127.0.0.1:70000>":                `port "70000"`,
		"<:9618>":                          `host ""`,
		"<a b:9618>":                       "must be a name or an IP address",
		"<1.2.3.4:1?sock=%zz>":             "parameter sock",
		"<1.2.3.4:1?addrs=pool.test-9618>": "no IP address",
		"<1.2.3.4:1?addrs=1.2.3.4>":        "is no ip-port",
		"<1.2.3.4:1?addrs=1.2.3.4-x>":      `port "x"`,
	} {
		_, err := cedar.ParseAddress(text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"<127.0.0.1:9618?addrs=127.0.0.1-9618&alias=pool.test&noUDP&sock=schedd_1_2>", "<[::1]:9618?addrs=[--1]-9618>",
		"host:1", "<a:1?CCBID=x%20y#1&sock=%41&PrivNet=n&PrivAddr=%3ca:1%3e>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := cedar.ParseAddress(text)
		if err != nil {
			return
		}
		again, err := cedar.ParseAddress(a.String())
		require.NoError(t, err, "%q of %q", a.String(), text)
		require.Equal(t, a, again)
		for _, contact := range a.Brokers {
			if at, failed := cedar.ParseContact(contact); failed == nil {
				require.NotEmpty(t, at.ID)
				require.NotEmpty(t, at.Broker.Host)
			}
		}
		if a.Network != "" {
			require.Empty(t, a.From(a.Network).Brokers)
		}
	})
}

// TestFrom calls a daemon from networks of its own and others.
func TestFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, network, want string }{
		{"<1.1.1.1:1?CCBID=2.2.2.2:2#3&PrivNet=home>", "", ""},
		{"<1.1.1.1:1?CCBID=2.2.2.2:2#3&PrivNet=home>", "Home", ""},
		{"<1.1.1.1:1?CCBID=2.2.2.2:2#3>", "home", ""},
		{"<1.1.1.1:1?CCBID=2.2.2.2:2#3&PrivNet=home&sock=x>", "home", "<1.1.1.1:1?PrivNet=home&sock=x>"},
		{
			"<1.1.1.1:1?CCBID=2.2.2.2:2#3&PrivAddr=%3c10.0.0.1:4%3fsock%3dx%3e&PrivNet=home&alias=a&sock=x>", "home",
			"<10.0.0.1:4?alias=a&sock=x>",
		},
		{"<1.1.1.1:1?PrivAddr=10.0.0.1:4%3fCCBID%3d3.3.3.3:3#4&PrivNet=home>", "home", "<10.0.0.1:4>"},
		{"<1.1.1.1:1?CCBID=2.2.2.2:2#3&PrivAddr=nowhere&PrivNet=home>", "home", "<1.1.1.1:1?PrivAddr=nowhere&PrivNet=home>"},
	} {
		a, err := cedar.ParseAddress(c.address)
		require.NoError(t, err)
		if c.want == "" {
			c.want = c.address
		}
		require.Equal(t, c.want, a.From(c.network).String(), "%s from %q", c.address, c.network)
	}
}

func TestParseContact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]cedar.Contact{
		"1.2.3.4:9618#7":                {Broker: cedar.Address{Host: "1.2.3.4", Port: 9618}, ID: "7"},
		"1.2.3.4:9618?sock=collector#7": {Broker: cedar.Address{Host: "1.2.3.4", Port: 9618, Sock: "collector"}, ID: "7"},
		"1.2.3.4:9618#7#1#12":           {Broker: cedar.Address{Host: "1.2.3.4", Port: 9618}, ID: "7#1#12"},
	} {
		got, err := cedar.ParseContact(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for text, want := range map[string]string{
		"":            "must be host:port#number",
		"1.2.3.4:9#":  "must be host:port#number",
		"1.2.3.4:9#x": "must be host:port#number",
		"1.2.3.4:9":   "must be host:port#number",
		"nowhere#7":   "must be <host:port",
	} {
		_, err := cedar.ParseContact(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestAddressV1 prints addresses as the daemons of 23.9 do.
func TestAddressV1(t *testing.T) {
	t.Parallel()
	const rest = `port=9703; n="Internet"; alias="pool.test"; spid="negotiator_5_0210"; noUDP=true; ]`
	for text, want := range map[string]string{
		"<127.0.0.1:9703?addrs=127.0.0.1-9703&alias=pool.test&noUDP&sock=negotiator_5_0210>": `{[ p="primary"; a="127.0.0.1"; ` +
			rest + `, [ p="IPv4"; a="127.0.0.1"; ` + rest + "}",
		"<10.0.0.1:9>": `{[ p="primary"; a="10.0.0.1"; port=9; n="Internet"; ], [ p="IPv4"; a="10.0.0.1"; port=9; n="Internet"; ]}`,
		"<10.0.0.1:9?addrs=10.0.0.1-9+[--1]-9>": `{[ p="primary"; a="10.0.0.1"; port=9; n="Internet"; ], ` +
			`[ p="IPv4"; a="10.0.0.1"; port=9; n="Internet"; ], [ p="IPv6"; a="::1"; port=9; n="Internet"; ]}`,
	} {
		a, err := cedar.ParseAddress(text)
		require.NoError(t, err)
		require.Equal(t, want, a.V1())
		ad := classad.New()
		require.NoError(t, ad.SetExpr("A", a.V1()))
		items, ok := ad.Eval("A", nil).Items()
		require.True(t, ok)
		require.GreaterOrEqual(t, len(items), 2)
	}
}
