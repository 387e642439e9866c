//go:build !linux

package delay

import "time"

// sleep also advances the clocks of synctest bubbles, so that tests in bubbles may fail here that
// would not fail on Linux.
func sleep(pause time.Duration) { time.Sleep(pause) }
