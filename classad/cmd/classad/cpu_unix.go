//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used of all processors, for the garbage collection too.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
