package host

import (
	"os"
	"os/exec"
	"path/filepath"
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
