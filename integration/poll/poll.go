// Package poll has tests wait for other processes and goroutines.
//
// However busy the machine is, what must come has a minute to come; a test that gives up says what
// it saw last. What must not come cannot be waited for: wait for what proves that it will not, such
// as the next cycle, or have the test own the clock (testing/synctest, where these functions work
// as well).
package poll

import (
	"fmt"
	"strings"
	"time"
)

// Patience is how long a test waits for what must come.
const Patience = time.Minute

// T is what is needed of a test.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Until looks, on the test's own goroutine, until what it sees is what the test waits for, and gives
// that.
func Until[V any](t T, what string, look func() (seen V, so bool)) V {
	t.Helper()
	began := time.Now()
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		late := time.Since(began) >= Patience // ahead of the look: what comes in time is seen
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

// Equal waits until what is got is what is wanted.
func Equal[V comparable](t T, want V, get func() V) {
	t.Helper()
	Until(t, fmt.Sprint(want), func() (V, bool) {
		got := get()
		return got, got == want
	})
}

// Contains waits until a text, such as a log, has a part.
func Contains(t T, part string, get func() string) {
	t.Helper()
	Until(t, fmt.Sprintf("%q", part), func() (string, bool) {
		text := get()
		return text, strings.Contains(text, part)
	})
}
