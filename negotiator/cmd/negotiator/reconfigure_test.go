package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// site is a machine that has HTCondor's configuration, but not HTCondor.
type site struct {
	t      *testing.T
	folder string
	knobs  map[string]string
}

// newSite makes a configuration that the command finds. A command that runs as root becomes another
// user.
func newSite(t *testing.T, knobs map[string]string) *site {
	t.Helper()
	s := &site{t: t, folder: t.TempDir(), knobs: map[string]string{
		"SEC_CLIENT_AUTHENTICATION_METHODS": "CLAIMTOBE", "SEC_DEFAULT_AUTHENTICATION_METHODS": "CLAIMTOBE, IDTOKENS",
		"UID_DOMAIN": "test", "TRUST_DOMAIN": "test",
		"FULL_HOSTNAME": "here.test", "IP_ADDRESS": "127.0.0.1", "BIND_ALL_INTERFACES": "False", "ALLOW_READ": "*@test",
		"ALLOW_ADMINISTRATOR": "root@test",
		"BACKFILL_POLICY":     "easy", "BACKFILL_IN_PROCESS": "true",
	}}
	const nobody = 65534
	ids := fmt.Sprintf("%d.%d", os.Getuid(), os.Getgid())
	state := s.path("state")
	require.NoError(t, os.Mkdir(state, 0o755))
	if os.Getuid() == 0 {
		ids = fmt.Sprintf("%d.%d", nobody, nobody)
		require.NoError(t, os.Chmod(filepath.Dir(s.folder), 0o755)) //nolint:gosec // that user comes here
		require.NoError(t, os.Chown(state, nobody, nobody))
	}
	s.knobs["CONDOR_IDS"], s.knobs["BACKFILL_STATE"] = ids, state
	maps.Copy(s.knobs, knobs)
	//nolint:gosec // it is executed
	require.NoError(t, os.WriteFile(s.path(condorconfig.Program),
		[]byte("#!/bin/sh\ncat '"+s.path("dump")+"'\n"), 0o755))
	s.write()
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.folder, name) }

// write writes the configuration.
func (s *site) write() {
	s.t.Helper()
	var text strings.Builder
	for name, value := range s.knobs {
		fmt.Fprintf(&text, "%s = %s\n", name, value)
	}
	require.NoError(s.t, os.WriteFile(s.path("dump"), []byte(text.String()), 0o644)) //nolint:gosec // nothing is secret
}

// start starts the negotiator.
func (s *site) start(args ...string) *launchedDaemon {
	s.t.Helper()
	d := &launchedDaemon{t: s.t}
	d.cmd, d.stdout, _ = launched(s.t, append([]string{"-t"}, args...)...)
	d.cmd.Env = append(d.cmd.Env, "PATH="+s.folder+":"+os.Getenv("PATH"), "CONDOR_IDS=")
	d.cmd.Stderr = nil
	stderr, err := d.cmd.StderrPipe()
	require.NoError(s.t, err)
	d.lines = bufio.NewReader(stderr)
	require.NoError(s.t, d.cmd.Start())
	s.t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	return d
}

// TestReconfigure: settings that can change do so between cycles, others are reported, and a wrong
// configuration changes nothing.
func TestReconfigure(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	collector, second := fakes.NewCollector(t), fakes.NewCollector(t)
	where := func(c *fakes.Collector) string { return strings.Trim(c.Address().String(), "<>") }
	s := newSite(t, map[string]string{"COLLECTOR_HOST": where(collector), "NEGOTIATOR_INTERVAL": "3600"})
	keys := s.path("keys")
	require.NoError(t, os.Mkdir(keys, 0o700))
	s.knobs["SEC_PASSWORD_DIRECTORY"], s.knobs["SEC_TOKEN_SYSTEM_DIRECTORY"] = keys, s.path("tokens")
	sign := func(name string) *security.Client {
		key := security.NewSigningKey(name, []byte(name))
		text, err := key.Sign(name, "test", "root@test", 1000)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(keys, name), []byte(name), 0o600))
		token := s.path("token-" + name)
		require.NoError(t, os.WriteFile(token, []byte(text+"\n"), 0o600))
		return &security.Client{
			Name: "TOOL", Timeout: time.Minute, Methods: []security.Method{security.Token},
			Tokens: []string{token},
		}
	}
	old := sign("old")
	s.write()
	d := s.start()
	d.await("cycle 1:")
	poll.Equal(t, 1, func() int { return len(collector.Ads("Negotiator")) })
	text, _ := collector.Ads("Negotiator")[0].Text("MyAddress")
	address, err := cedar.ParseAddress(text)
	require.NoError(t, err)
	const administrates = 60023 // DC_NOP_ADMINISTRATOR
	try := func(c *security.Client) error {
		stream, err := c.Start(context.Background(), address, administrates, nil)
		if err == nil {
			stream.Close()
		}
		return err
	}
	require.NoError(t, try(old))

	fresh := sign("new")
	require.NoError(t, os.Remove(filepath.Join(keys, "old")))
	require.Error(t, try(fresh), "it is not known yet")
	s.knobs["SEC_CLIENT_AUTHENTICATION"] = "SOMETIMES"
	s.write()
	d.reload("nothing is changed: HTCondor's configuration cannot be taken up")
	require.Contains(t, d.log.String(), "SEC_CLIENT_AUTHENTICATION")
	require.NoError(t, try(old))

	delete(s.knobs, "SEC_CLIENT_AUTHENTICATION")
	s.knobs["COLLECTOR_HOST"] = where(collector) + ", " + where(second)
	s.knobs["NEGOTIATOR_INTERVAL"], s.knobs["BACKFILL_CYCLE_DELAY"], s.knobs["BACKFILL_REASONS"] = "1", "2", "false"
	s.knobs["NEGOTIATOR_NAME"], s.knobs["LOWPORT"], s.knobs["BACKFILL_START_SLACK"] = "other", "9000", "5"
	s.write()
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	require.Contains(t, d.await("only a new start changes these knobs, they stay"), `knobs="NEGOTIATOR_NAME, LOWPORT"`)
	require.Contains(t, d.await("only a new start changes these settings, they stay"), "settings=start_slack")
	require.Contains(t, d.await("reloaded:"),
		`changed="interval: 1h0m0s → 1s, cycle_delay: 1s → 2s, reasons: true → false"`)
	for range 3 {
		d.await(" cycle ") // an hour apart they would not come
	}
	s.knobs["BACKFILL_POLICY"], s.knobs["NEGOTIATOR_UPDATE_INTERVAL"] = "nonesuch", "100"
	s.write()
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.await("the configuration is taken up; policy, order, estimates and log level follow")
	require.Contains(t, d.await("policy, order, estimates and log level stay as they are: what is configured "+
		"cannot be taken up"), "nonesuch")
	require.NoError(t, try(fresh))
	require.Error(t, try(old), "nor does a session of before go on")
	poll.Equal(t, 1, func() int { return len(second.Ads("Negotiator")) }) // every collector gets the ad
	name, _ := second.Ads("Negotiator")[0].Text("Name")
	require.Equal(t, "here.test", name)
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, d.end(), &d.log)
	for _, c := range []*fakes.Collector{collector, second} {
		// It is withdrawn everywhere, and nobody answers that.
		poll.Equal(t, 0, func() int { return len(c.Ads("Negotiator")) })
	}
}

// TestUserPrioritiesGoBeforeAPolicysOrder: on a real pool a policy's own order counts only where it
// is chosen.
func TestUserPrioritiesGoBeforeAPolicysOrder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	collector := fakes.NewCollector(t)
	s := newSite(t, map[string]string{
		"COLLECTOR_HOST": strings.Trim(collector.Address().String(), "<>"), "BACKFILL_POLICY": "slack",
		"NEGOTIATOR_INTERVAL": "1", "NEGOTIATOR_UPDATE_INTERVAL": "1",
	})
	d := s.start()
	require.Contains(t, d.await("starting:"), "policy=slack order=fairshare ")
	d.await("cycle 1:")
	published := func(order string) {
		poll.Equal(t, order, func() string {
			for _, ad := range collector.Ads("Negotiator") {
				text, _ := ad.Text("BackfillOrder")
				return text
			}
			return "none"
		})
	}
	published("fairshare")
	for _, next := range [][3]string{
		{"slack", "wfp", "order: fairshare → wfp"},
		{"slack", "", "order: wfp → fairshare"},
		{"pc", "", "policy: slack → pc"},
	} {
		s.knobs["BACKFILL_POLICY"], s.knobs["BACKFILL_ORDER"] = next[0], next[1]
		s.write()
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		require.Contains(t, d.await("reloaded:"), `changed="`+next[2]+`"`)
		published(cmp.Or(next[1], "fairshare"))
	}
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, d.end(), &d.log)
}

// TestBadConfiguration: a wrong configuration ends the command with code 2 before it does anything,
// and the error names the knob.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for knob, values := range map[string][]string{
		"BACKFILL_POLICY": {"nonesuch"}, "BACKFILL_ORDER": {"tallest"}, "BACKFILL_FALLBACK": {"nonesuch"},
		"BACKFILL_PLACEMENT":      {"heap"},
		"BACKFILL_POLICY_OPTIONS": {"depth", "no-such-option=1"}, "BACKFILL_ESTIMATES": {"nonesuch"},
		"BACKFILL_HISTORY":     {"/no/such/file"},
		"BACKFILL_CYCLE_DELAY": {"0", "soon"}, "NEGOTIATOR_INTERVAL": {"0"}, "BACKFILL_HTTP": {"nowhere"},
		"BACKFILL_RESOURCES": {"memory"},
		"BACKFILL_STATE":     {"/proc/no/such/folder"}, "COLLECTOR_HOST": {"a:b", "a:0", ""},
		"SEC_CLIENT_ENCRYPTION": {"SOMETIMES"},
		"CONDOR_IDS":            {"x"}, "GROUP_NAMES": {"a@b"}, "DEFAULT_PRIO_FACTOR": {"much"},
		"MAX_NEGOTIATOR_LOG": {"big"}, "MAX_NUM_NEGOTIATOR_MATCH_LOG": {"some"},
		"NEGOTIATOR_SLOT_CONSTRAINT": {"Cpus >"}, "NEGOTIATOR_JOB_CONSTRAINT": {"a b"},
		"NEGOTIATOR_SUBMITTER_CONSTRAINT": {"Name =="},
		"NEGOTIATOR_PRE_JOB_RANK":         {"Cpus >"}, "NEGOTIATOR_POST_JOB_RANK": {"1 +"},
		"NEGOTIATOR_MATCH_EXPRS": {"a=b"}, "BACKFILL_OTHER_SLOT_CONSTRAINT": {"Cpus >"},
	} {
		for _, value := range values {
			if knob == "CONDOR_IDS" && os.Getuid() != 0 {
				continue
			}
			s := newSite(t, map[string]string{"COLLECTOR_HOST": "127.0.0.1:1"})
			s.knobs[knob] = value
			s.write()
			d := s.start("--once")
			require.Equal(t, 2, d.end(), "%s = %s\n%s", knob, value, &d.log)
			require.Contains(t, d.log.String(), knob, "%s = %s", knob, value)
		}
	}
}
