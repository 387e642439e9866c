//go:build browser

package livepage_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

// busy returns for how many milliseconds the page has kept a processor busy, however many others wanted it.
func busy(p *browsertest.Page) float64 {
	p.Helper()
	got, err := chromedp.Call(p.Context, performance.GetMetrics, cdp.Empty{})
	require.NoError(p, err)
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	p.Fatal("the browser says nothing of tasks")
	return 0
}

// measured opens a page with a chart as charted does, and counts for how long it keeps a processor busy.
func measured(t *testing.T, server string, v browsertest.View) *browsertest.Page {
	t.Helper()
	v.Breaks = true // a style has no icon, which the browser asks for
	p := browsertest.Visit(t, server, "/assets/now.css", v)
	_, err := chromedp.Call(p.Context, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	require.NoError(t, err)
	p.Do(chromedp.Navigate(server + "/"))
	waitFor(p, drawn+" > 0")
	return p
}

// The figures of a pool of 10,000 slots and 50,000 jobs that changes every second: the test asserts that everything
// is drawn, and prints how long that takes.
func TestChartOfManySlots(t *testing.T) {
	p := madeUp(10_000, 50_000)
	server, _ := served(t, p)
	whole := httptest.NewServer(server)
	t.Cleanup(func() {
		whole.CloseClientConnections()
		whole.Close()
	})
	for _, what := range []string{"in a new browser", "again"} {
		page := measured(t, whole.URL, browsertest.View{Width: 1600, Height: 1000})
		t.Logf("%s: first paint of the whole page after %.0f ms, with %.0f ms of processor time; the picture came from %.0f to %.0f ms",
			what, browsertest.Eval[float64](page, drawn), busy(page),
			browsertest.Eval[float64](page, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("picture")).requestStart`),
			browsertest.Eval[float64](page, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("picture")).responseEnd`))
		require.Len(t, browsertest.Eval[[]string](page, `performance.getEntriesByType("resource").map((e) => e.name).filter((n) => n.endsWith("picture"))`), 1,
			"the picture is loaded once")
		page.Shot("page-1600", false)
		browsertest.Eval[bool](page, "shell.store.stop(), true")
	}
	alone := chart(server)
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/next" {
			alone.ServeHTTP(out, r)
			return
		}
		p.pass(60)
		server.Show(p.picture())
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	tab := measured(t, web.URL, browsertest.View{Width: 1600, Height: 1000})
	require.False(t, browsertest.Eval[bool](tab, "view.painter.detail"))
	require.Equal(t, 10_000, browsertest.Eval[int](tab, "store.slots.size"))
	tab.Shot("bands-1600", false)
	before := busy(tab)
	// Zooms and pans for some seconds, as by a wheel and a hand: the time between frames, and that of drawing.
	took := browsertest.Eval[[]float64](tab, `(async () => {
		frames.length = 0;
		let asked = Promise.resolve();
		const timer = setInterval(() => { asked = asked.then(() => fetch("/next")); }, 1000);
		const v = view.view, all = { ...v.limits }, between = [];
		let last = performance.now();
		for (let i = 0; i < 400; i++) {
			const phase = i % 200;
			if (phase < 80) { v.zoomLanes(0.93, 60000); if (phase % 2) v.zoom(0.985); }
			else if (phase < 120) v.move(0.01, 0.02);
			else { v.zoomLanes(1 / 0.93, 60000); if (phase % 2) v.zoom(1 / 0.985); }
			await new Promise((next) => requestAnimationFrame(next));
			const now = performance.now();
			between.push(now - last);
			last = now;
		}
		const at = (list, share) => list.sort((a, b) => a - b)[Math.floor(list.length * share)];
		const drawing = [...frames];
		clearInterval(timer);
		await asked;
		return [at(between, 0.5), at(between, 0.95), at(between, 0.99), Math.max(...between), at(drawing, 0.5), at(drawing, 0.95), Math.max(...drawing), store.version];
	})()`)
	spent := (busy(tab) - before) / 400
	_, err := chromedp.Call(tab.Context, heapprofiler.CollectGarbage, cdp.Empty{})
	require.NoError(t, err)
	heap, err := chromedp.Call(tab.Context, runtime.GetHeapUsage, cdp.Empty{})
	require.NoError(t, err)
	t.Logf("between frames: median %.0f ms, 95 %% %.0f ms, 99 %% %.0f ms, most %.0f ms; drawing: median %.1f ms, 95 %% %.0f ms, most %.0f ms; heap %.0f MB; %.0f pictures; %.1f ms of processor time a frame",
		took[0], took[1], took[2], took[3], took[4], took[5], took[6], heap.UsedSize/(1<<20), took[7], spent)
	require.Greater(t, took[7], 1.0, "differences came meanwhile")
	tab.Shot("bands-later", false)
	require.True(t, browsertest.Eval[bool](tab, `(() => {
		const { painter } = view, { bands } = painter;
		view.view.all();
		painter.draw();
		const kept = bands.sums.slice();
		bands.forget();
		painter.copied = false;
		painter.draw();
		return kept.some((v) => v > 1) && kept.every((v, i) => Math.abs(v - bands.sums[i]) < 0.05) })()`), "what rows changed is known")
	browsertest.Eval[bool](tab, "view.view.lanes(50000, 50400), true")
	settle(tab)
	require.True(t, browsertest.Eval[bool](tab, "view.painter.detail"), "closer, every job is drawn")
	require.Greater(t, browsertest.Eval[int](tab, "view.painter.drawn"), 20)
	tab.Shot("bands-closer", false)
}
