package poll

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// failing is a test that Fatalf does not end.
type failing struct{ said []string }

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func TestUntil(t *testing.T) {
	for name, c := range map[string]struct {
		at     time.Duration // when the event happens
		within time.Duration // how soon it is seen after that
		said   []string
	}{
		"at once":                {0, 0, nil},
		"soon":                   {time.Millisecond, time.Millisecond, nil},
		"after a while":          {10 * time.Second, 20 * time.Millisecond, nil},
		"at the end of patience": {Patience, 20 * time.Millisecond, nil},
		"too late": {
			Patience + time.Second,
			0,
			[]string{"waited 1m0s for the time; seen at last:\n1m0.0"},
		},
		"never": {time.Hour, 0, []string{"waited 1m0s for the time; seen at last:\n1m0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, test := time.Now(), &failing{}
				seen := Until(test, "the time", func() (time.Duration, bool) {
					passed := time.Since(began)
					return passed, passed >= c.at
				})
				require.Equal(t, time.Since(began), seen, "what was seen last")
				require.Len(t, test.said, len(c.said))
				for i, said := range c.said {
					require.Contains(t, test.said[i], said)
				}
				if c.said == nil {
					require.GreaterOrEqual(t, seen, c.at)
					require.LessOrEqual(t, seen, c.at+c.within)
				}
			})
		})
	}
}

func TestEqual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		test, looks := &failing{}, 0
		Equal(test, 3, func() int { looks++; return looks })
		require.Equal(t, 3, looks)
		require.Empty(t, test.said)
		Equal(test, 3, func() int { return 4 })
		require.Equal(t, []string{"waited 1m0s for 3; seen at last:\n4"}, test.said)
	})
}

func TestContains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		test, log := &failing{}, ""
		Contains(test, "2", func() string { log += strconv.Itoa(len(log)); return log })
		require.Equal(t, "012", log)
		require.Empty(t, test.said)
		Contains(test, "3\n", func() string { return log })
		require.Equal(t, []string{"waited 1m0s for \"3\\n\"; seen at last:\n012"}, test.said)
	})
}

// TestAnotherGoroutine waits for another goroutine, in real time and in a bubble.
func TestAnotherGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan string, 1)
		go func() {
			time.Sleep(Patience / 2)
			done <- "done"
		}()
		Equal(t, 1, func() int { return len(done) })
	})
}
