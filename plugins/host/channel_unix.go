//go:build unix

package host

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// offerChannel creates a socket for the session and arranges for the command, which is not started
// yet, to inherit one end. Call inherited after the start, successful or not, to close that end
// here.
func offerChannel(cmd *exec.Cmd) (ours net.Conn, inherited func(), err error) {
	ends, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket for the session: %w", err)
	}
	here, there := os.NewFile(uintptr(ends[0]), "session"), os.NewFile(uintptr(ends[1]), "session")
	defer func() { _ = here.Close() }() // the connection has a duplicate
	if ours, err = net.FileConn(here); err != nil {
		_ = there.Close()
		return nil, nil, fmt.Errorf("make a socket for the session: %w", err)
	}
	const standard = 3 // descriptors that every process has
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", wire.ChannelEnv, standard+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, there)
	return ours, func() { _ = there.Close() }, nil
}

// socketPair creates two connected sockets that no process inherits by accident.
func socketPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	return ends, err
}
