//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// goesOn are the signals after which a stopped process goes on.
var goesOn = []os.Signal{unix.SIGCONT} //nolint:gochecknoglobals // a constant

// readKeys has a terminal hand over each key at once, without showing it; Ctrl-C and Ctrl-Z are
// signals as ever. It returns a function that undoes this. A process in the background gets an
// error, as it would be stopped.
func readKeys(terminal *os.File) (restore func(), err error) {
	fd := int(terminal.Fd())
	if group, groupErr := unix.IoctlGetInt(fd, unix.TIOCGPGRP); groupErr != nil || group != unix.Getpgrp() {
		return nil, errors.Join(errors.New("this process is not in the terminal's foreground"), groupErr)
	}
	before, err := unix.IoctlGetTermios(fd, getAttributes)
	if err != nil {
		return nil, err
	}
	with := *before
	with.Lflag &^= unix.ICANON | unix.ECHO
	with.Cc[unix.VMIN], with.Cc[unix.VTIME] = 1, 0
	if err = unix.IoctlSetTermios(fd, setAttributes, &with); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setAttributes, before) }, nil // or the terminal is gone
}
