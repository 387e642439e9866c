package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// rooted tells whether this process is root, or was root before [Become].
func rooted() bool {
	_, effective, saved := unix.Getresuid()
	return effective == 0 || saved == 0
}

// asRoot runs read with root's permission to files, in this thread only. Other threads and children
// keep their user.
func asRoot(read func() error) error {
	effective := os.Geteuid()
	if effective == 0 || !rooted() {
		return read()
	}
	runtime.LockOSThread()         // stays locked if the way back fails: then the thread ends with its goroutine
	become := func(uid int) bool { // the call does not report whether it worked
		_, _ = unix.SetfsuidRetUid(uid)
		now, _ := unix.SetfsuidRetUid(-1)
		return now == uid
	}
	err := errors.New("read files as root: the system does not let us")
	if become(0) {
		err = read()
	}
	if !become(effective) {
		return errors.Join(err,
			fmt.Errorf("be user %d again after reading files as root: the system does not let us", effective))
	}
	runtime.UnlockOSThread()
	return err
}

// privateCopies copies files, and the files in folders, into memory files that only this process
// can open, and returns their descriptors. It skips files that cannot be read.
func privateCopies(paths []string) (copies []int, err error) {
	for _, path := range paths {
		files := []string{path}
		if entries, err := os.ReadDir(path); err == nil {
			files = nil
			for _, e := range entries {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			fd, err := unix.MemfdCreate("token", unix.MFD_CLOEXEC)
			if err != nil {
				return copies, fmt.Errorf("copy %s: %w", file, err)
			}
			copies = append(copies, fd)
			for len(text) > 0 {
				n, err := unix.Write(fd, text)
				if err != nil {
					return copies, fmt.Errorf("copy %s: %w", file, err)
				}
				text = text[n:]
			}
		}
	}
	return copies, nil
}
