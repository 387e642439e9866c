package host

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// canLimit says that processes can be limited here.
	canLimit = true
	// maxFiles is how many files a plugin may have open.
	maxFiles = 1024
)

// limit bounds what a process that has just started, and each that it starts, may
// take: memory in bytes (0: unlimited), open files, and no room for a core dump.
//
// The memory that counts is what can be written to (RLIMIT_DATA). The whole
// address space (RLIMIT_AS) would be the wrong measure: Go reserves far more of it
// than it uses.
func limit(pid int, memory int64) error {
	// These two are a favour to the machine; without them the plugin runs as well.
	_ = lower(pid, unix.RLIMIT_CORE, 0)
	_ = lower(pid, unix.RLIMIT_NOFILE, maxFiles)
	if memory <= 0 {
		return nil
	}
	return lower(pid, unix.RLIMIT_DATA, uint64(memory))
}

func lower(pid, resource int, to uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
		return err
	}
	to = min(to, now.Max)
	return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: min(to, now.Cur), Max: to}, nil)
}

// endWithThread makes the system end the process with the thread that starts it.
func endWithThread(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
