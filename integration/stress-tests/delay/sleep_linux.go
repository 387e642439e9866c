package delay

import (
	"syscall"
	"time"
)

// sleep sleeps in a system call. A goroutine in a system call stops the clock of its bubble, a test
// with a fake clock (testing/synctest), so that a delay takes real time, as on a busy machine, and
// no fake time.
func sleep(pause time.Duration) {
	left := syscall.NsecToTimespec(pause.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR { //nolint:revive // the call does it all
	}
}
