package cedar

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// HungUp reports whether the other side has closed the connection, without reading or waiting.
// HTCondor's clients close both directions at once, so whoever sends no more reads no more. It is
// false for a connection that is no socket.
func (s *Stream) HungUp() (gone bool) {
	socket, ok := s.conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor is small
		n, failed := unix.Poll(asked, 0)
		gone = failed == nil && n > 0
	})
	return gone || err != nil // it is closed here
}
