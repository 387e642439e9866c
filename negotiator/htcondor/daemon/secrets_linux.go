package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// conceal closes the memory and the initial environment of this process to other processes of the
// same user, and leaves no core dump: both would show keys. A change of the user undoes it.
func conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others of its user: %w", err)
	}
	return nil
}

// erase overwrites the value of a variable in the initial environment of this process, which the
// system shows as /proc/PID/environ whatever becomes of the variable. Go's own strings are copies.
func erase(name string) error {
	start, end, err := initialEnvironment()
	if err != nil {
		return fmt.Errorf("erase %s from the initial environment: %w", name, err)
	}
	block := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), start)), end-start)
	for entry := range bytes.SplitSeq(block, []byte{0}) {
		if value, found := bytes.CutPrefix(entry, []byte(name+"=")); found {
			clear(value)
		}
	}
	return nil
}

// initialEnvironment returns where in memory the initial environment of this process is.
func initialEnvironment() (start, end uintptr, err error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	const before = 47 // fields between the name of the program and env_start, see proc_pid_stat(5)
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < before+2 {
		return 0, 0, fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	first, errFirst := strconv.ParseUint(string(fields[before]), 10, 64)
	last, errLast := strconv.ParseUint(string(fields[before+1]), 10, 64)
	if err = errors.Join(errFirst, errLast); err == nil && (first == 0 || last < first) {
		err = errors.New("/proc/self/stat does not say where it is")
	}
	return uintptr(first), uintptr(last), err
}

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
	return errors.Join(err, conceal())
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
