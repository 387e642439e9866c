package host

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// privileged calls f in a thread that has all the capabilities which this process may have: a
// process that was root before it became another user can still handle processes and files of a
// plugin's own user. Other threads, and what they start, keep theirs.
func privileged(f func() error) error {
	runtime.LockOSThread() // stays locked if the way back fails: then the thread ends with its goroutine
	before, err := raise()
	if err != nil {
		runtime.UnlockOSThread()
		return f()
	}
	err = f()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if back := unix.Capset(&header, &before[0]); back != nil {
		return errors.Join(err, fmt.Errorf("give capabilities up again: %w", back))
	}
	runtime.UnlockOSThread()
	return err
}

// concealed starts a process, and leaves this one as open to others of its user as it was: a child
// shares its memory until it executes a file, and a change of the child's user would count for both.
func concealed(start func() error) error {
	before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err == nil {
		defer func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(before&1), 0, 0, 0) }()
	}
	return start()
}

// raise makes all capabilities that this thread is permitted effective, and returns what it had.
func raise() (before [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err = unix.Capget(&header, &before[0]); err != nil {
		return before, err
	}
	raised := before
	for i := range raised {
		raised[i].Effective, raised[i].Inheritable = raised[i].Permitted, 0
	}
	if raised == before {
		return before, nil
	}
	return before, unix.Capset(&header, &raised[0])
}

// maySwitch reports whether this process may start processes as other users.
func maySwitch() bool {
	var now [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_KILL
	return unix.Capget(&header, &now[0]) == nil && now[0].Permitted&needed == needed
}
