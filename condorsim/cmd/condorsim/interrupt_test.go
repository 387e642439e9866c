package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// An interrupt ends any command at any point, and leaves nothing behind.
func TestInterruptedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, c := range []struct {
		args   string
		signal os.Signal
	}{
		{"workload info pipe", os.Interrupt},
		{"workload clean pipe --out out.swf.gz", syscall.SIGTERM},
		{"workload convert pipe --out out.swf", os.Interrupt},
		{"workload merge pipe pipe --out out.json", os.Interrupt},
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)) // nobody writes to it
			cmd := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(c.args)...)
			var stderr bytes.Buffer
			cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), asCommand+"=1"), &stderr
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			pipe, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_WRONLY, 0) // opens once it is read
			require.NoError(t, err)
			defer pipe.Close() //nolint:errcheck // a test's
			require.NoError(t, cmd.Process.Signal(c.signal))
			select {
			case err = <-ended:
			case <-time.After(poll.Patience):
				_, _ = cmd.Process.Kill(), <-ended
				require.Fail(t, "it goes on", "%s", &stderr)
			}
			require.Equal(t, 130, code(t, err), "%s", &stderr)
			require.Equal(t, "condorsim: interrupted\n", stderr.String())
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 1, "the pipe: %v", left)
		})
	}
}

// A pipe can be read only once.
func TestFromAPipe(t *testing.T) {
	for _, file := range []string{"small.swf", "small.swf.gz"} {
		cmd, stdout, stderr := launched(t, "--workload", "/dev/stdin", "--json")
		text, err := os.Open(filepath.Join(cmd.Dir, file))
		require.NoError(t, err)
		defer text.Close()               //nolint:errcheck // a test's
		cmd.Stdin = io.MultiReader(text) // no file, so that there is a pipe
		require.NoError(t, cmd.Run(), "%s", stderr)
		require.Contains(t, stdout.String(), `"jobs": 2`)
	}
}
