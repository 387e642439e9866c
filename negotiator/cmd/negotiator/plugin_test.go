package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/plugins/check"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the expected files")

// greedy is a policy that starts every job, whether there is room or not.
func greedy() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "greedy", Doc: "starts everything",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				for _, more := c.Next(); more; {
					_, more = c.Next()
				}
				for j := range c.Queue() {
					c.Start(j, backfill.Placement{{Slot: 0, Count: j.Nodes}})
				}
			}), nil
		},
	}
}

// TestVerdict compares the reports about a good and a bad plugin with files. By its clock
// everything takes the same time.
func TestVerdict(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	var text strings.Builder
	for _, name := range []string{"conservative", "greedy"} {
		command, err := host.Self(name)
		require.NoError(t, err)
		var now time.Time
		report, err := check.Run(t.Context(), command,
			check.Options{Quick: true, Seed: 7, NoMTLS: name == "greedy", Clock: func() time.Time {
				now = now.Add(50 * time.Millisecond) // so that ten decisions are enough
				return now
			}})
		require.NoError(t, err)
		report.Plugin = "/home/somebody/backfill-" + name
		cmd := pluginCheck{
			Binary: "./backfill-" + name, Quick: true, Seed: 7, MTLS: "auto", Deadline: time.Minute,
			PolicyOpt: map[string]string{"b": "2", "a": "1"},
		}
		_, _ = fmt.Fprintf(&text, "%s\n", report.Text(cmd.again))
	}
	const path = "testdata/verdict.txt"
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, "│") {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
		}
	}
}

// TestAnInterruptEndsTheCheck requires that no process is left.
func TestAnInterruptEndsTheCheck(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "backfill-wrapped")
	self, err := host.Self("easy")
	require.NoError(t, err)
	script := fmt.Sprintf("#!/bin/sh\nexec %q plugin-serve easy\n", program(t, self, plugin))
	require.NoError(t, os.WriteFile(plugin, []byte(script), 0o700)) //nolint:gosec // it is to be run
	cmd, stdout, stderr := launched(t, "plugin", "check", plugin)
	require.NoError(t, cmd.Start())
	children := poll.Until(t, "its process", func() (found []int, ok bool) {
		found = plugins(t, cmd.Process.Pid)
		return found, len(found) > 0
	})
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, code(t, cmd.Wait()))
	require.Empty(t, stdout.String())
	require.Equal(t, "negotiator: interrupted\n", stderr.String())
	for _, child := range children {
		require.ErrorIs(t, syscall.Kill(child, 0), syscall.ESRCH)
	}
}
