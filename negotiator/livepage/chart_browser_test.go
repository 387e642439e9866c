//go:build browser

package livepage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

func TestChart(t *testing.T) {
	p := madeUp(12, 80)
	p.slots[2].Down = true
	p.slots[3].Drain = &picture.Drain{From: p.now + 3000, Until: picture.Moment{At: p.now + 9000, Known: true}, Why: "new disks"}
	p.slots[4].End = picture.Moment{At: p.now + 20_000, Known: true}
	_, url := served(t, p)
	tab := charted(t, url, browsertest.View{Width: 1400, Height: 900})
	require.True(t, browsertest.Eval[bool](tab, "view.painter.detail"))
	require.Greater(t, browsertest.Eval[int](tab, "view.painter.drawn"), 20)
	tab.Shot("chart-1400", false)
	name := p.jobs[slices.IndexFunc(p.jobs, func(j picture.Job) bool { return j.Situation == "reserved" })].Name
	browsertest.Eval[bool](tab, "view.goTo("+fmt.Sprintf("%q", name)+"), true")
	waitFor(tab, "view.state.windows")
	require.Contains(t, browsertest.Eval[string](tab, "document.querySelector('.now-panel').textContent"), name)
	require.Equal(t, "#/job/"+name, browsertest.Eval[string](tab, "document.querySelector('.now-panel a').getAttribute('href')"))
	tab.Shot("chart-chosen", false)
	require.Contains(t, browsertest.Eval[string](tab, "document.querySelector('.now-summary').textContent"), "jobs run on 12 slots")
	require.NotContains(t, browsertest.Eval[string](tab, "document.querySelector('.now-table').outerHTML"), "<script")
}

// Names are only texts, wherever they are.
func TestHostileNamesInTheChart(t *testing.T) {
	p := madeUp(3, 12)
	hostile := "<img src=x onerror=alert(1)>\u202e'\"&\n" + strings.Repeat("long ", 2000)
	for i := range p.jobs {
		p.jobs[i].Owner, p.jobs[i].Name = hostile, fmt.Sprint(i, hostile)
	}
	p.slots[0].Name, p.slots[0].Machine = hostile, hostile
	p.slots[1].Drain = &picture.Drain{From: p.now, Why: hostile}
	_, url := served(t, p)
	tab := charted(t, url, browsertest.View{Width: 360, Height: 740})
	browsertest.Eval[bool](tab, "view.goTo(store.jobs.get(1).job), document.querySelector('.now-table').open = true")
	waitFor(tab, "document.querySelectorAll('.now-table tbody tr').length > 0 && view.reason === ''")
	require.Zero(t, browsertest.Eval[int](tab, "document.querySelectorAll('section img').length"))
	require.Equal(t, 360, browsertest.Eval[int](tab, "document.documentElement.scrollWidth"), "nothing sticks out")
	tab.Shot("hostile-360", false)
	browsertest.Eval[bool](tab, "view.click(200, 60), view.hover(200, 60, { clientX: 200, clientY: 60 }), true")
	settle(tab)
	require.Equal(t, 360, browsertest.Eval[int](tab, "document.documentElement.scrollWidth"))
}

func TestSearchInTheChart(t *testing.T) {
	p := madeUp(300, 1500)
	_, url := served(t, p)
	tab := charted(t, url, browsertest.View{Width: 1400, Height: 900})
	look := func(text string) {
		browsertest.Eval[bool](tab, fmt.Sprintf(`(() => { view.query.value = %q; view.query.dispatchEvent(new Event("input")); view.search.requestSubmit(); return true })()`, text))
		settle(tab)
	}
	look("1234.0")
	require.Equal(t, "1234.0", browsertest.Eval[string](tab, "view.chosen"))
	require.True(t, browsertest.Eval[bool](tab, "view.painter.detail"), "close enough to see it")
	require.True(t, browsertest.Eval[bool](tab, "(() => { const [p] = view.lanes.pieces.get(view.state.chosen.id); return p.row.lane >= view.view.l0 - 1 && p.row.lane < view.view.l1 })()"))
	look("user07")
	require.Regexp(t, `^1 of \d+$`, browsertest.Eval[string](tab, "view.found.textContent"))
	require.Equal(t, "user07", browsertest.Eval[string](tab, "view.state.chosen.owner"))
	tab.Shot("search", false)
	look("slot1@m250.example")
	require.Equal(t, "slot1@m250.example.org", browsertest.Eval[string](tab, "view.state.slot.slot.name"))
	require.Contains(t, browsertest.Eval[string](tab, "document.querySelector('.now-panel').textContent"), "Slot slot1@m250.example.org")
	look("nobody")
	require.Equal(t, "nothing here has this name", browsertest.Eval[string](tab, "view.found.textContent"))
}

func TestKeysOfTheChart(t *testing.T) {
	p := madeUp(30, 200)
	_, url := served(t, p)
	tab := charted(t, url, browsertest.View{Width: 1400, Height: 900})
	span := func() float64 { return browsertest.Eval[float64](tab, "view.view.t1 - view.view.t0") }
	first := span()
	tab.Do(chromedp.Focus(chromedp.CSS(".now-stage")), chromedp.KeyEvent("+"))
	require.InDelta(t, first*0.6, span(), 1)
	tab.Do(chromedp.KeyEvent("0"))
	require.Greater(t, span(), first, "0 shows all")
	tab.Do(chromedp.KeyEvent("n"))
	require.InDelta(t, first, span(), first/100)
	tab.Do(chromedp.KeyEvent("]"))
	one := browsertest.Eval[string](tab, "view.chosen")
	tab.Do(chromedp.KeyEvent("]"))
	require.NotEqual(t, one, browsertest.Eval[string](tab, "view.chosen"))
	tab.Do(chromedp.KeyEvent("["), chromedp.KeyEvent("["))
	tab.Do(chromedp.KeyEvent(kb.Escape))
	require.Equal(t, "Nothing chosen", browsertest.Eval[string](tab, "document.querySelector('.now-panel h2').textContent"))
	for _, way := range []string{"group", "width", "situation", "wait", "user"} {
		browsertest.Eval[bool](tab, fmt.Sprintf(`view.colour.value = %q, view.colour.dispatchEvent(new Event("change"))`, way))
		settle(tab)
		require.Greater(t, browsertest.Eval[int](tab, "view.legend.children.length"), 4, way)
		require.True(t, browsertest.Eval[bool](tab, "[...store.jobs.values()].every((j) => view.painter.colours[view.painter.classOf(j)])"), way)
		tab.Shot("colour-"+way, false)
	}
}

// Two fingers zoom time, slots, or both, and what is under them stays there.
func TestFingersOnTheChart(t *testing.T) {
	_, url := served(t, madeUp(30, 200))
	tab := charted(t, url, browsertest.View{Width: 700, Height: 900})
	got := browsertest.Eval[[]float64](tab, `(() => {
		const v = view.view, box = view.stage.getBoundingClientRect();
		const finger = (type, pointerId, x, y) => view.stage.dispatchEvent(new PointerEvent(type, { pointerId, clientX: box.left + x, clientY: box.top + y, button: 0, bubbles: true }));
		view.stage.setPointerCapture = () => {}; // these fingers are no real ones
		const before = v.time(300), length = v.t1 - v.t0, lanes = v.l1 - v.l0;
		finger("pointerdown", 1, 250, 200);
		finger("pointerdown", 2, 350, 210);
		finger("pointermove", 1, 200, 200);
		finger("pointermove", 2, 400, 210);
		const after = v.time(300), shorter = v.t1 - v.t0;
		finger("pointerup", 2, 400, 210);
		finger("pointerup", 1, 200, 200);
		return [length / shorter, before - after, (v.l1 - v.l0) / lanes, view.chosen === null ? 0 : 1] })()`)
	require.InDelta(t, 2, got[0], 0.01)
	require.InDelta(t, 0, got[1], 1)
	require.InDelta(t, 1, got[2], 1e-9, "the fingers are apart in time only")
	require.Zero(t, got[3], "nothing was clicked")
}

// Printed, the chart has the colours of paper and a table of what is in sight.
func TestChartOnPaper(t *testing.T) {
	_, url := served(t, madeUp(12, 60))
	tab := charted(t, url, browsertest.View{Width: 1200, Height: 800, Dark: true})
	browsertest.Eval[bool](tab, `(() => { window.inks = []; const draw = view.painter.draw.bind(view.painter);
		view.painter.draw = () => { inks.push(view.painter.ink.card); draw(); }; return true })()`)
	pdf, err := chromedp.Run(tab.Context, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	require.NoError(t, err)
	require.NotEmpty(t, pdf)
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "chart.pdf"), pdf, 0o600))
	}
	_, err = chromedp.Call(tab.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	tab.Shot("paper", false)
	_, err = chromedp.Call(tab.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	require.NoError(t, err)
	settle(tab)
	inks := browsertest.Eval[[]string](tab, "inks")
	require.NotEqual(t, inks[0], inks[len(inks)-1], "paper is light, the screen is dark again")
	require.Greater(t, browsertest.Eval[int](tab, "document.querySelectorAll('.now-table tbody tr').length"), 10)
}

// On a screen on a wall everything is larger, and the pointer is still where it is.
func TestChartOnAWall(t *testing.T) {
	_, url := served(t, madeUp(40, 300))
	tab := charted(t, url, browsertest.View{Width: 2560, Height: 1440})
	require.InDelta(t, 1.5, browsertest.Eval[float64](tab, "view.view.scale"), 0)
	where := browsertest.Eval[[]float64](tab, `(() => {
		const job = [...store.jobs.values()].filter((j) => j.situation === "runs").sort((a, b) => b.cpus - a.cpus)[0];
		const [p] = view.lanes.pieces.get(job.id), v = view.view, box = view.stage.getBoundingClientRect();
		view.lanes.settled(p.row);
		const [lane, lanes] = p.parts[0];
		return [box.left + v.x(v.t0 / 2 + Math.min(p.end, v.t1) / 2 > p.start ? store.head.now : p.start) * 1.5, box.top + v.y(p.row.lane + lane + lanes / 2) * 1.5, job.id] })()`)
	tab.Do(chromedp.MouseClickXY(where[0], where[1]))
	settle(tab)
	require.InDelta(t, where[2], browsertest.Eval[float64](tab, "view.state.chosen.id"), 0)
	tab.Shot("chart-wall", false)
}
