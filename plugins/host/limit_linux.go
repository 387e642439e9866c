package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// canLimit says that this system can limit processes.
	canLimit = true
	// maxFiles is the maximum number of open files of a plugin.
	maxFiles = 128
	// maxStack is how far the stack of its first thread may grow, in bytes: that is no data.
	maxStack = 8 << 20
)

// haltable reports whether this machine lets us start a process that halts before its first
// instruction, so that it is limited before it can start others: one that we trace.
var haltable = sync.OnceValue(func() bool { //nolint:gochecknoglobals // asked once
	// There is no such program; before this is noticed, the process is traced, or is not.
	pid, err := syscall.ForkExec("", []string{""}, &syscall.ProcAttr{
		Env: []string{}, Sys: &syscall.SysProcAttr{Cloneflags: namespaces(), Ptrace: true},
	})
	if err == nil { // whoever forbids it ended the process
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
	return errors.Is(err, syscall.ENOENT)
})

// seen is a siginfo_t of sigaction(2) about a process or thread, on 64 bits.
type seen struct {
	_    [2]int32
	what int32
	_    int32
	id   int32
	_    [108]byte
}

// await lets a process go on that was started halted, and waits for its end, in the thread that
// started it. Threads of it that ask to be traced later are let go on, too: the kernel keeps a
// process for as long as nobody has taken notice of their end. One that goes on asking is killed.
func await(cmd *exec.Cmd) error {
	const all, ours, trapped = unix.WEXITED | unix.WNOWAIT, unix.WALL | unix.WNOTHREAD, 4 // CLD_TRAPPED
	const patience = 100
	for asked := 0; cmd.SysProcAttr.Ptrace; asked++ {
		if asked > patience {
			killGroup(cmd.Process)
		}
		var next seen
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&next)), all|ours, nil)
		switch {
		case err == unix.EINTR:
		case err == nil && next.what >= trapped: // or stopped
			_ = unix.PtraceDetach(int(next.id)) // fails if it was killed
		case err == nil && int(next.id) != cmd.Process.Pid:
			_, _ = unix.Wait4(int(next.id), nil, ours, nil)
		default:
			return cmd.Wait()
		}
	}
	return cmd.Wait()
}

// limit limits a process that has just started, and the processes that it starts: memory in bytes
// (0 means unlimited), open files, the size of a file, and no core dumps.
//
// The number of processes is limited to as many more as the whole system has now, since that limit
// counts all that their user runs. It ends a bomb that outruns the count.
//
// It is set by a thread with the real user of the process: the limits of others are for those with
// CAP_SYS_RESOURCE alone, which many containers lack. Only the limit of memory must succeed; the
// others, of which lacking tells, protect the machine, and the plugin also runs without them, and
// where it may not be halted at its start.
//
// The limit is on writable memory (RLIMIT_DATA), and on the stack beside it. The whole address
// space (RLIMIT_AS) would be the wrong measure: Go reserves far more of it than it uses.
func limit(who credential, pid int, memory int64, processes int) (lacking, err error) {
	if !haltable() {
		lacking = errors.New("what it starts at once has none: this system does not let it be traced")
	}
	onOwnThread(func() {
		if err = who.becomeReal(); err != nil {
			return
		}
		lacking = errors.Join(lacking, lower(pid, unix.RLIMIT_CORE, 0),
			lower(pid, unix.RLIMIT_NOFILE, maxFiles), lower(pid, unix.RLIMIT_FSIZE, scratch))
		if all := tasksOfSystem(); processes > 0 && all > 0 {
			lacking = errors.Join(lacking, lower(pid, unix.RLIMIT_NPROC, uint64(all+2*processes)))
		}
		if memory > 0 {
			err = errors.Join(lower(pid, unix.RLIMIT_DATA, uint64(memory)), lower(pid, unix.RLIMIT_STACK, maxStack))
		}
	})
	return lacking, err
}

// becomeReal makes the user the real one of the calling thread alone, one of [onOwnThread]; the
// effective one stays, and with it the thread's rights.
func (who credential) becomeReal() error {
	if who.Credential == nil {
		return nil
	}
	if _, err := raise(); err != nil {
		return fmt.Errorf("raise this thread's capabilities: %w", err)
	}
	const same = ^uintptr(0)
	// Package syscall would change all threads.
	if _, _, failed := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(who.Gid), same, same); failed != 0 {
		return fmt.Errorf("become the plugin's group: %w", failed)
	}
	if _, _, failed := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(who.Uid), same, same); failed != 0 {
		return fmt.Errorf("become the plugin's user: %w", failed)
	}
	return nil
}

func lower(pid, resource int, to uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
		return err
	}
	to = min(to, now.Max)
	return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: min(to, now.Cur), Max: to}, nil)
}

// startOpen has a command start an open file, which the process inherits: a script's interpreter
// opens it again.
func startOpen(cmd *exec.Cmd, file *os.File) {
	const standard = 3 // descriptors that every process has
	cmd.Path = fmt.Sprintf("/proc/self/fd/%d", standard+len(cmd.ExtraFiles))
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
}

// endWithThread makes the system kill the process when the thread that starts it ends.
func endWithThread(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
