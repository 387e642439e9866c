//go:build unix

package host

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onPipes returns the host's ends of the pipes that a plugin is offered, and the plugin's.
func onPipes(t *testing.T) (ours io.ReadWriteCloser, in, out *os.File) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "plugin")
	ours, _, err := offerChannel(cmd)
	require.NoError(t, err)
	in, out = cmd.ExtraFiles[0], cmd.ExtraFiles[1]
	t.Cleanup(func() { _, _, _ = ours.Close(), in.Close(), out.Close() })
	return ours, in, out
}

// The pipes hold 64 KiB, so that a writer of more waits for the reader, however slow.
func TestPipesCarryMoreThanTheyHold(t *testing.T) {
	t.Parallel()
	ours, in, out := onPipes(t)
	go func() { // returns what it reads
		part := make([]byte, 100_000)
		for n, err := in.Read(part); err == nil; n, err = in.Read(part) {
			_, _ = out.Write(part[:n])
		}
		_ = out.Close()
	}()
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	heard := make(chan []byte)
	go func() {
		got, _ := io.ReadAll(io.LimitReader(ours, int64(len(sent))))
		heard <- got
	}()
	n, err := ours.Write(sent)
	require.NoError(t, err)
	require.Equal(t, len(sent), n)
	require.Equal(t, sent, <-heard)
}

// A plugin that neither reads nor answers does not hold the host up, also where another process has its
// ends of the pipes.
func TestAQuestionOnPipesEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]int{"while it is sent": 1 << 20, "while its answer is awaited": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, in, _ := onPipes(t)
			s := &session{transport: newPiped(ours), end: func(bool) {}}
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				_, _ = in.Read(make([]byte, 1)) // the host is at it
				cancel(context.DeadlineExceeded)
			}()
			_, err := s.ask(ctx, configuring(strings.Repeat("x", length)))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = s.ask(t.Context(), configuring("again"))
			require.ErrorIs(t, err, os.ErrClosed)
		})
	}
}

func TestTheEndOfAPluginEndsItsPipes(t *testing.T) {
	t.Parallel()
	ours, in, out := onPipes(t)
	_, err := out.WriteString("last words")
	require.NoError(t, err)
	require.NoError(t, in.Close())
	time.AfterFunc(time.Millisecond, func() { _ = out.Close() })
	heard, err := io.ReadAll(ours)
	require.NoError(t, err)
	require.Equal(t, "last words", string(heard))
	_, err = ours.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
}

// No other process inherits the host's ends or those that are offered, except the plugin.
func TestPipesAreInheritedByThePluginAlone(t *testing.T) {
	t.Parallel()
	ours, in, out := onPipes(t)
	own, piped := ours.(*pipes)
	require.True(t, piped)
	for _, end := range []*os.File{own.in, own.out, in, out} {
		flags, err := unix.FcntlInt(end.Fd(), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.NotZero(t, flags&unix.FD_CLOEXEC)
	}
}
