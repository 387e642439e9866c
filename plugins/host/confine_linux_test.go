package host

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestLimitsComeFirst: a plugin does nothing before it is limited, however long that takes, so that
// all that it starts has its limits.
func TestLimitsComeFirst(t *testing.T) {
	if !haltable() {
		t.Skip("this system does not let a process be traced")
	}
	script := write(t, filepath.Join(t.TempDir(), "plugin"), "#!/bin/sh\nulimit -n; (ulimit -c; ulimit -d)\n", 0o755)
	for _, user := range []string{"", Nobody} {
		t.Run("user "+user, func(t *testing.T) {
			c, err := newCell(script, Options{User: user})
			require.NoError(t, err)
			defer c.remove()
			read, written, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close() //nolint:errcheck // it was only read
			cmd := exec.Command(script)
			cmd.Stdout = written
			onOwnThread(func() {
				if err = c.start(cmd); err != nil {
					return
				}
				time.Sleep(short) // enough for the script, if it ran
				lacking, failed := limit(c.who, cmd.Process.Pid, 64<<20, 0)
				err = errors.Join(lacking, failed, await(cmd))
			})
			require.NoError(t, errors.Join(err, written.Close()))
			said, err := io.ReadAll(read)
			require.NoError(t, err)
			require.Equal(t, "128\n0\n65536\n", string(said))
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
