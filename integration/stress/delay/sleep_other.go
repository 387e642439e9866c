//go:build !linux

package delay

import "time"

// sleep counts on made-up clocks, too: tests in synctest bubbles may fail where they would not on Linux.
func sleep(pause time.Duration) { time.Sleep(pause) }
