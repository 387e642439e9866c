// Package poll lets tests wait for other processes and goroutines.
//
// However busy the machine is, an expected event has a minute to happen; a test that gives up
// reports what it saw last. That an event does not happen cannot be waited for: wait for something
// that proves it, such as the next cycle, or let the test own the clock (testing/synctest, where
// these functions work as well).
package poll

import (
	"fmt"
	"strings"
	"time"
)

// Patience is how long a test waits for an expected event.
const Patience = time.Minute

// T is the part of a test that is needed here.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Until calls the function look, on the test's own goroutine, until that reports success, and
// returns what it saw. If that takes longer than [Patience], the test fails and prints what was
// seen last.
func Until[V any](t T, what string, look func() (seen V, so bool)) V {
	t.Helper()
	began := time.Now()
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		late := time.Since(began) >= Patience // before looking, so that what comes in time is seen
		seen, so := look()
		if so {
			return seen
		}
		if late {
			t.Fatalf("waited %v for %s; seen at last:\n%v", Patience, what, seen)
			return seen
		}
		time.Sleep(pause)
	}
}

// Equal waits until the function get returns want.
func Equal[V comparable](t T, want V, get func() V) {
	t.Helper()
	Until(t, fmt.Sprint(want), func() (V, bool) {
		got := get()
		return got, got == want
	})
}

// Contains waits until the text that the function get returns, such as a log, contains part.
func Contains(t T, part string, get func() string) {
	t.Helper()
	Until(t, fmt.Sprintf("%q", part), func() (string, bool) {
		text := get()
		return text, strings.Contains(text, part)
	})
}
