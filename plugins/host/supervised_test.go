package host

import (
	"errors"
	"os/exec"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A process that was killed may not end, as while it waits for a disk that is gone.
func TestAProcessThatDoesNotEndIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		var left remains
		c := newSupervised(exec.Command("none"), &cell{}, Options{remains: &left}, log.logger(hclog.Info))
		c.refuse(errors.New("it printed no handshake"))
		require.EqualError(t, c.refusal(), "it printed no handshake")
		require.EqualError(t, c.refusal(), "it printed no handshake")
		require.Contains(t, log.String(), "it is left behind: pid=")
		require.EqualValues(t, 1, left.processes.Load(), "it is one process, whoever waited for it")
		close(c.drained)
	})
}

// What is left behind takes memory, threads and pipes for good, and no good decision gives them
// back.
func TestAPluginThatLeavesProcessesBehindIsGivenUp(t *testing.T) {
	b := backOff{limit: 1000}
	for range mostLeft {
		require.NoError(t, b.ready())
		b.failed()
		b.left++
		b.wait = 0
		for range healthy {
			b.succeeded()
		}
	}
	require.ErrorIs(t, b.ready(), backfill.ErrGivenUp)
	require.Equal(t, "given up: 3 of its processes were killed and do not end", b.String())
}
