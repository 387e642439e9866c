package condorconfig

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

const dump = `# Configuration from machine: pool.test

# Parameters with names that match .*:
BACKFILL_POLICY = easy
BACKFILL_POLICY_OPTIONS = depth=2 other=a=b
BACKFILL_SYSTEM = 
backfill_order = expr:-EstimatedRunTime
BACKFILL_ESTIMATE_ATTRIBUTES = MaxRuntime, AllowedJobDuration
BACKFILL_ESTIMATES = combined
BACKFILL_ESTIMATES_RUNNING = requested
BACKFILL_ESTIMATES_OPTIONS = threshold=20 user-key=JobBatchName
BACKFILL_INTERVAL = 2 * 15
BACKFILL_POLCY = mine
BACKFILL_REASONS = no
NEGOTIATOR.BACKFILL_POLICY = conservative
NEGOTIATOR_INTERVAL = 5
NEGOTIATOR_SLOT_CONSTRAINT @=end
   Cpus > 1 &&
   Memory == 5
@end
n2.BACKFILL_POLICY = pc
SPOOL = /var/spool/condor
MAX_NEGOTIATOR_LOG = 10 Mb
SEC_DEFAULT_AUTHENTICATION_METHODS = FS,IDTOKENS
# Contributing configuration file(s):
#	/etc/condor/condor_config
`

func TestParse(t *testing.T) {
	c := Parse(dump, "")
	require.Equal(t, "conservative", c.Text("Backfill_Policy"), "the one for negotiators")
	require.Equal(t, "pc", Parse(dump, "n2").Text("BACKFILL_POLICY"), "the one of that local name")
	require.Equal(t, "Cpus > 1 &&\nMemory == 5", c.Text("NEGOTIATOR_SLOT_CONSTRAINT"))
	require.Equal(t, "/var/spool/condor/backfill", c.Text("BACKFILL_STATE"), "a default that refers to others")
	require.Equal(t, []string{"FS", "IDTOKENS"}, c.List("SEC_CLIENT_AUTHENTICATION_METHODS"))
	_, set := c.Lookup("BACKFILL_SYSTEM")
	require.False(t, set, "empty is not set")
	require.Empty(t, c.Text("NO_SUCH_KNOB"))
	require.Equal(t, []string{"there is no knob BACKFILL_POLCY, did you mean backfill_policy?"}, c.Unknown())
	require.NoError(t, c.Check())
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		value string
		read  func(*Config, string) (any, error)
		want  any
		err   string
	}{
		{"true", boolean, true, ""},
		{"Yes", boolean, true, ""},
		{"0", boolean, false, ""},
		{"1 > 2", boolean, false, ""},
		{"perhaps", boolean, false, "X = perhaps: must be true or false"},
		{"60", seconds, time.Minute, ""},
		{"10 * 60", seconds, 10 * time.Minute, ""},
		{"-1", seconds, time.Duration(0), "X = -1: must be a whole number of seconds, at least 0"},
		{"1.5", seconds, time.Duration(0), "must be a whole number of seconds"},
		{"1e300", seconds, time.Duration(0), "must be a whole number of seconds"},
		{"ten", whole, int64(0), "X = ten: must be a whole number from 0"},
		{"10 Mb", sizes, int64(10 << 20), ""},
		{"5", sizes, int64(5), ""},
		{"2GB", sizes, int64(2 << 30), ""},
		{"1 day", sizes, int64(0), "X = 1 day: must be a size such as 10 Mb"},
		{"99999999999 Tb", sizes, int64(0), "must be a size"},
		{"a", pairs, map[string]string(nil), "X = a: must be NAME=VALUE"},
	} {
		got, err := tt.read(Parse("X = "+tt.value, ""), "X")
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
			continue
		}
		require.NoError(t, err, tt.value)
		require.Equal(t, tt.want, got, tt.value)
	}
}

func boolean(c *Config, name string) (any, error) { return c.Bool(name) }
func seconds(c *Config, name string) (any, error) { return c.Seconds(name) }
func whole(c *Config, name string) (any, error)   { return c.Int(name) }
func sizes(c *Config, name string) (any, error)   { return c.Bytes(name) }
func pairs(c *Config, name string) (any, error)   { return c.Pairs(name) }

// TestKnobs checks the table: each default must be a valid value of its knob.
func TestKnobs(t *testing.T) {
	require.NoError(t, Parse("BACKFILL_POLICY_OPTIONS = a=b\nUID_DOMAIN = here", "").Check())
	for _, k := range Knobs() {
		require.NotEmpty(t, k.Doc, k.Name)
		require.Contains(t, []Kind{Text, List, Pairs, Bool, Whole, Seconds, Bytes, Expression}, k.Kind, k.Name)
	}
	require.ErrorContains(t, Parse("NEGOTIATOR_INTERVAL = soon\nBACKFILL_OBSERVE = a little", "").Check(),
		"BACKFILL_OBSERVE = a little: must be true or false\n"+
			"NEGOTIATOR_INTERVAL = soon: must be a whole number of seconds")
	require.Contains(t, Help(), "BACKFILL_START_SLACK")
}

func TestSettings(t *testing.T) {
	s, err := Parse(dump, "").Settings("")
	require.NoError(t, err)
	want := config.ForPool(config.LocalPool)
	want.Policy, want.Options = "conservative", map[string]string{"depth": "2", "other": "a=b"}
	want.Estimates, want.EstimatesRunning, want.EstimatesOptions = "combined", "requested",
		map[string]string{"threshold": "20", "user-key": "JobBatchName"}
	want.Order, want.EstimateAttributes = "expr:-EstimatedRunTime", []string{"MaxRuntime", "AllowedJobDuration"}
	want.Interval, want.Reasons, want.State = config.Duration(30*time.Second), false, "/var/spool/condor/backfill"
	require.Equal(t, want, s)

	file := filepath.Join(t.TempDir(), "more.yaml")
	require.NoError(t, os.WriteFile(file, []byte("policy: ibb\nstart_slack: 5s\nstate: /elsewhere\n"), 0o600))
	s, err = Parse(dump+"BACKFILL_CONFIG = "+file, "").Settings("")
	require.NoError(t, err)
	require.Equal(t, "conservative", s.Policy, "knobs come after the file")
	require.Equal(t, "/elsewhere", s.State)
	require.Equal(t, config.Duration(5*time.Second), s.StartSlack)

	for text, says := range map[string]string{
		"BACKFILL_ORDER = tallest":            `unknown order "tallest"`,
		"BACKFILL_START_SLACK = -5":           "BACKFILL_START_SLACK = -5: must be a whole number of seconds",
		"BACKFILL_OBSERVE = maybe":            "BACKFILL_OBSERVE = maybe: must be true or false",
		"NEGOTIATOR_INTERVAL = 0":             "must be at least 1",
		"BACKFILL_CYCLE_DELAY = 0":            "BACKFILL_CYCLE_DELAY = 0s: must be at least 1",
		"BACKFILL_POLICY_OPTIONS = depth":     "BACKFILL_POLICY_OPTIONS = depth: must be NAME=VALUE",
		"BACKFILL_CONFIG = /no/such/file.yml": "/no/such/file.yml",
	} {
		_, err = Parse(text, "").Settings("")
		require.ErrorContains(t, err, says)
	}
}

// TestRead runs another program in place of condor_config_val.
func TestRead(t *testing.T) {
	program := filepath.Join(t.TempDir(), Program)
	script := func(text string) {
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+text), 0o755))
	}
	script(`echo "ARGS = $*"; echo "WARNING: old" >&2`)
	c, err := Read(t.Context(), Source{Program: program, LocalName: "n2"})
	require.NoError(t, err)
	require.Equal(t, "-subsystem NEGOTIATOR -local-name n2 -dump -expanded", c.Text("ARGS"))

	script("echo 'cannot open /etc/condor/condor_config' >&2; exit 1")
	_, err = Read(t.Context(), Source{Program: program})
	require.ErrorContains(t, err, "exit status 1: cannot open /etc/condor/condor_config")

	ended, end := context.WithCancel(t.Context())
	end()
	script("sleep 100")
	_, err = Read(ended, Source{Program: program})
	require.ErrorIs(t, err, context.Canceled)

	t.Setenv("PATH", "/nowhere")
	_, err = Read(t.Context(), Source{})
	require.ErrorIs(t, err, ErrNone)
}

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
		"ALLOW_ADMINISTRATOR: */away.name allows nobody: no such host",
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
		{"ADMINISTRATOR", "condor@family", "127.0.0.2", true},
		{"ADMINISTRATOR", "condor@family", "10.9.9.9", false},
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
