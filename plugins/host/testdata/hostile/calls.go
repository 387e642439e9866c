package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are attacks by system calls that no list of files forbids.
func calls(state, own string) []attack {
	mine, moment := filepath.Join(own, "mine"), time.Unix(1, 0)
	number := func(nr uintptr, arguments ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], arguments)
			if _, _, err := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); err != 0 {
				return err
			}
			return nil
		}
	}
	onOwn := func(do func(fd int) error) func() error {
		return func() error {
			file, err := os.Create(filepath.Join(own, "open"))
			if err == nil {
				err = errors.Join(do(int(file.Fd())), file.Close())
			}
			return err
		}
	}
	sends := func(socket func() (int, error)) func() error {
		return func() error {
			fd, err := socket()
			if err == nil {
				err = errors.Join(unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: os.Getenv("HOSTILE_LETTERS")}),
					unix.Close(fd))
			}
			return err
		}
	}
	maps := func(path string, protection, flags int) func() error {
		return func() error {
			fd := -1
			if path != "" {
				var err error
				if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
					return err
				}
			}
			memory, err := unix.Mmap(fd, 0, 1<<16, protection, flags)
			if err == nil {
				err = unix.Munmap(memory)
			}
			return err
		}
	}
	const writable = unix.PROT_READ | unix.PROT_WRITE
	path := func(name string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(name + "\x00"))) }
	return []attack{
		{"open the state to all", func() error { return os.Chmod(state, 0o777) }},
		{"change the state's times", func() error { return os.Chtimes(state, moment, moment) }},
		{"mark the state", func() error { return unix.Setxattr(state, "user.hostile", []byte("x"), 0) }},
		{"change a mode", func() error { return os.Chmod(mine, 0o777) }},
		{"change an open file's mode", onOwn(func(fd int) error { return unix.Fchmod(fd, 0o777) })},
		{"join the group of a child that ends", func() error {
			child := exec.CommandContext(context.Background(), "true")
			child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := child.Start(); err != nil {
				return err
			}
			return errors.Join(syscall.Setpgid(0, child.Process.Pid), child.Wait())
		}},
		{"change an owner", func() error { return os.Lchown(mine, os.Getuid(), -1) }},
		{"change times", func() error { return os.Chtimes(mine, moment, moment) }},
		{"touch an open file", onOwn(func(fd int) error {
			return number(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0)()
		})},
		{"set an attribute", onOwn(func(fd int) error { return unix.Fsetxattr(fd, "user.hostile", []byte("x"), 0) })},
		{"make a young call", func() error {
			const fchmodat2 = 452
			name := mine
			return number(fchmodat2, ^uintptr(99), path(name), 0o700, 0)()
		}},
		{"send to a socket", sends(func() (int, error) {
			return unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		})},
		{"send by a pair of sockets", sends(func() (int, error) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			return pair[0], err
		})},
		{"ask for another family", func() error {
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}},
		{"share memory", maps("", writable, unix.MAP_SHARED|unix.MAP_ANONYMOUS)},
		{"share zeros", maps("/dev/zero", unix.PROT_READ, unix.MAP_SHARED)},
		{"grow a second stack", maps("", writable, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_GROWSDOWN)},
		{"keep memory as a file", func() error {
			fd, err := unix.MemfdCreate("hostile", unix.MFD_CLOEXEC)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}},
		{"keep memory by a key", func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1<<16, 0o600)
			if err == nil {
				_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
		{"have a longer stack", func() error { // late: its limits are set after its start
			const long = 1 << 40
			return unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: long, Max: long})
		}},
		{"limit its parent", func() error {
			if os.Getppid() == 0 {
				return errors.New("it sees none")
			}
			var limit unix.Rlimit
			err := unix.Prlimit(os.Getppid(), unix.RLIMIT_MEMLOCK, nil, &limit)
			if err == nil {
				err = unix.Prlimit(os.Getppid(), unix.RLIMIT_MEMLOCK, &limit, nil)
			}
			return err
		}},
		{"use a ring", func() error {
			var parameters [120]byte
			return number(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)))()
		}},
		{"keep keys", func() error {
			_, err := unix.AddKey("user", "hostile", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"be root elsewhere", func() error {
			child := exec.CommandContext(context.Background(), "/bin/true")
			child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return child.Run()
		}},
		{"name a file by a handle", func() error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, own, 0); return err }},
		{"count a processor's events", func() error {
			fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
				Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: unix.PERF_ATTR_SIZE_VER0,
				Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
			}, 0, -1, -1, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}},
		{"call as another processor", func() error {
			self, err := os.Executable() // a kernel without such calls kills the caller
			if err != nil {
				return err
			}
			return exec.CommandContext(context.Background(), self, otherProcessor).Run()
		}},
	}
}

// otherProcessor is the argument that makes this program a child that calls the kernel as programs
// of an older processor do.
const otherProcessor = "other-processor"
