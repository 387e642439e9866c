package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// A plugin may leave a process behind that holds its standard output open.
func TestAProbeWaitsForNobodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, left := filepath.Join(dir, "plugin"), filepath.Join(dir, "left")
	require.NoError(t, os.WriteFile(path,
		fmt.Appendf(nil, "#!/bin/sh\nsetsid sleep 300 &\necho $! $$ >%s\n", left), 0o700))
	t.Cleanup(func() {
		text, err := os.ReadFile(left)
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.Fields(string(text))[0])
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel() // as at its deadline, after the script has ended by itself
		for script, sleeper := 0, 0; ctx.Err() == nil; {
			time.Sleep(time.Millisecond) //nolint:forbidigo // the script is a process of its own
			text, _ := os.ReadFile(left)
			read, _ := fmt.Sscan(string(text), &sleeper, &script)
			if read == 2 && syscall.Kill(script, 0) != nil {
				return
			}
		}
	}()
	_, err := (&checker{command: host.Command{Path: path}}).dial(ctx)
	require.EqualError(t, err, "it ended before it said where it serves")
}
