package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

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

// limit limits a process that has just started, and the processes that it starts: memory in bytes
// (0 means unlimited), open files, the size of a file, and no core dumps.
//
// The number of processes is limited to as many more as the whole system has now, since that limit
// counts all that their user runs. It ends a bomb that outruns the count.
//
// It is set by a thread with the real user of the process: the limits of others are for those with
// CAP_SYS_RESOURCE alone, which many containers lack. Only the limit of memory must succeed; the
// others, of which lacking tells, protect the machine, and the plugin also runs without them.
//
// The limit is on writable memory (RLIMIT_DATA), and on the stack beside it. The whole address
// space (RLIMIT_AS) would be the wrong measure: Go reserves far more of it than it uses.
func limit(who credential, pid int, memory int64, processes int) (lacking, err error) {
	onOwnThread(func() {
		if err = who.becomeReal(); err != nil {
			return
		}
		lacking = errors.Join(lower(pid, unix.RLIMIT_CORE, 0), lower(pid, unix.RLIMIT_NOFILE, maxFiles),
			lower(pid, unix.RLIMIT_FSIZE, scratch))
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
