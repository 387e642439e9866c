//go:build unix

package sdk

import (
	"os"
	"strconv"
	"syscall"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// takeChannel returns the socket that the host offers for the session, or nil if it offers none.
// Processes that this one starts do not inherit the socket or its offer.
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
	// The socket is blocking, and so is the thread that reads it: it answers in half the time that
	// the Go runtime's poller takes.
	return os.NewFile(uintptr(offered), "session")
}
