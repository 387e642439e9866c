//go:build unix

package sdk

import (
	"fmt"
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

func TestTheOfferedPipesAreTaken(t *testing.T) {
	var questions, answers [2]int
	require.NoError(t, syscall.Pipe(questions[:]))
	require.NoError(t, syscall.Pipe(answers[:]))
	for _, ours := range []int{questions[1], answers[0]} {
		syscall.CloseOnExec(ours)
	}
	asks, hears := os.NewFile(uintptr(questions[1]), "questions"), os.NewFile(uintptr(answers[0]), "answers")
	t.Setenv(wire.ChannelEnv, fmt.Sprintf("%d,%d", questions[0], answers[1]))
	taken := takeChannel()
	require.NotNil(t, taken)
	require.Nil(t, takeChannel(), "they are taken once")

	// A process that the plugin starts does not hold the session open.
	stays := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, stays.Start())
	_, err := asks.WriteString("hello")
	require.NoError(t, err)
	require.NoError(t, asks.Close())
	heard, err := io.ReadAll(taken)
	require.NoError(t, err)
	require.Equal(t, "hello", string(heard))
	_, err = taken.Write(heard)
	require.NoError(t, err)
	require.NoError(t, taken.Close())
	heard, err = io.ReadAll(hears)
	require.NoError(t, err)
	require.Equal(t, "hello", string(heard))
	require.NoError(t, hears.Close())
	require.NoError(t, stays.Process.Kill())
	require.Error(t, stays.Wait())
}

// An offer may have been meant for another process, so that its numbers belong to something else,
// which is left alone.
func TestWhatIsNoPipeIsNotTaken(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	var pipe [2]int
	require.NoError(t, syscall.Pipe(pipe[:]))
	for _, offered := range []string{
		"", ",", "none", "-1", "-1,-1", "1000000,1000001", strconv.Itoa(pipe[0]),
		fmt.Sprintf("%d,%d", pipe[0], file.Fd()), fmt.Sprintf("%d,%d", file.Fd(), pipe[1]),
	} {
		t.Setenv(wire.ChannelEnv, offered)
		require.Nil(t, takeChannel(), offered)
		require.Empty(t, os.Getenv(wire.ChannelEnv))
	}
	require.NoError(t, file.Close())
	for _, end := range pipe {
		require.NoError(t, syscall.Close(end))
	}
}
