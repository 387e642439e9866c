package delay

import (
	"syscall"
	"time"
)

// sleep is a system call, as a goroutine in one keeps the clock of its synctest bubble still: a delay takes time of
// the machine, as it would on a busy one, and none of a made-up clock.
func sleep(pause time.Duration) {
	left := syscall.NsecToTimespec(pause.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR { //nolint:revive // the call does it all
	}
}
