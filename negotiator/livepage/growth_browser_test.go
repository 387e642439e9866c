//go:build browser

package livepage_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

// TestNothingGrows gives each view hundreds of answers that differ: the page keeps none of what it has shown.
func TestNothingGrows(t *testing.T) {
	p := browsertest.Visit(t, live(t, toldPool{}), "/#/queue", browsertest.View{Width: 1000, Height: 700})
	nodes := func() int64 {
		_, err := chromedp.Call(p.Context, heapprofiler.CollectGarbage, cdp.Empty{})
		require.NoError(t, err)
		counted, err := chromedp.Call(p.Context, memory.GetDOMCounters, cdp.Empty{})
		require.NoError(t, err)
		return counted.Nodes
	}
	for _, c := range []struct{ hash, there, path, change string }{
		{views[1].hash, views[1].there, "queue?alike=0", "for (const r of a.rows) { r.reason = 'for the time ' + i; r.id += 7; }"},
		{"#/job/55.0", views[2].there, "jobs/55.0", "a.history.push({ at: a.history.at(-1).at + i, start: a.history[0].start + i }); a.text = 'the time ' + i; a.history.splice(0, a.history.length - 40);"},
		{views[3].hash, views[3].there, "promises", "for (const s of a.starts) s.started += i; a.broken[0].at += i;"},
		{views[4].hash, views[4].there, "pool", "for (const u of a.users) u.user += i; a.problems = ['the time ' + i]; for (const c of a.cycles) c.took += i;"},
	} {
		browsertest.Eval[string](p, fmt.Sprintf("location.hash = %q", c.hash))
		waitFor(p, c.there)
		fill := func(times int) {
			browsertest.Eval[bool](p, fmt.Sprintf(`(async () => { const view = shell.made.get(shell.view), text = JSON.stringify(await shell.app.api(%q));
				view.fresh.stop();
				for (let i = 0; i < %d; i++) { const a = JSON.parse(text); %s view.fill(a); if (i %% 20 === 0) await new Promise(requestAnimationFrame); }
				return true; })()`, c.path, times, c.change))
		}
		fill(40)
		before := nodes()
		fill(400)
		require.Less(t, nodes(), before+before/3+2000, c.hash)
	}
}
