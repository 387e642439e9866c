package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// marked runs a program with temporary files in a folder of its own, as its plugins have theirs below
// that, and requires that no process is left that knows the folder.
func marked(t *testing.T, program string, args ...string) (printed, log string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, program), args...)
	dir, err := os.MkdirTemp("", "auto") //nolint:usetesting // short, as sockets are below it
	require.NoError(t, err)
	defer os.RemoveAll(dir)                   //nolint:errcheck // a temporary folder
	require.NoError(t, os.Chmod(dir, 0o1777)) // plugins of root run as nobody
	mark := "TMPDIR=" + dir
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), mark), &stderr
	out, _ := cmd.Output()
	require.NotNil(t, cmd.ProcessState, "it started")
	requireNone(t, mark)
	return string(out), stderr.String(), cmd.ProcessState.ExitCode()
}

// TestAutoWithPlugins: a pool that chooses among policies in processes of their own chooses the same,
// byte for byte, as one whose policies are linked in; and no process is left.
func TestAutoWithPlugins(t *testing.T) {
	options := []string{
		"--policy", "auto", "--policy-opt", "portfolio=easy:fcfs easy:sjf slack:sjf", "--policy-opt", "work=0", "--json",
		"--policy-opt", "gain=0.01",
	}
	for program, args := range map[string][]string{
		"condorsim":  {"run", "lublin-128", "--jobs", "400", "--log-level", "debug"},
		"negotiator": {"run", "--speed", "max", "--log-level", "debug", "--policy-opt", "every=60"},
	} {
		args = append(args, options...)
		want, log, code := marked(t, program, args...)
		require.Zero(t, code, log)
		require.Regexp(t, `"changes": [1-9]`, want)
		require.NotContains(t, log, "backfill-easy")
		dirs := []string{"--plugin-dir", pluginDir()}
		got, log, code := marked(t, program, append(args, dirs...)...)
		require.Zero(t, code, log)
		require.Equal(t, want, got)
		require.Contains(t, log, "backfill-easy", "the plugins were started")
	}
}

// TestAutoWithACrashingPlugin: a candidate that crashes when it is played ahead is told once and never
// chosen, the run goes on, and no process is left; nor is one where it is the base.
func TestAutoWithACrashingPlugin(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "backfill-exits")
	require.NoError(t, os.Symlink(self, bad))
	for program, args := range map[string][]string{
		"condorsim": {"run", "lublin-128", "--jobs", "400"}, "negotiator": {"run", "--speed", "max"},
	} {
		args = append(args, "--policy", "auto", "--policy-opt", "work=0", "--policy-opt", "every=60", "--json",
			"--policy-opt")
		printed, log, code := marked(t, program, append(args, "portfolio=easy:fcfs easy:sjf "+bad)...)
		require.Zero(t, code, log)
		require.NotContains(t, printed, "refused")
		require.Contains(t, printed, `"left_out": true`)
		const left = "a candidate is left out from now on, as it failed when it was played ahead"
		require.Equal(t, 1, strings.Count(log, left), log)
		require.Contains(t, log, "exit status 7")

		printed, log, _ = marked(t, program, append(args, "portfolio="+bad+" easy:sjf")...)
		require.LessOrEqual(t, strings.Count(log, left), 1, log)
		require.Contains(t, printed, `"name": "easy:sjf"`)
	}
}
