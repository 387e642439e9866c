package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/plugins/check"
	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

// rawArg is the argument that makes the tests' executable a plugin that the sdk would not serve.
const rawArg = "raw"

// The tests' executable is its own plugin.
func TestMain(m *testing.M) {
	serve.IfChild(os.Args[1:], append(policies.All(), bad()...))
	if len(os.Args) == 3 && os.Args[1] == rawArg {
		serveRaw(os.Args[2])
		os.Exit(0)
	}
	code, err := withoutSockets(m)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withoutSockets runs the tests and fails if a plugin's socket is left.
func withoutSockets(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "check")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err = os.Setenv("TMPDIR", dir); err != nil {
		return 1, err
	}
	code := m.Run()
	left, err := os.ReadDir(dir)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%v is left in the folder of sockets", left)
	}
	return code, errors.Join(err, goleak.Find())
}

// checked returns the report on a policy of this executable.
func checked(t *testing.T, command host.Command, options check.Options) *check.Report {
	t.Helper()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	options.Quick, options.Clock = true, time.Now //nolint:forbidigo // what is timed is not looked at
	report, err := check.Run(t.Context(), command, options.Small())
	require.NoError(t, err)
	return report
}

func self(t *testing.T, policy string) host.Command {
	t.Helper()
	command, err := host.Self(policy)
	require.NoError(t, err)
	return command
}

// needed are the checks whose results a check goes on from.
//
//nolint:gochecknoglobals // a table
var needed = map[string][]string{
	"advice": {"conformance"}, "memory-less": {"determinism"}, "branches": {"determinism"},
}

// By default each mistake meets the check that is meant for it, after those without which that check
// knows nothing of the plugin. With -thorough it meets all checks, and the others must not fail.
func TestEachMistakeIsFoundByTheCheckMeantForIt(t *testing.T) {
	own := func(name string) host.Command { return self(t, name) }
	raw := func(what string) host.Command {
		command := self(t, what)
		command.Args = []string{rawArg, what}
		return command
	}
	for _, c := range []struct {
		plugin  host.Command
		check   string
		verdict check.Verdict
		seen    string
		do      string
	}{
		{own("dice"), "determinism", check.Failed, "in one run and", ""},
		{own("clock"), "determinism", check.Failed, "in one run and", ""},
		{own("remembers"), "memory-less", check.Failed, "in one run and", ""},
		{own("confuses-branches"), "branches", check.Failed, "a what-if in pool", ""},
		{own("idles"), "advice", check.Warning, "waits for good", ""},
		{own("starves"), "advice", check.Warning, "waits for good", ""},
		{own("panics"), "conformance", check.Failed, "panicked: on purpose", ""},
		{own("always-panics"), "conformance", check.Failed, "panicked: in every round", "mend the panic"},
		{own("crashes"), "conformance", check.Failed, "the session broke", ""},
		{own("hangs"), "conformance", check.Failed, "no decision within 3s", ""},
		{own("slow"), "latency", check.Failed, "with 1 slot and 1000 waiting jobs: no decision within 3s", ""},
		{own("oversubscribes"), "conformance", check.Failed, "does not count", ""},
		{own("replans"), "conformance", check.Failed, "was promised to start at", ""},
		{own("refuses"), "options", check.Failed, "refuses its own defaults: no", ""},
		{own("untaken"), "conformance", check.Failed, "events of the round have not been taken", "scan.Begin"},
		{own("impatient"), "conformance", check.Failed, "it may not start before", "Cycle.Queue"},
		{own("undue"), "conformance", check.Failed, "was not started", "Cycle.Due"},
		{own("unplaced"), "conformance", check.Failed, "left without a reservation", "Displaced"},
		{own("unpromised"), "conformance", check.Failed, "was given no guarantee", "Cycle.Guarantee"},
		{own("nil"), "options", check.Failed, "policy nil: New made no policy", "New"},
		{raw("plain"), "handshake", check.Failed, "only works unencrypted", "mtls: off"},
		{raw("nonsense"), "describe", check.Failed, "name", ""},
		{
			raw("disorder"), "describe", check.Failed,
			`policy disorder: its order: unknown order "tallest"`, "built into the host",
		},
		{raw("orphan"), "end", check.Failed, "after its host had vanished it still ran", ""},
	} {
		t.Run(c.plugin.Args[1], func(t *testing.T) {
			t.Parallel()
			// Making keys takes longer than everything else here.
			options := check.Options{NoMTLS: c.check != "handshake"}
			if strings.Contains(c.seen, "within") {
				options.Deadline = 3 * time.Second
			}
			if !thorough.On() {
				options = options.Only(append([]string{"handshake", "describe", "options", c.check}, needed[c.check]...)...)
			}
			report, found := checked(t, c.plugin, options), false
			require.Equal(t, c.verdict == check.Warning, report.Passed)
			if thorough.On() {
				require.Len(t, report.Checks, 11)
			}
			for i, k := range report.Checks {
				require.Equal(t, i+1, k.Number)
				require.NotEmpty(t, k.Seen)
				if k.Name != c.check {
					require.Contains(t, []check.Verdict{check.Passed, check.Skipped, check.Inconclusive}, k.Verdict,
						"%s: %s", k.Name, k.Seen)
					continue
				}
				found = true
				require.Equal(t, c.verdict, k.Verdict, k.Seen)
				require.Contains(t, k.Seen, c.seen)
				require.NotEmpty(t, k.Do)
				require.Contains(t, k.Do, c.do)
				if c.plugin.Args[1] == "crashes" {
					require.Contains(t, strings.Join(k.Log, "\n"), "panic: these are the last words")
				}
			}
			require.True(t, found, "its check was not run")
		})
	}
}

// What the fallback decides says nothing about the policy.
func TestTheFallbacksDecisionsProveNothing(t *testing.T) {
	t.Parallel()
	for _, k := range checked(t, self(t, "always-panics"), check.Options{NoMTLS: true}).Checks {
		switch k.Name {
		case "handshake", "describe", "options", "end": // they rest on no decision
			require.Equal(t, check.Passed, k.Verdict, "%s: %s", k.Name, k.Seen)
		case "conformance":
			require.Equal(t, check.Failed, k.Verdict, k.Seen)
		case "advice":
			require.Equal(t, check.Inconclusive, k.Verdict, k.Seen)
			require.Contains(t, k.Seen, "a decision did not count in 3 of 3 pools")
		default:
			require.Equal(t, check.Inconclusive, k.Verdict, "%s: %s", k.Name, k.Seen)
			require.Regexp(t, `the fallback decided [1-9]\d* of \d+ rounds.*panicked: in every round`, k.Seen, k.Name)
		}
	}
}

func TestGoodPoliciesPass(t *testing.T) {
	for _, name := range []string{"easy", "conservative", "maui"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := checked(t, self(t, name), check.Options{NoMTLS: name != "maui", Seed: 1 << 40})
			for _, k := range report.Checks {
				require.Equal(t, check.Passed, k.Verdict, "%s: %s", k.Name, k.Seen)
			}
			require.True(t, report.Passed)
			require.Zero(t, report.Failed())
			require.Len(t, report.Latency, 6)
			require.NotNil(t, report.Resync)
			text, err := json.Marshal(report)
			require.NoError(t, err)
			var again check.Report
			require.NoError(t, json.Unmarshal(text, &again))
			require.Equal(t, *report, again)
		})
	}
}

// The vanishing host first starts a session, however slowly it is answered.
func TestWhoEndsWithItsSessionPasses(t *testing.T) {
	t.Parallel()
	command := self(t, "slow-to-begin")
	command.Args = []string{rawArg, "slow-to-begin"}
	for _, k := range checked(t, command, check.Options{NoMTLS: true}).Checks {
		require.Equal(t, check.Passed, k.Verdict, "%s: %s", k.Name, k.Seen)
	}
}

func TestWhatHasNoVerdict(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	//nolint:forbidigo // what is timed is not looked at
	options := check.Options{Quick: true, NoMTLS: true, Clock: time.Now}
	script := filepath.Join(t.TempDir(), "backfill-script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho hello\n"), 0o700)) //nolint:gosec // it is to be run
	_, err := check.Run(t.Context(), host.Command{Path: script}, options)
	require.ErrorIs(t, err, host.ErrNotPlugin)

	wrong := options
	wrong.Policy = map[string]string{"depth": "none"}
	_, err = check.Run(t.Context(), self(t, "easy"), wrong)
	require.ErrorAs(t, err, new(*check.OptionsError))
	require.ErrorContains(t, err, "depth")
	_, err = check.Run(t.Context(), self(t, "refuses"), wrong)
	require.NoError(t, err, "it refuses its defaults as well")

	for _, at := range []string{
		"handshake", "describe", "options", "conformance", "determinism", "memory-less",
		"branches", "restart", "end", "latency",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		stopped := options
		stopped.Progress = func(check string, _ float64) {
			if check == at {
				cancel()
			}
		}
		_, err = check.Run(ctx, self(t, "easy"), stopped.Small())
		require.ErrorIs(t, err, context.Canceled, at)
	}
}

// A verdict stands even if the mistake makes later checks fail to run.
func TestAFailureIsNotLostByALaterError(t *testing.T) {
	down := errors.New("fallback policy easy failed as well")
	got, err := check.After(t.Context(), check.Failed, down)
	require.NoError(t, err)
	require.Equal(t, check.Skipped, got.Verdict)
	require.Contains(t, got.Seen, "fallback policy easy failed as well")
	_, err = check.After(t.Context(), check.Passed, down)
	require.ErrorIs(t, err, down)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = check.After(ended, check.Failed, context.Canceled)
	require.ErrorIs(t, err, context.Canceled)
}
