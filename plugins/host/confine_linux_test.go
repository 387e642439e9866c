package host

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// environmentOf returns the names of the variables with which a process was started.
func environmentOf(t *testing.T, pid int) (names []string) {
	t.Helper()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	for entry := range bytes.SplitSeq(bytes.TrimRight(environ, "\x00"), []byte{0}) {
		name, _, _ := strings.Cut(string(entry), "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestAPluginGetsFewVariables: neither a secret of the host's environment nor anything else that is
// not named reaches a plugin or its guard.
func TestAPluginGetsFewVariables(t *testing.T) {
	for name, value := range map[string]string{
		"CONDOR_PRIVATE_INHERIT": "secret", "AWS_SECRET_ACCESS_KEY": "secret", "SITE_LICENSE": "1", "LC_ALL": "C", "TZ": "UTC",
	} {
		t.Setenv(name, value)
	}
	remote := child(t, "easy", Options{Environment: []string{"SITE_LICENSE", "NOT_SET"}})
	names := environmentOf(t, remote.Stats().PID)
	require.Subset(t, names, []string{"LC_ALL", "PATH", "SITE_LICENSE", "TZ"})
	for _, name := range names {
		known := slices.Contains(append(passed, "SITE_LICENSE"), name) || strings.HasPrefix(name, "LC_")
		require.True(t, known || strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "CONDOR_BACKFILL_"), name)
	}
	guards := 0
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, fmt.Appendf(nil, "\x00guard of %d\x00", remote.Stats().PID)) {
			guards++
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			require.NotContains(t, environmentOf(t, pid), "CONDOR_PRIVATE_INHERIT")
		}
	}
	require.Equal(t, 1, guards)
	require.Len(t, group(remote.Stats().PID), 1, "its guard has a group of its own")
}

// TestTheCheckedFileIsTheOneThatRuns swaps files between the check and the start.
func TestTheCheckedFileIsTheOneThatRuns(t *testing.T) {
	executable, err := os.ReadFile("/bin/echo")
	require.NoError(t, err)
	for name, text := range map[string]string{"script": "#!/bin/sh\necho good\n", "program": string(executable)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, filepath.Join(dir, "plugin"), text, 0o755)
			sum := sha256.Sum256([]byte(text))
			cmd, release, err := Command{Path: path, Args: []string{"good"}, SHA256: sum[:]}.prepare()
			require.NoError(t, err)
			defer release()
			evil := write(t, filepath.Join(dir, "evil"), "#!/bin/sh\necho evil\n", 0o755)
			require.NoError(t, os.Rename(evil, path))
			said, err := cmd.CombinedOutput()
			require.NoError(t, err, string(said))
			require.Equal(t, "good\n", string(said))
			require.Equal(t, path, cmd.Args[0])
		})
	}
}

// TestABombIsEnded: a plugin that starts processes without end is ended, with all of them.
func TestABombIsEnded(t *testing.T) {
	for _, how := range []string{"bomb", "hidden bomb"} {
		t.Run(how, func(t *testing.T) {
			if how == "hidden bomb" && namespaces() == 0 {
				t.Skip("what leaves its group is lost here")
			}
			endsBomb(t, how)
		})
	}
}

func endsBomb(t *testing.T, how string) {
	t.Helper()
	a := newAdversary(t, "decide", how, "plugin-serve", "bad")
	remote, err := a.start(t, Options{Processes: 40})
	require.NoError(t, err)
	refusals := runThroughTrouble(t, remote, 0, nothingHappens)
	remote.Close()
	require.Len(t, refusals, 1)
	require.Contains(t, a.log.String(), "it has more processes and threads than it may")
	require.Contains(t, a.log.String(), "limit=40")
	require.Equal(t, 2, remote.Stats().Starts)
}
