//go:build unix

package sdk

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

func TestTheOfferedSocketIsTaken(t *testing.T) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Setenv(wire.ChannelEnv, strconv.Itoa(ends[0]))
	taken, host := takeChannel(), os.NewFile(uintptr(ends[1]), "host")
	require.NotNil(t, taken)
	require.Nil(t, takeChannel(), "it is taken once")
	syscall.CloseOnExec(ends[1])

	// A process that the plugin starts does not hold the session open.
	stays := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, stays.Start())
	_, err = taken.WriteString("hello")
	require.NoError(t, err)
	require.NoError(t, taken.Close())
	heard, err := io.ReadAll(host)
	require.NoError(t, err)
	require.Equal(t, "hello", string(heard))
	require.NoError(t, host.Close())
	require.NoError(t, stays.Process.Kill())
	require.Error(t, stays.Wait())
}

// An offer may have been meant for another process, so that its number belongs to something else,
// which is left alone.
func TestWhatIsNoSocketIsNotTaken(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	for _, offered := range []string{"", "none", "-1", "1000000", strconv.Itoa(int(file.Fd()))} {
		t.Setenv(wire.ChannelEnv, offered)
		require.Nil(t, takeChannel(), offered)
		require.Empty(t, os.Getenv(wire.ChannelEnv))
	}
	require.NoError(t, file.Close())
}
