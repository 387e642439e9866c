//go:build !unix

package main

import (
	"errors"
	"time"
)

// cpuTime is what the process has used of all processors, for the garbage collection too.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("bench cannot measure processor time on this system")
}
