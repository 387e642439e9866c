//go:build !linux

package delay

import "time"

// sleep sleeps. On this system that also advances the fake clock of a testing/synctest test, so
// that a test may fail which would not fail on Linux.
func sleep(pause time.Duration) { time.Sleep(pause) }
