package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestABinaryAgrees compares a real binary with the linked-in policy over every kind of connection.
// The mains of other policies are alike, so the tests' executable serves those.
func TestABinaryAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	const name = "conservative"
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", dir,
		"../"+Prefix+name).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("TMPDIR", t.TempDir())
	for _, options := range []Options{{}, {NoChannel: true}, {NoChannel: true, NoMTLS: true}} {
		t.Run(fmt.Sprintf("no channel %t, no mTLS %t", options.NoChannel, options.NoMTLS), func(t *testing.T) {
			path, found, failure := Find(name, []string{dir})
			require.NoError(t, failure)
			require.True(t, found)
			remote := started(t, Command{Path: path}, options)
			runBeside(t, 9, 100, newHost(t, "sjf", linked(t, named(t, name))), newHost(t, "sjf", remote))
		})
	}
	byHand := exec.CommandContext(t.Context(), filepath.Join(dir, Prefix+name))
	out, err = byHand.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "This binary is a plugin")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "the sockets and their directories are removed")
}
