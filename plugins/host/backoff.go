package host

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// healthy is the number of decisions in a row after which earlier failures no longer count.
const healthy = 100

// mostLeft is how many processes of a plugin may be left behind, since they were killed and did not
// end. Each keeps memory, a thread and pipes, so that no good decision makes up for it.
const mostLeft = 3

// backOff decides when a failed plugin is tried again: at once, then after 1, 3, 7… rounds, then
// never. It counts rounds instead of time.
type backOff struct {
	limit    int // failures that are followed by another try
	failures int
	wait     int // rounds until the next try
	good     int // decisions since the last failure
	left     int // processes left behind
}

func (b *backOff) failed() {
	b.failures++
	b.good = 0
	b.wait = 1<<min(b.failures-1, 10) - 1
}

func (b *backOff) succeeded() {
	if b.good++; b.good >= healthy {
		b.failures = 0
	}
}

// ready returns nil if it is time to try; otherwise it counts one round. The error is
// [backfill.ErrGivenUp] if there are no more tries.
func (b *backOff) ready() error {
	switch {
	case b.left >= mostLeft:
		return fmt.Errorf("%w: %d of its processes were killed and do not end", backfill.ErrGivenUp, b.left)
	case b.failures > b.limit:
		return fmt.Errorf("%w after %d failures", backfill.ErrGivenUp, b.failures)
	case b.wait > 0:
		b.wait--
		return fmt.Errorf("%w: it failed, and is started again some rounds later", backfill.ErrNotAsked)
	}
	return nil
}

// String describes what happens next.
func (b *backOff) String() string {
	switch {
	case b.left >= mostLeft:
		return fmt.Sprintf("given up: %d of its processes were killed and do not end", b.left)
	case b.failures > b.limit:
		return fmt.Sprintf("given up after %d failures", b.failures)
	case b.wait > 0:
		return "restart after " + rounds(b.wait)
	}
	return "restart in the next round"
}

// rounds says how many rounds.
func rounds(n int) string {
	if n == 1 {
		return "one more round"
	}
	return fmt.Sprintf("%d more rounds", n)
}
