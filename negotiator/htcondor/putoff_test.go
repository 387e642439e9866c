package htcondor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPutOffForEver: a gang as wide as the pool that has a time of its own, and is put off, or
// submitted anew before that comes, again and again, keeps the pool from others once in a
// while at most.
func TestPutOffForEver(t *testing.T) {
	const ahead = 300
	for name, again := range map[string]func(w *world, gang *sleeper, extra string) *sleeper{
		"put off": func(_ *world, gang *sleeper, extra string) *sleeper { gang.extra = extra; return gang },
		"submitted anew": func(w *world, gang *sleeper, extra string) *sleeper {
			gang.done = true
			return w.submit(&sleeper{owner: "eve", nodes: 4, cpus: 4, seconds: 50, estimate: 60, extra: extra})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "slack")
			for i := range 4 {
				n := &node{name: fmt.Sprintf("n%d", i+1), cpus: 4, memory: 8192, policy: true, parts: map[*sleeper]int{}}
				w.nodes = append(w.nodes, n)
			}
			w.account(nil)
			w.negotiator("slack", nil)
			gang := w.submit(&sleeper{owner: "eve", nodes: 4, cpus: 4, seconds: 50, estimate: 60})
			var others []*sleeper
			for s := range 240 {
				if s%22 == 0 { // of 220 s
					at := w.now + ahead
					gang = again(w, gang, fmt.Sprintf("\nDeferralTime = %d\nDeferralWindow = 1000\nDeferralPrepTime = 0", at))
				}
				if s%20 == 0 {
					others = append(others, w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 600, estimate: 660}))
				}
				w.pass(10)
			}
			waits := int64(0)
			for _, j := range others {
				require.NotZero(t, j.runs)
				waits += j.began - j.submit
			}
			require.Less(t, waits, int64(len(others))*60)
		})
	}
}
