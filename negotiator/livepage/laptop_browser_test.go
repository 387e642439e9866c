//go:build browser

package livepage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

// TestPlacesOnALaptop checks that all places of the page can be seen, however long the state beside them is.
func TestPlacesOnALaptop(t *testing.T) {
	for _, width := range []int64{910, 1000, 1100, 1280, 1490, 1700} {
		p := browsertest.Visit(t, live(t, toldPool{}), "/#/what-if", browsertest.View{Width: width, Height: 800})
		waitFor(p, views[5].there)
		require.True(t, browsertest.Eval[bool](p, `(nav => nav.scrollWidth <= nav.clientWidth)(document.getElementById("views"))`),
			width)
	}
}

// TestBeforeAJob checks that a job's page names who leaves its slots before it, and not who stays beside it.
func TestBeforeAJob(t *testing.T) {
	p := browsertest.Visit(t, live(t, toldPool{}), "/#/job/50.0", browsertest.View{Width: 1000, Height: 800})
	waitFor(p, views[2].there)
	require.Equal(t, []int{1}, browsertest.Eval[[]int](p, `(() => {
		const now = shell.store.head.now;
		const job = (id, start, end, slot) => [id, { id, start: now + start, end: now + end, at: [[slot, 1]] }];
		shell.store.jobs = new Map([job(1, -10, 50, 0), job(2, -10, 500, 0), job(3, 60, 100, 0), job(4, -10, 50, 1)]);
		return shell.made.get("job").before({ id: 3, start: now + 40 }, [[0, 1]]).map((j) => j.id);
	})()`))
}

// TestIdleWithoutAQueue checks that a pool in which nobody waits does not tell of cpus that are of use to who waits.
func TestIdleWithoutAQueue(t *testing.T) {
	p := browsertest.Visit(t, live(t, toldPool{}), "/#/pool", browsertest.View{Width: 1000, Height: 800})
	waitFor(p, views[4].there)
	told := func(queue string) string {
		return browsertest.Eval[string](p, `(view => {
			const idle = { cpus: 9, reserved: 0, usable: 7, largest: 4, slots: 1 };
			view.fill({ ...view.answer, queue: `+queue+`, idle });
			return view.top.textContent;
		})(shell.made.get("pool"))`)
	}
	require.Contains(t, told("[{ cpus: 1, memory: 1, chunks: 1, jobs: 1, slots: 1 }]"), "7idle and of use to a job that waits")
	require.Contains(t, told("[]"), "7idle and of use to any job that comes")
}
