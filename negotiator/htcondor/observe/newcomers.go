package observe

import (
	"context"
	"time"
)

// newcomers says how long looks wait for schedds that have not told their queue yet where they are,
// by how far the collector trusts whoever sent their ads: Hold, and half as long for each doubt.
// Names cost nothing, so those that are invented anew for each look would hold each for as long as
// a known schedd.
type newcomers struct{ doubts [4]int }

// arrivals are the newcomers of a look.
type arrivals struct {
	up           [4]context.Context // until when they are waited for
	told, silent [4]bool            // one told its queue; one that was waited for did not answer
}

// begin returns until when newcomers are waited for in a look that waits for others until the
// context ends, hold from now.
func (n *newcomers) begin(wait context.Context, hold time.Duration) (a *arrivals, cancel func()) {
	a = &arrivals{}
	var all [4]context.CancelFunc
	for i, doubts := range n.doubts {
		a.up[i] = wait
		if doubts > 0 {
			a.up[i], all[i] = context.WithTimeout(wait, hold>>doubts)
		}
	}
	return a, func() {
		for _, cancel := range all {
			if cancel != nil {
				cancel()
			}
		}
	}
}

// note notes what came of waiting for a newcomer.
func (a *arrivals) note(trust int, r reading, answered bool) {
	a.silent[trust] = a.silent[trust] || !answered
	a.told[trust] = a.told[trust] || answered && r.err == nil
}

// learn has newcomers doubted more after a look in which one stayed silent, and less after one in
// which they told their queues.
func (n *newcomers) learn(a *arrivals) {
	for i := range n.doubts {
		switch {
		case a.silent[i]:
			n.doubts[i] = min(n.doubts[i]+1, mostDoubts)
		case a.told[i]:
			n.doubts[i] = max(n.doubts[i]-1, 0)
		}
	}
}
