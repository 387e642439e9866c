package liveview

import "golang.org/x/sys/unix"

// The requests for a terminal's attributes.
const (
	getAttributes = unix.TCGETS
	setAttributes = unix.TCSETS
)
