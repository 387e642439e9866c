//go:build unix

package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// offerChannel creates two pipes for the session and arranges for the command, which is not started
// yet, to inherit one end of each. Call inherited after the start, successful or not, to close those
// ends here.
func offerChannel(cmd *exec.Cmd) (ours io.ReadWriteCloser, inherited func(), err error) {
	questions, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	answers, err := pipe()
	if err != nil {
		return nil, nil, errors.Join(err, questions[0].Close(), questions[1].Close())
	}
	inherited = func() { _, _ = questions[0].Close(), answers[1].Close() }
	p := &pipes{in: answers[0], out: questions[1]}
	if err = syscall.SetNonblock(int(p.out.Fd()), true); err != nil {
		inherited()
		return nil, nil, errors.Join(err, p.Close())
	}
	const standard = 3 // descriptors that every process has
	first := standard + len(cmd.ExtraFiles)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d,%d", wire.ChannelEnv, first, first+1))
	cmd.ExtraFiles = append(cmd.ExtraFiles, questions[0], answers[1])
	return p, inherited, nil
}

// pipe creates a pipe that no process inherits by accident. Unlike those of [os.Pipe], its ends are
// not watched by the Go runtime's poller.
func pipe() (ends [2]*os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var numbers [2]int
	if err = syscall.Pipe(numbers[:]); err != nil {
		return ends, fmt.Errorf("make a pipe for the session: %w", err)
	}
	for i, fd := range numbers {
		syscall.CloseOnExec(fd)
		ends[i] = os.NewFile(uintptr(fd), "session")
	}
	return ends, nil
}

// pipes are this process' ends of a session. A thread waits for each answer: it learns of it in a
// fraction of the time that the Go runtime's poller takes.
type pipes struct {
	in, out *os.File // reads from in block, writes to out do not
	closed  atomic.Bool
}

// Read waits until there is something to read, the other end is closed, or Close is called.
func (p *pipes) Read(into []byte) (int, error) {
	if err := p.wait(p.in, unix.POLLIN); err != nil {
		return 0, err
	}
	return p.in.Read(into)
}

// Write waits until all is written, the other end is closed, or Close is called.
func (p *pipes) Write(all []byte) (written int, err error) {
	for {
		n, err := p.out.Write(all[written:])
		if written += n; !errors.Is(err, syscall.EAGAIN) {
			return written, err
		}
		if err = p.wait(p.out, unix.POLLOUT); err != nil {
			return written, err
		}
	}
}

// wait waits for the event of a pipe.
func (p *pipes) wait(end *os.File, event int16) error {
	const tick = 10 // milliseconds until a call of Close is noticed
	raw, err := end.SyscallConn()
	if err != nil {
		return err
	}
	for !p.closed.Load() {
		var n int
		var failed error
		err = raw.Control(func(fd uintptr) {
			n, failed = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: event}}, tick)
		})
		if err != nil || n > 0 {
			return err
		}
		if failed != nil && !errors.Is(failed, syscall.EINTR) {
			return os.NewSyscallError("poll", failed)
		}
	}
	return os.ErrClosed
}

// Close also ends a Read or Write that waits.
func (p *pipes) Close() error {
	if p.closed.Swap(true) {
		return os.ErrClosed
	}
	return errors.Join(p.in.Close(), p.out.Close())
}
