package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// build makes the plugins that stand beside this package and returns their
// directory.
func build(tb testing.TB) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("builds the plugins")
	}
	dir := tb.TempDir()
	mains, err := filepath.Glob("../" + Prefix + "*")
	require.NoError(tb, err)
	args := []string{"build", "-o", dir}
	for _, main := range mains {
		args = append(args, "./"+main)
	}
	out, err := exec.CommandContext(tb.Context(), "go", args...).CombinedOutput()
	require.NoError(tb, err, string(out))
	return dir
}

func TestBinariesAgree(t *testing.T) {
	dir := build(t)
	t.Setenv("TMPDIR", t.TempDir())
	for _, options := range []Options{{}, {NoChannel: true}, {NoChannel: true, NoMTLS: true}} {
		for _, name := range names() {
			t.Run(name, func(t *testing.T) {
				path, found, err := Find(name, []string{dir})
				require.NoError(t, err)
				require.True(t, found)
				remote := started(t, Command{Path: path}, options)
				runBeside(t, 9, 100, newHost(t, "sjf", linked(t, named(t, name))), newHost(t, "sjf", remote))
			})
		}
	}
	byHand := exec.CommandContext(t.Context(), filepath.Join(dir, "backfill-easy"))
	out, err := byHand.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "This binary is a plugin")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "the sockets and their directories are removed")
}

// The policy in the README is a policy.
func TestTheReadmesPolicyRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, []byte(code), 0o600))
	binary := filepath.Join(t.TempDir(), Prefix+"narrow")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, string(out))
	host, g := newHost(t, "fcfs", started(t, Command{Path: binary}, Options{})), newScenario(2)
	started := 0
	for range 50 {
		d, err := host.Decide(t.Context(), g.next(host.State))
		require.NoError(t, err)
		started += len(d.Started)
	}
	require.Empty(t, host.refusals)
	require.NotZero(t, started)
}
