package host

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden are the system calls that no plugin may make. Most processors lack some of them.
var forbidden = slices.Concat( //nolint:gochecknoglobals // a constant
	[]string{ // Change attributes of files, for which Landlock has no right.
		"chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat",
		"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
	},
	[]string{ // Keep memory that RLIMIT_DATA does not count, or share it with others by a name.
		"memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget", "mq_open", "mq_unlink",
	},
	[]string{ // Look into other processes.
		"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise", "move_pages",
		"migrate_pages", "perf_event_open",
	},
	[]string{ // Make the calls of this list in another way, or come by files and rights in another way.
		"io_uring_setup", "io_uring_enter", "io_uring_register", "open_by_handle_at", "name_to_handle_at",
		"unshare", "setns", "add_key", "request_key", "keyctl",
	},
	[]string{ // Are for those who administer the machine; much of the kernel lies behind them.
		"bpf", "userfaultfd", "fanotify_init", "mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig",
		"fsmount", "fspick", "move_mount", "open_tree", "mount_setattr", "swapon", "swapoff", "reboot", "kexec_load",
		"kexec_file_load", "init_module", "finit_module", "delete_module", "quotactl", "quotactl_fd", "acct", "syslog",
		"settimeofday", "clock_settime", "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "vhangup",
	},
)

// newest is the youngest call that a plugin may make, futex_waitv of Linux 5.16. The kernel seems
// to lack all later ones, for which programs are prepared: nobody knows yet what they will change.
const newest = 449

// filtered gives up system calls of this thread, and of what it starts, for good. A process that it
// starts itself may have these namespaces. It reports whether this system can do that.
func filtered(network bool, namespaces uintptr) (bool, error) {
	instructions, err := filter(network, namespaces)
	if err != nil {
		return false, err
	}
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return false, fmt.Errorf("filter its system calls: %w", err)
	}
	program := make([]unix.SockFilter, len(raw))
	for i, one := range raw {
		program[i] = unix.SockFilter{Code: one.Op, Jt: one.Jt, Jf: one.Jf, K: one.K}
	}
	all := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, failed := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&all)))
	switch {
	case errors.Is(failed, unix.ENOSYS), errors.Is(failed, unix.EINVAL): // the kernel has none
		return false, nil
	case failed != 0:
		return false, fmt.Errorf("filter its system calls: %w", failed)
	}
	return true, nil
}

// filter returns the program that answers the forbidden calls with an error. It is empty on
// processors whose calls are not known.
func filter(network bool, namespaces uintptr) ([]bpf.Instruction, error) {
	here, err := arch.GetInfo("")
	if err != nil || len(here.SyscallNames) == 0 {
		return nil, nil //nolint:nilerr // the boundary says so
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups(network, namespaces)}
	for i := range policy.Syscalls {
		group := &policy.Syscalls[i]
		group.Names = slices.DeleteFunc(group.Names, func(name string) bool {
			_, known := here.SyscallNames[name]
			return !known
		})
		group.NamesWithCondtions = slices.DeleteFunc(group.NamesWithCondtions, func(one seccomp.NameWithConditions) bool {
			_, known := here.SyscallNames[one.Name]
			return !known
		})
	}
	program, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("filter its system calls: %w", err)
	}
	// The library lets calls of another processor pass, as of the same one's older kind.
	const number, processor, word = 0, 4, 4 // places in the kernel's record, and their size
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: processor, Size: word},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(here.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(answer(unix.EPERM))},
		bpf.LoadAbsolute{Off: number, Size: word},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newest, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(answer(unix.ENOSYS))},
	}, program...), nil
}

// answer makes a call fail with this error.
func answer(err unix.Errno) seccomp.Action { return seccomp.ActionErrno | seccomp.Action(err) }

// groups returns which calls fail, and how. Only conditions are used that the upper half of a
// number cannot evade: the kernel ignores it where it wants an int.
func groups(network bool, namespaces uintptr) []seccomp.SyscallGroup {
	const spaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	isNot := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: value}
	}
	has := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bits}
	}
	when := func(name string, all ...seccomp.Condition) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: all}
	}
	// isInt holds for an int, whatever its upper half.
	isInt := func(argument, value uint32) []seccomp.Condition {
		all := []seccomp.Condition{{Argument: argument, Operation: seccomp.BitsNotSet, Value: uint64(^value)}}
		for bits := value; bits != 0; bits &= bits - 1 {
			all = append(all, has(argument, uint64(bits&-bits)))
		}
		return all
	}
	const setID = unix.S_ISUID | unix.S_ISGID
	const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY // else the mode may be anything
	const selfOrFirst = 1<<32 - 2                                 // the bits that are not set in 0 and 1
	denied := seccomp.SyscallGroup{
		Names: slices.Clone(forbidden), Action: answer(unix.EPERM),
		NamesWithCondtions: []seccomp.NameWithConditions{
			// No process joins another group by itself. Linux never ends the first process of a PID namespace
			// that has joined the group of a child that is gone.
			when("setpgid", seccomp.Condition{Argument: 0, Operation: seccomp.BitsNotSet, Value: selfOrFirst}, isNot(1, 0)),
			// Namespaces of the plugin's start remain, for which it lacks the rights.
			when("clone", has(0, uint64(spaces&^namespaces))),
			// The time of an open file may become now, as touch does; other times and files may not.
			when("utimensat", isNot(1, 0)),
			when("utimensat", isNot(2, 0)),
			// RLIMIT_DATA counts neither shared memory nor what looks like a stack.
			when("mmap", has(3, unix.MAP_ANONYMOUS), has(3, unix.MAP_SHARED)),
			when("mmap", has(3, unix.MAP_GROWSDOWN)),
			// Nobody else may run a file with the plugin's rights.
			when("open", has(1, makes), has(2, setID)),
			when("openat", has(2, makes), has(3, setID)),
			when("creat", has(1, setID)),
			when("mknod", has(1, setID)),
			when("mknodat", has(2, setID)),
			// Linux's own commands lease files, which makes others wait, and enlarge pipes; these only ask
			// or copy.
			when("fcntl", has(1, unix.F_SETLEASE), isNot(1, unix.F_DUPFD_CLOEXEC), isNot(1, unix.F_DUPFD_QUERY),
				isNot(1, unix.F_GETPIPE_SZ), isNot(1, unix.F_GET_SEALS)),
			// It may be traced, to halt at its start, and let go on, but look at nobody.
			when("ptrace", isNot(0, unix.PTRACE_TRACEME), isNot(0, unix.PTRACE_DETACH)),
			// It may set its own limits, and how it runs, but not those of others.
			when("prlimit64", isNot(0, 0), isNot(2, 0)),
			when("setpriority", isNot(0, unix.PRIO_PROCESS)),
			when("setpriority", isNot(1, 0)),
			when("ioprio_set", isNot(1, 0)),
			when("sched_setaffinity", isNot(0, 0)),
			when("sched_setattr", isNot(0, 0)),
			when("sched_setparam", isNot(0, 0)),
			when("sched_setscheduler", isNot(0, 0)),
		},
	}
	for _, option := range []uint32{unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_SNDBUFFORCE, unix.SO_RCVBUFFORCE} {
		denied.NamesWithCondtions = append(denied.NamesWithCondtions, // no limit counts a socket's memory
			when("setsockopt", append(isInt(1, unix.SOL_SOCKET), isInt(2, option)...)...))
	}
	// Others change attributes of files that are only read. The error is that of a file without such a
	// command.
	const nonBlocking, closing, notClosing = 0x5421, 0x5451, 0x5450 // FIONBIO, FIOCLEX, FIONCLEX
	devices := seccomp.SyscallGroup{Action: answer(unix.ENOTTY), NamesWithCondtions: []seccomp.NameWithConditions{
		when("ioctl", isNot(1, unix.TCGETS), isNot(1, unix.TCGETS2), isNot(1, unix.TIOCGWINSZ), isNot(1, unix.TIOCGPGRP),
			isNot(1, unix.TIOCINQ), isNot(1, nonBlocking), isNot(1, closing), isNot(1, notClosing)),
	}}
	absent := seccomp.SyscallGroup{ // a filter does not see their flags; the C library then takes clone and openat
		Names: []string{"clone3", "openat2"}, Action: answer(unix.ENOSYS),
	}
	sockets := seccomp.SyscallGroup{Action: answer(unix.EAFNOSUPPORT)}
	if network {
		sockets.NamesWithCondtions = append(sockets.NamesWithCondtions, when("socket", isNot(0, unix.AF_UNIX),
			isNot(0, unix.AF_INET), isNot(0, unix.AF_INET6), isNot(0, unix.AF_NETLINK)))
	} else {
		denied.Names = append(denied.Names, "connect")
		const others = unix.SOCK_DGRAM | unix.SOCK_RDM | 8 // bits that SOCK_STREAM lacks
		for _, name := range []string{"socket", "socketpair"} {
			// What is no stream can send to an address without a connection.
			sockets.NamesWithCondtions = append(sockets.NamesWithCondtions, when(name, isNot(0, unix.AF_UNIX)),
				when(name, has(1, others)))
		}
	}
	return []seccomp.SyscallGroup{denied, absent, devices, sockets}
}
