//go:build !unix

package main

import (
	"errors"
	"time"
)

// cpuTime returns the processor time that the process has used on all processors, garbage
// collection included.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("bench cannot measure processor time on this system")
}
