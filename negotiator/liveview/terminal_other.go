//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package liveview

import (
	"errors"
	"os"
)

var stops, goesOn, intrude []os.Signal //nolint:gochecknoglobals // constants

func stop() {}

// readKeys has a terminal hand over each key at once: not on this system.
func readKeys(*os.File) (restore func(), err error) {
	return nil, errors.New("keys are not read on this system")
}
