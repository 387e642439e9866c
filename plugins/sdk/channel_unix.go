//go:build unix

package sdk

import (
	"os"
	"strconv"
	"syscall"

	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
)

// takeChannel takes the socket that the host offers for the session; nil if it
// offers none. What this process starts neither inherits nor hears of it.
func takeChannel() *os.File {
	offered, err := strconv.Atoi(os.Getenv(wire.ChannelEnv))
	_ = os.Unsetenv(wire.ChannelEnv)
	if err != nil || offered < 0 {
		return nil
	}
	kind, err := syscall.GetsockoptInt(offered, syscall.SOL_SOCKET, syscall.SO_TYPE)
	if err != nil || kind != syscall.SOCK_STREAM {
		return nil // the offer was for another process
	}
	syscall.CloseOnExec(offered)
	// The socket blocks, as does the thread that reads it: that answers in half
	// the time that waiting for it together with all else takes.
	return os.NewFile(uintptr(offered), "session")
}
