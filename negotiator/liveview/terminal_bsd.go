//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package liveview

import "golang.org/x/sys/unix"

// The requests for a terminal's attributes.
const (
	getAttributes = unix.TIOCGETA
	setAttributes = unix.TIOCSETA
)
