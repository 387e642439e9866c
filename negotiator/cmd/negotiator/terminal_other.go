//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

import (
	"errors"
	"os"
)

var goesOn []os.Signal //nolint:gochecknoglobals // a constant

// readKeys has a terminal hand over each key at once: not on this system.
func readKeys(*os.File) (restore func(), err error) {
	return nil, errors.New("keys are not read on this system")
}
