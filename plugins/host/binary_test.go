package host

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestABinaryAgrees compares a real binary with the linked-in policy over every kind of connection.
// It is called by a link, and then by its file, which must have a sum, under the name of the link.
func TestABinaryAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	const name = "conservative"
	dir := t.TempDir()
	binary := filepath.Join(dir, "policy-plugins")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", binary,
		"../cmd/policy-plugins").CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.CommandContext(t.Context(), binary, "link", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(binary)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	t.Setenv("TMPDIR", t.TempDir())
	for _, options := range []Options{{}, {NoChannel: true}, {NoChannel: true, NoMTLS: true}} {
		t.Run(fmt.Sprintf("no channel %t, no mTLS %t", options.NoChannel, options.NoMTLS), func(t *testing.T) {
			path, found, failure := Find(name, []string{dir})
			require.NoError(t, failure)
			require.True(t, found)
			command := Command{Path: path}
			if options.NoMTLS {
				command = Command{Path: binary, As: path, SHA256: sum[:]}
			}
			remote := started(t, command, options)
			runBeside(t, 9, 100, newHost(t, "sjf", linked(t, named(t, name))), newHost(t, "sjf", remote))
		})
	}
	byHand := exec.CommandContext(t.Context(), filepath.Join(dir, Prefix+name))
	out, err = byHand.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "This binary is a plugin")
	out, err = exec.CommandContext(t.Context(), filepath.Join(dir, Prefix+name), "--version").Output()
	require.NoError(t, err)
	require.Regexp(t, `^backfill-conservative \S.*\n  commit   .*\n  date     .*\n  go       go1.*\n  plugins  policyv1\n$`,
		string(out))
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "the sockets and their directories are removed")
}
