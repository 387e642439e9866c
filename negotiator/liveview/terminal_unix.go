//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package liveview

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Signals of job control: those that a shell stops a process with, has it go on with, and those for
// who uses the terminal from the background.
var ( //nolint:gochecknoglobals // constants
	stops   = []os.Signal{unix.SIGTSTP}
	goesOn  = []os.Signal{unix.SIGCONT}
	intrude = []os.Signal{unix.SIGTTIN, unix.SIGTTOU}
)

// stop stops this process until a shell has it go on.
func stop() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) } // a process may stop itself

// readKeys has a terminal hand over each key at once, without showing it; Ctrl-C and Ctrl-Z are
// signals as ever, and Ctrl-\ is none, as nothing could tidy the terminal up after it. It returns a
// function that undoes this. A process in the background gets an error.
func readKeys(terminal *os.File) (restore func(), err error) {
	fd := int(terminal.Fd())
	if group, groupErr := unix.IoctlGetInt(fd, unix.TIOCGPGRP); groupErr != nil || group != unix.Getpgrp() {
		return nil, errors.Join(errBackground, groupErr)
	}
	before, err := unix.IoctlGetTermios(fd, getAttributes)
	if err != nil {
		return nil, err
	}
	with := *before
	with.Lflag &^= unix.ICANON | unix.ECHO
	with.Cc[unix.VMIN], with.Cc[unix.VTIME], with.Cc[unix.VQUIT] = 1, 0, 0
	if err = unix.IoctlSetTermios(fd, setAttributes, &with); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setAttributes, before) }, nil // or the terminal is gone
}
