package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

func TestAKilledProcessIsReplaced(t *testing.T) {
	remote := child(t, "easy", Options{})
	before := remote.Stats().PID
	require.Len(t, runThroughTrouble(t, remote, 0, func() { send(t, before, syscall.SIGKILL, gone) }), 1)
	require.NotEqual(t, before, remote.Stats().PID)
	require.ErrorIs(t, syscall.Kill(before, 0), syscall.ESRCH, "nothing is left of it")
}

// TestAPluginIgnoresAHangup: a signal by the name of the host's program reaches its plugins, too,
// and asks only the host to reload.
func TestAPluginIgnoresAHangup(t *testing.T) {
	remote := child(t, "easy", Options{})
	before := remote.Stats().PID
	taken := func(int) bool { return true } // a signal that is ignored never gets there
	require.Empty(t, runThroughTrouble(t, remote, 0, func() { send(t, before, syscall.SIGHUP, taken) }))
	require.Equal(t, before, remote.Stats().PID)
}

// A socket's path may have about a hundred letters and no more.
func TestATemporaryDirectoryMayBeFarAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("far", 30))
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Setenv("TMPDIR", dir)
	child(t, "easy", Options{})
}

func TestAHostThatCannotStartAPluginDoesNotBlameIt(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	command, err := Self("easy")
	require.NoError(t, err)
	_, err = Start(t.Context(), command, Options{})
	require.ErrorContains(t, err, "start "+command.Path+": make a directory for the plugin's socket: ")
	require.NotErrorIs(t, err, ErrNotPlugin)
}

// A stopped process must not delay the host.
func TestAStoppedProcessIsReplaced(t *testing.T) {
	remote := child(t, "easy", Options{})
	stop := func() { send(t, remote.Stats().PID, syscall.SIGSTOP, stopped) }
	require.Len(t, runThroughTrouble(t, remote, 200*time.Millisecond, stop), 1)
}

func TestCloseEndsAStoppedProcess(t *testing.T) {
	remote := child(t, "easy", Options{})
	pid := remote.Stats().PID
	send(t, pid, syscall.SIGSTOP, stopped)
	remote.Close()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	remote.Close()
	c, err := newPool().Open(backfill.Round{})
	require.NoError(t, err)
	require.ErrorContains(t, remote.Decide(t.Context(), c), "it was closed")
}

func TestNothingOutlivesAKilledHost(t *testing.T) {
	for name, test := range map[string]struct {
		when, how string
		args      []string
		started   int // processes with the mark, including the host and the guard
	}{
		"idle":    {args: []string{"plugin-serve", "bad"}, started: 3},
		"hanging": {when: "decide", how: "hang", args: []string{"plugin-serve", "bad"}, started: 3},
		"unready": {when: "start", how: "hang", args: []string{"plugin-serve", "bad"}, started: 3},
		"deaf":    {when: "start", how: "deaf", args: []string{"plugin-serve", "bad"}, started: 3},
		"foreign": {args: []string{foreign}, started: 3},
		"leaving": {when: "start", how: "leave and hang", args: []string{"plugin-serve", "bad"}, started: 4},
		"with a child that left": {
			when: "decide", how: "escape and stay", args: []string{"plugin-serve", "bad"}, started: 4,
		},
		"with a child": {when: "decide", how: "fork and stay", args: []string{"plugin-serve", "bad"}, started: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.how == "escape and stay" && namespaces() == 0 {
				t.Skip("what leaves its group is lost here")
			}
			a := newAdversary(t, test.when, test.how)
			sockets := t.TempDir()
			host := exec.CommandContext(t.Context(), a.command.Path,
				append([]string{killedHost, a.command.Path}, test.args...)...)
			host.Env = append(append(os.Environ(), a.command.Env...), "TMPDIR="+sockets)
			out, err := host.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, host.Start())
			if strings.HasSuffix(test.how, "hang") {
				poll.Equal(t, nil, func() error { _, absent := os.Stat(a.file); return absent })
			} else {
				var said string
				_, err = fmt.Fscan(out, &said)
				require.NoError(t, err)
			}
			poll.Equal(t, test.started, func() int { return len(a.processes(t)) })
			require.NoError(t, host.Process.Kill())
			require.Error(t, host.Wait())
			poll.Equal(t, 0, func() int { return len(a.processes(t)) })
			left, err := os.ReadDir(sockets)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestOthersEndsAreTheirs: whoever started a process learns of its end, also if a plugin is started by
// the same thread later: a plugin's thread takes notice of all that it started.
func TestOthersEndsAreTheirs(t *testing.T) {
	others := make([]*exec.Cmd, 20)
	var starting, all sync.WaitGroup
	all.Add(len(others))
	failed := make([]error, len(others))
	for i := range others {
		others[i] = exec.Command("/bin/cat")
		input, err := others[i].StdinPipe()
		require.NoError(t, err)
		defer input.Close() //nolint:errcheck // it ends the process
		starting.Go(func() {
			runtime.LockOSThread() // each is started by another thread
			defer runtime.UnlockOSThread()
			failed[i] = others[i].Start()
			all.Done()
			all.Wait()
		})
	}
	starting.Wait()
	require.NoError(t, errors.Join(failed...))
	for _, other := range others {
		remote := child(t, "easy", Options{})
		require.NoError(t, other.Process.Kill())
		remote.Close()
		var exit *exec.ExitError
		require.ErrorAs(t, other.Wait(), &exit)
	}
}

// send sends a signal and waits for its effect.
func send(t *testing.T, pid int, s syscall.Signal, done func(pid int) bool) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, s))
	poll.Until(t, "what a signal does", func() (stat string, so bool) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return string(text), done(pid)
	})
}

// stopped reports whether all threads of a process are stopped.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return err == nil && !slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && !strings.Contains(string(stat), ") T ")
	})
}

// gone reports whether a process has ended; its new parent may not have reaped it yet.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
