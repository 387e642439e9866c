package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestAKilledProcessIsReplaced(t *testing.T) {
	remote := child(t, "easy", Options{})
	before := remote.Stats().PID
	require.Len(t, runThroughTrouble(t, remote, 0, func() { send(t, before, syscall.SIGKILL, gone) }), 1)
	require.NotEqual(t, before, remote.Stats().PID)
	require.ErrorIs(t, syscall.Kill(before, 0), syscall.ESRCH, "nothing is left of it")
}

// A process that does not even run any more must not keep the host.
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

// send sends a signal, which takes its time, and waits for what it brings.
func send(t *testing.T, pid int, s syscall.Signal, done func(pid int) bool) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, s))
	await(t, pid, done)
}

func await(t *testing.T, pid int, done func(pid int) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return done(pid) }, 10*time.Second, time.Millisecond)
}

// stopped reports whether all threads of a process are.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return err == nil && !slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && !strings.Contains(string(stat), ") T ")
	})
}

// gone reports whether a process has ended; whoever inherits it may not have
// taken notice yet.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
