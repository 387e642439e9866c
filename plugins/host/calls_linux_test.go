package host

import (
	"encoding/binary"
	"slices"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdicts runs filters as the kernel does.
type verdicts struct {
	t    *testing.T
	vm   *bpf.VM
	here *arch.Info
}

func newVerdicts(t *testing.T, network bool, namespaces uintptr) verdicts {
	t.Helper()
	here, err := arch.GetInfo("")
	require.NoError(t, err)
	program, err := filter(network, namespaces)
	require.NoError(t, err)
	vm, err := bpf.NewVM(program)
	require.NoError(t, err)
	return verdicts{t, vm, here}
}

// of returns the answer to a call by its number.
func (v verdicts) of(processor arch.AuditArch, number uint32, arguments ...uint64) seccomp.Action {
	record := make([]byte, 64) // the kernel's, with words in the order of bytes that the machine of the tests wants
	binary.BigEndian.PutUint32(record, number)
	binary.BigEndian.PutUint32(record[4:], uint32(processor))
	for i, argument := range arguments {
		binary.BigEndian.PutUint32(record[16+8*i:], uint32(argument))
		binary.BigEndian.PutUint32(record[20+8*i:], uint32(argument>>32))
	}
	verdict, err := v.vm.Run(record)
	require.NoError(v.t, err)
	return seccomp.Action(verdict)
}

// call returns the answer to a call by its name.
func (v verdicts) call(name string, arguments ...uint64) seccomp.Action {
	number, known := v.here.SyscallNames[name]
	require.True(v.t, known, name)
	return v.of(v.here.ID, uint32(number), arguments...)
}

func TestForbiddenCallsFail(t *testing.T) {
	for _, network := range []bool{false, true} {
		v := newVerdicts(t, network, 0)
		for name, number := range v.here.SyscallNames {
			switch got := v.call(name); {
			case slices.Contains(forbidden, name), name == "connect" && !network:
				require.Equal(t, answer(unix.EPERM), got, name)
			case name == "ioctl":
				require.Equal(t, answer(unix.ENOTTY), got, name)
			case name == "clone3", name == "openat2", number > newest:
				require.Equal(t, answer(unix.ENOSYS), got, name)
			case name == "socket" || name == "socketpair" && !network:
				require.Equal(t, answer(unix.EAFNOSUPPORT), got, name)
			default: // without arguments
				require.Equal(t, seccomp.ActionAllow, got, name)
			}
		}
	}
}

// TestForbiddenCallsExist: the library's tables are by name, and a wrong one would forbid nothing.
func TestForbiddenCallsExist(t *testing.T) {
	for _, name := range forbidden {
		_, amd := arch.X86_64.SyscallNames[name]
		_, arm := arch.AARCH64.SyscallNames[name]
		require.True(t, amd || arm, name)
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(forbidden))), len(forbidden), "each once")
}

func TestCallsFailByTheirArguments(t *testing.T) {
	const high, at = 1 << 32, 0x7fff_0000_1000 // what the kernel ignores of an int, and some address
	const allow = seccomp.ActionAllow
	denied, family := answer(unix.EPERM), answer(unix.EAFNOSUPPORT)
	own := uint64(unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC)
	for _, network := range []bool{false, true} {
		v := newVerdicts(t, network, uintptr(own))
		with := func(yes, no seccomp.Action) seccomp.Action {
			if network {
				return yes
			}
			return no
		}
		for _, one := range []struct {
			want      seccomp.Action
			call      string
			arguments []uint64
		}{
			{allow, "clone", []uint64{uint64(unix.SIGCHLD)}},
			{allow, "clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}},
			{allow, "clone", []uint64{own | uint64(unix.SIGCHLD)}}, // as the host starts it
			{denied, "clone", []uint64{own | unix.CLONE_NEWUSER}},
			{denied, "clone", []uint64{unix.CLONE_NEWNS}},
			{denied, "clone", []uint64{unix.CLONE_NEWUTS}},
			{denied, "clone", []uint64{unix.CLONE_NEWCGROUP}},

			{allow, "utimensat", []uint64{3, 0, 0}},
			{denied, "utimensat", []uint64{3, 0, at}},
			{denied, "utimensat", []uint64{3, at, 0}},
			{denied, "utimensat", []uint64{3, high, 0}},

			{allow, "mmap", []uint64{0, 1, 3, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_STACK}},
			{allow, "mmap", []uint64{0, 1, 3, unix.MAP_SHARED}},
			{denied, "mmap", []uint64{0, 1, 3, unix.MAP_SHARED | unix.MAP_ANONYMOUS}},
			{denied, "mmap", []uint64{0, 1, 3, unix.MAP_SHARED_VALIDATE | unix.MAP_ANONYMOUS}},
			{denied, "mmap", []uint64{0, 1, 3, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_GROWSDOWN}},

			{allow, "ptrace", []uint64{unix.PTRACE_TRACEME}},
			{allow, "ptrace", []uint64{unix.PTRACE_DETACH, 5}},
			{denied, "ptrace", []uint64{unix.PTRACE_ATTACH, 5}},
			{denied, "ptrace", []uint64{unix.PTRACE_SEIZE, 5}},
			{denied, "ptrace", []uint64{unix.PTRACE_POKEDATA, 5, at, 0}},
			{denied, "ptrace", []uint64{high, 5}},

			{allow, "prlimit64", []uint64{0, 7, at, 0}},
			{allow, "prlimit64", []uint64{5, 7, 0, at}}, // asks only
			{denied, "prlimit64", []uint64{5, 7, at, 0}},
			{allow, "setpgid", []uint64{0, 0}},
			{allow, "setpgid", []uint64{5, 5}}, // as a shell does
			{denied, "setpgid", []uint64{0, 5}},
			{denied, "setpgid", []uint64{1, 5}},
			{denied, "setpgid", []uint64{high, 5}},
			{denied, "setpgid", []uint64{high | 1, 5}},
			{allow, "setpriority", []uint64{unix.PRIO_PROCESS, 0, 19}},
			{denied, "setpriority", []uint64{unix.PRIO_USER, 0, 19}},
			{denied, "setpriority", []uint64{unix.PRIO_PROCESS, 5, 19}},
			{denied, "ioprio_set", []uint64{1, 5}},
			{denied, "sched_setaffinity", []uint64{5}},
			{denied, "sched_setscheduler", []uint64{5}},
			{allow, "sched_setscheduler", []uint64{0}},

			{allow, "openat", []uint64{0, at, unix.O_CREAT, 0o1777}},
			{allow, "openat", []uint64{0, at, unix.O_RDONLY | unix.O_DIRECTORY, 0o6755}},
			{denied, "openat", []uint64{0, at, unix.O_CREAT, high | 0o4755}},
			{denied, "openat", []uint64{0, at, unix.O_TMPFILE, 0o2755}},
			{denied, "mknodat", []uint64{0, at, unix.S_IFREG | 0o4755}},
			{allow, "fcntl", []uint64{3, unix.F_SETLKW}},
			{allow, "fcntl", []uint64{3, unix.F_DUPFD_CLOEXEC}},
			{denied, "fcntl", []uint64{3, unix.F_SETLEASE}},
			{denied, "fcntl", []uint64{3, high | unix.F_SETLEASE}},
			{denied, "fcntl", []uint64{3, unix.F_NOTIFY}},
			{denied, "fcntl", []uint64{3, unix.F_SETPIPE_SZ}},
			{allow, "ioctl", []uint64{3, unix.TCGETS}},
			{answer(unix.ENOTTY), "ioctl", []uint64{3, unix.FS_IOC_SETFLAGS}},
			{answer(unix.ENOTTY), "ioctl", []uint64{3, high | unix.FS_IOC_SETFLAGS}},
			{allow, "setsockopt", []uint64{3, unix.IPPROTO_TCP, unix.SO_SNDBUF}},
			{allow, "setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEADDR}},
			{denied, "setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_SNDBUF}},
			{denied, "setsockopt", []uint64{3, high | unix.SOL_SOCKET, high | unix.SO_RCVBUFFORCE}},

			{allow, "socket", []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}},
			{allow, "socketpair", []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}},
			{with(allow, family), "socket", []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}},
			{with(allow, family), "socket", []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}},
			{with(allow, family), "socketpair", []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}},
			{with(allow, family), "socket", []uint64{unix.AF_INET, unix.SOCK_STREAM}},
			{with(allow, family), "socket", []uint64{unix.AF_INET6, unix.SOCK_DGRAM}},
			{with(allow, family), "socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW}},
			{family, "socket", []uint64{high | unix.AF_INET, unix.SOCK_STREAM}},
			{family, "socket", []uint64{unix.AF_PACKET, unix.SOCK_RAW}},
			{family, "socket", []uint64{unix.AF_VSOCK, unix.SOCK_STREAM}},
			{family, "socket", []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET}},
		} {
			require.Equal(t, one.want, v.call(one.call, one.arguments...), "%s %x, network %t", one.call, one.arguments, network)
		}
	}
}

// TestCallsOfOtherProcessorsFail: the numbers of the filter are those of one processor.
func TestCallsOfOtherProcessorsFail(t *testing.T) {
	v := newVerdicts(t, false, 0)
	for _, other := range []*arch.Info{arch.I386, arch.ARM, arch.AARCH64, arch.X86_64} {
		if other.ID != v.here.ID {
			require.Equal(t, answer(unix.EPERM), v.of(other.ID, uint32(other.SyscallNames["getpid"])), other.Name)
		}
	}
	mask := uint32(arch.X32.SeccompMask)
	require.Equal(t, answer(unix.ENOSYS), v.of(v.here.ID, mask|uint32(arch.X32.SyscallNames["chmod"])))
}
