//go:build unix

package host

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// hold locks a plugin's folder until the file is closed, if this program ends, too: [sweep] leaves it
// alone until then.
func hold(dir string) *os.File {
	folder, err := openFolder(unix.AT_FDCWD, dir)
	if err != nil {
		return nil
	}
	_ = unix.Flock(int(folder.Fd()), unix.LOCK_SH|unix.LOCK_NB) // it is new
	return folder
}

// sweep removes folders of plugins that programs left which were killed, or ended while they removed
// them. Others that are as old as a minute are locked.
func sweep(parent string, now time.Time) {
	paths, _ := filepath.Glob(filepath.Join(parent, wire.SocketDirs+"[0-9]*")) // it fails only for wrong patterns
	for _, path := range paths {
		_, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(path), wire.SocketDirs), 10, 64)
		info, statErr := os.Lstat(path)
		if err != nil || statErr != nil || !info.IsDir() || info.Mode().Perm() != 0o700 ||
			now.Sub(info.ModTime()) < time.Minute {
			continue
		}
		_ = privileged(func() error {
			folder, err := openFolder(unix.AT_FDCWD, path)
			if err != nil {
				return err // another user's
			}
			defer folder.Close() //nolint:errcheck // it was not read
			if err = unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				return err
			}
			return removeAll(path)
		})
	}
}

// removeAll removes a folder and what is in it, without following links, with two open files however
// deep its folders are: what is in a folder that is not empty is moved up, so that none is deep.
func removeAll(dir string) error {
	top, err := openFolder(unix.AT_FDCWD, dir)
	if errors.Is(err, unix.ENOENT) {
		return nil
	} else if err != nil {
		return err
	}
	defer top.Close() //nolint:errcheck // it was only read
	moved := 0
	for found := true; found; {
		if _, err = top.Seek(0, io.SeekStart); err != nil {
			return err
		}
		found = false
		err = eachIn(top, func(name string) error {
			found = true
			return empty(top, name, &moved)
		})
		if err != nil {
			return err
		}
	}
	return os.Remove(dir)
}

// empty removes one file of a folder, or, of a folder in it, all but what has to be moved up. moved
// counts what was.
func empty(top *os.File, name string, moved *int) error {
	if unlink(top, name) == nil {
		return nil
	}
	folder, err := openFolder(int(top.Fd()), name)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // it was only read
	err = eachIn(folder, func(inner string) error {
		if unlink(folder, inner) == nil {
			return nil
		}
		for {
			*moved++
			failed := unix.Renameat(int(folder.Fd()), inner, int(top.Fd()), ".moved-"+strconv.Itoa(*moved))
			if !isTaken(failed) {
				return failed
			}
		}
	})
	return errors.Join(err, unix.Unlinkat(int(top.Fd()), name, unix.AT_REMOVEDIR))
}

// isTaken reports whether a folder was not renamed because there is a file of the new name.
func isTaken(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
}

func openFolder(in int, name string) (*os.File, error) {
	fd, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Base(name), Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// eachIn calls f with the names in a folder, of which few are kept at once.
func eachIn(folder *os.File, f func(name string) error) error {
	const atOnce = 1000
	for {
		names, err := folder.Readdirnames(atOnce)
		for _, name := range names {
			if failed := f(name); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// unlink removes a file or an empty folder.
func unlink(folder *os.File, name string) error {
	if err := unix.Unlinkat(int(folder.Fd()), name, 0); err == nil {
		return nil
	}
	return unix.Unlinkat(int(folder.Fd()), name, unix.AT_REMOVEDIR)
}
