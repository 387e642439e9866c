package main

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// descriptors are attacks by what is open, of which a list of calls by their names knows nothing.
func descriptors(own string) []attack {
	reading := func(do func(fd int) error) func() error { // a file of its own, open for reading alone
		return func() error {
			path := filepath.Join(own, "read")
			err := os.WriteFile(path, []byte("x"), 0o600)
			if err != nil {
				return err
			}
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				err = errors.Join(do(fd), unix.Close(fd), os.Remove(path))
			}
			return err
		}
	}
	setsID := func(open func(path string) (int, error)) func() error {
		return func() error {
			path := filepath.Join(own, "id")
			defer os.Remove(path) //nolint:errcheck // as far as it is there
			fd, err := open(path)
			if err != nil {
				return err
			}
			var found unix.Stat_t
			err = errors.Join(unix.Fstat(fd, &found), unix.Close(fd))
			if err == nil && found.Mode&unix.S_ISUID == 0 {
				err = errors.New("it has no such mode")
			}
			return err
		}
	}
	pipe := func(do func(fd int) error) func() error {
		return func() error {
			var ends [2]int
			err := unix.Pipe2(ends[:], unix.O_CLOEXEC)
			if err == nil {
				err = errors.Join(do(ends[1]), unix.Close(ends[0]), unix.Close(ends[1]))
			}
			return err
		}
	}
	buffer := func(option int) func() error {
		return func() error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				err = errors.Join(unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, option, 1<<20),
					unix.Close(pair[0]), unix.Close(pair[1]))
			}
			return err
		}
	}
	const ids = 0o6755
	return []attack{
		{"lease a file", reading(func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
			return err
		})},
		{"flag a file", reading(func(fd int) error {
			const noDump = 0x40
			return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, noDump)
		})},
		{"have the ID of a file's owner set", setsID(func(path string) (int, error) {
			return unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, ids)
		})},
		{"have it set by a record of flags", setsID(func(path string) (int, error) {
			return unix.Openat2(unix.AT_FDCWD, path,
				&unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR | unix.O_CLOEXEC, Mode: ids})
		})},
		{"have it set by a node", setsID(func(path string) (int, error) {
			if err := unix.Mknod(path, unix.S_IFREG|ids, 0); err != nil {
				return -1, err
			}
			return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		})},
		{"enlarge a pipe", pipe(func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<18)
			return err
		})},
		{"ask what a pipe holds", pipe(func(fd int) error {
			_, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
			return err
		})},
		{"enlarge what a socket sends", buffer(unix.SO_SNDBUF)},
		{"enlarge what a socket receives", buffer(unix.SO_RCVBUF)},
		{"open many files", func() (err error) { // late: its limits are set after its start
			const many = 200
			var all []int
			for len(all) < many && err == nil {
				var fd int
				if fd, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
					all = append(all, fd)
				}
			}
			for _, fd := range all {
				err = errors.Join(err, unix.Close(fd))
			}
			return err
		}},
	}
}
