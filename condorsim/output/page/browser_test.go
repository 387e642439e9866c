//go:build browser

package page_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// opened opens the report of a folder in a browser.
func opened(t *testing.T, dir string, v browsertest.View) *browsertest.Page {
	t.Helper()
	file := filepath.Join(dir, "report.html")
	f, err := results.Read(dir)
	require.NoError(t, err)
	f.Manifest.Paper = "guarantees"
	s, err := page.NewStudy(f, "")
	require.NoError(t, err)
	_, err = s.Write(page.Output{Page: created(t, file)})
	require.NoError(t, err)
	return browsertest.Open(t, file, v)
}

// shown returns the text of the visible cells of a column in a measure's table.
const shown = `[...document.querySelectorAll("#compare .chosen table")][0]`

func firstColumn(p *browsertest.Page) []string {
	p.Helper()
	return browsertest.Eval[[]string](p,
		`[...`+shown+`.tBodies[0].rows].map(r => r.cells[0].textContent + " " + r.cells[1].textContent)`)
}

func TestTablesSort(t *testing.T) {
	p := opened(t, folder(t, 0.8, 1, 1.2), browsertest.View{Width: 1400, Height: 900})
	before := firstColumn(p)
	require.Len(t, before, 6)
	press := func(column int) {
		p.Do(chromedp.Click(chromedp.CSS(`#compare .chosen table thead th:nth-child(` +
			string(rune('0'+column)) + `) button`)))
	}
	state := func(column int) string {
		return browsertest.Eval[string](p,
			shown+`.tHead.rows[0].cells[`+string(rune('0'+column-1))+`].getAttribute("aria-sort")`)
	}
	press(2)
	require.Equal(t, "ascending", state(2))
	require.Equal(t, []string{"one 0.8", "two <b> 0.8", "one 1", "two <b> 1", "one 1.2", "two <b> 1.2"}, firstColumn(p),
		"by load, equal ones as they were")
	press(4)
	numbers := `[...` + shown + `.tBodies[0].rows].map(r => Number(r.cells[3].dataset.v))`
	require.IsNonDecreasing(t, browsertest.Eval[[]float64](p, numbers))
	require.Equal(t, "none", state(2))
	p.Do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "descending", state(4), "the header has the focus, and keys sort too")
	require.IsNonIncreasing(t, browsertest.Eval[[]float64](p, numbers))
	press(1)
	require.Equal(t, "one 1.2", firstColumn(p)[0])
}

func TestChoosingAMeasureAndATrace(t *testing.T) {
	p := opened(t, folder(t, 1, 1.2), browsertest.View{Width: 1400, Height: 900})
	visible := func(selector string) int {
		return browsertest.Eval[int](p, `[...document.querySelectorAll("`+selector+
			`")].filter(e => e.offsetParent !== null).length`)
	}
	require.Equal(t, 1, visible("#compare .optional"))
	require.Equal(t, 2, visible("#compare figure"), "bars, and curves over the load")
	require.Equal(t, 5, visible("#details figure"))
	choose(p, "Utilisation")
	require.Equal(t, "utilisation",
		browsertest.Eval[string](p, `document.querySelector("#compare .chosen").dataset.measure`))
	unpacked(p)
	require.Contains(t, browsertest.Ask(p, chromedp.Text(chromedp.CSS("#compare .chosen h3"))), "Utilisation")
	p.Do(chromedp.Focus(chromedp.CSS("select[data-chooses=group]")), chromedp.KeyEvent(kb.ArrowDown))
	require.Equal(t, "one-load-1.2",
		browsertest.Eval[string](p, `document.querySelector("#details .chosen").dataset.group`))
	unpacked(p)
	require.Equal(t, 5, visible("#details figure"))
}

// choose chooses a measure as a person does, but without typing: a slow browser forgets earlier
// letters.
func choose(p *browsertest.Page, measure string) {
	p.Helper()
	require.True(p, browsertest.Eval[bool](p, `(select => {
		const option = [...select.options].find(o => o.text.startsWith("`+measure+`"));
		if (!option) return false;
		select.focus();
		select.value = option.value;
		return select.dispatchEvent(new Event("change", {bubbles: true}));
	})(document.querySelector("select[data-chooses=measure]"))`), measure)
}

// unpacked waits until the chosen part is there.
func unpacked(p *browsertest.Page) {
	p.Helper()
	browsertest.Eval[bool](p, `new Promise(done => { const look = () => `+
		`[...document.querySelectorAll(".chosen")].every(e => e.querySelector("figure, table")) ? done(true) `+
		`: setTimeout(look, 5); look() })`)
}

// Parts that are unpacked later work like those that are there from the beginning.
func TestUnpackedParts(t *testing.T) {
	p := opened(t, folder(t), browsertest.View{Width: 1400, Height: 900})
	p.Do(chromedp.Focus(chromedp.CSS("#compare .chosen .key")), chromedp.KeyEvent(kb.Enter))
	choose(p, "Median wait")
	unpacked(p)
	require.Equal(t, []string{"false", "true"},
		browsertest.Eval[[]string](p, `[...document.querySelectorAll("#compare .chosen .key")].map(k => `+
			`k.getAttribute("aria-pressed"))`), "what is hidden stays hidden")
	require.Positive(t, browsertest.Eval[int](p, `document.querySelectorAll("#compare .chosen .off").length`))
	p.Do(chromedp.Focus(chromedp.CSS("#compare .chosen .key")), chromedp.KeyEvent(kb.Enter))
	require.Zero(t, browsertest.Eval[int](p, `document.querySelectorAll(".off").length`))
	p.Do(chromedp.Click(chromedp.CSS("#compare .chosen table thead th:nth-child(2) button")))
	numbers := browsertest.Eval[[]float64](p, `[...`+shown+`.tBodies[0].rows].map(r => Number(r.cells[1].dataset.v))`)
	require.Len(t, numbers, 2)
	require.IsNonDecreasing(t, numbers)
	require.Zero(t, browsertest.Eval[int](p, `document.querySelectorAll("#compare .chosen script").length`))
	p.Do(chromedp.Focus(chromedp.CSS("select[data-chooses=measure]")), chromedp.KeyEvent(kb.Home))
	choose(p, "Median wait")
	require.Equal(t, numbers, browsertest.Eval[[]float64](p,
		`[...`+shown+`.tBodies[0].rows].map(r => Number(r.cells[1].dataset.v))`), "it is unpacked once")
}

func TestLegendAndReadingOff(t *testing.T) {
	p := opened(t, folder(t), browsertest.View{Width: 1400, Height: 900})
	state := `[...document.querySelectorAll("#compare .chosen .key")].map(k => k.getAttribute("aria-pressed"))`
	p.Do(chromedp.Focus(chromedp.CSS("#compare .chosen .key")), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, []string{"false", "true"}, browsertest.Eval[[]string](p, state))
	require.Equal(t, browsertest.Eval[int](p, `document.querySelectorAll('.chart [data-s="1"]').length`),
		browsertest.Eval[int](p, `document.querySelectorAll('.chart .off').length`), "hidden everywhere")
	p.Do(chromedp.KeyEvent(" "))
	require.Zero(t, browsertest.Eval[int](p, `document.querySelectorAll('.chart .off').length`))

	// After scrolling, the browser moves the pointer once more, to where it was. So the pointer is
	// moved until the text is as wanted.
	reads := func(selector string, right float64, want string) {
		t.Helper()
		said := ""
		for try := range 100 {
			at := browsertest.Eval[[]float64](p, `(() => {
				const e = document.querySelector('`+selector+`'); e.scrollIntoView({block: "center"});
				const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height] })()`)
			p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]+right*at[2],
				at[1]+at[3]/2+float64(try%2)))
			said = browsertest.Eval[string](p,
				`document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`)
			if regexp.MustCompile(want).MatchString(said) {
				return
			}
			p.Do(chromedp.Sleep(20 * time.Millisecond))
		}
		require.Regexp(t, want, said)
	}
	reads(`#compare .chosen rect[data-tip]`, 0.5, `^easy on one\n[\d.]+ % (better|worse) than conservative\n`)
	reads(`#details .chosen figure .plot`, 0.999, `(?s)^wait [\d.]+ h\n.*easy: 100 %`)
	reads(`#details .chosen figure .plot`, 0.002, `(?s)^wait 0(.0\d+)? s\n.*easy: [\d.]+ %`)
	reads(`#details .chosen figure:nth-of-type(2) .plot`, 0.5, `(?s)^time since`)
}

// The table of all cells shows a few columns at first, and the reader chooses others; its names and
// its header stay where they are when it scrolls.
func TestColumnsOfAllCells(t *testing.T) {
	p := opened(t, folder(t), browsertest.View{Width: 700, Height: 900})
	columns := func() []string {
		return browsertest.Eval[[]string](p, `[...document.querySelectorAll("#cells thead th")].filter(e => `+
			`e.offsetParent).map(e => e.querySelector("button").textContent)`)
	}
	some := columns()
	require.Contains(t, some, "Scheduler")
	require.Contains(t, some, "Mean wait")
	require.Less(t, len(some), 14)
	said := func() string {
		return browsertest.Eval[string](p, `document.querySelector(".columns summary").textContent`)
	}
	all := browsertest.Eval[int](p, `document.querySelectorAll("#cells thead th").length`)
	require.Equal(t, fmt.Sprintf("Columns: %d of %d shown", len(some), all), said())
	press := func(text string) {
		browsertest.Eval[bool](p, `([...document.querySelectorAll(".columns button, .columns input")].find(e => `+
			`(e.textContent || e.parentElement.textContent) === "`+text+`").click(), true)`)
	}
	press("Mean wait")
	require.NotContains(t, columns(), "Mean wait")
	require.Zero(t, browsertest.Eval[int](p, `[...document.querySelectorAll("#cells tbody tr")].filter(r => `+
		`[...r.cells].filter(c => c.offsetParent).length !== `+strconv.Itoa(len(some)-1)+`).length`),
		"rows have the columns of the header")
	press("None")
	require.Equal(t, []string{"Cell"}, columns())
	press("As at first")
	require.Equal(t, some, columns())
	press("All")
	require.Len(t, columns(), all)
	p.Shot("report-columns", false)
	stays := browsertest.Eval[[]float64](p, `(() => {
		const box = document.querySelector("#cells .scroll"), head = box.querySelector("th");
		const name = box.querySelector("tbody tr:last-child th"), at = box.getBoundingClientRect();
		box.style.maxHeight = "6rem";
		box.scrollTo(3000, 30);
		return [box.scrollLeft, box.scrollTop, head.getBoundingClientRect().left - at.left,
			head.getBoundingClientRect().top - at.top, name.getBoundingClientRect().left - at.left,
			document.documentElement.scrollWidth] })()`)
	require.Equal(t, []float64{3000, 30, 0, 0, 0, 700}, stays)
}

// What is wider than its box is shaded at the edge beyond which there is more.
func TestScrollCues(t *testing.T) {
	for _, dark := range []bool{false, true} {
		p := opened(t, folder(t), browsertest.View{Width: 500, Height: 900, Dark: dark})
		edges := func(left int) (shaded [2]bool) {
			at := browsertest.Eval[[]float64](p, fmt.Sprintf(`(() => {
				const e = document.querySelector("#details .chosen figure");
				e.scrollIntoView({block: "center"});
				e.scrollLeft = %d;
				const b = e.getBoundingClientRect(); return [b.left + 4, b.right - 4, b.top + b.height / 2] })()`, left))
			shot, err := png.Decode(bytes.NewReader(browsertest.Ask(p, chromedp.CaptureScreenshot())))
			require.NoError(t, err)
			colour := func(x float64) string { return fmt.Sprint(shot.At(int(x), int(at[2]))) }
			card := browsertest.Eval[[]int](p, `getComputedStyle(document.querySelector("figure")).backgroundColor`+
				`.match(/\d+/g).map(Number)`)
			plain := fmt.Sprintf("{%d %d %d 255}", card[0], card[1], card[2])
			return [2]bool{colour(at[0]) != plain, colour(at[1]) != plain}
		}
		require.Equal(t, [2]bool{false, true}, edges(0))
		require.Equal(t, [2]bool{true, true}, edges(50))
		require.Equal(t, [2]bool{true, false}, edges(9999))
	}
}

func TestThemes(t *testing.T) {
	p := opened(t, folder(t), browsertest.View{Width: 1400, Height: 900, Dark: true})
	colours := `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector(".chart ` +
		`.s1")).color].join()`
	dark := browsertest.Eval[string](p, colours)
	p.Shot("report-dark", true)
	p.Do(chromedp.Click(chromedp.CSS("#theme")))
	light := browsertest.Eval[string](p, colours)
	require.NotEqual(t, dark, light)
	require.Contains(t, browsertest.Ask(p, chromedp.Text(chromedp.CSS("#theme"))), "Light")
	p.Shot("report-light", true)
	p.Do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, dark, browsertest.Eval[string](p, colours))
	label := ""
	// The browser may apply it after the page is loaded again.
	for tries := 0; !strings.Contains(label, "Dark"); tries++ {
		require.Less(t, tries, 20, "it is remembered")
		p.Do(chromedp.Reload())
		label = browsertest.Ask(p, chromedp.Text(chromedp.CSS("#theme")))
	}
}

// Text has a contrast of at least 4.5 : 1 in both themes, on every background.
func TestContrast(t *testing.T) {
	const worst = `(() => {
		const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
		const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
		const light = rgb => rgb.map(linear).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
		const ground = (e) => {
			for (; e; e = e.parentElement) {
				const c = parse(getComputedStyle(e).backgroundColor);
				if (c.length === 3 || c[3] > 0.99) return c;
			}
			return [255, 255, 255];
		};
		let worst = [99, ""];
		for (const e of document.querySelectorAll("body *:not(script)")) {
			if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || e.closest("#tip")) continue;
			const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 100)];
		}
		return worst.join(" ");
	})()`
	for _, dark := range []bool{false, true} {
		p := opened(t, folder(t), browsertest.View{Width: 1400, Height: 900, Dark: dark})
		found := browsertest.Eval[string](p, worst)
		ratio := browsertest.Eval[float64](p, "parseFloat(`"+found[:5]+"`)")
		require.GreaterOrEqual(t, ratio, 4.5, found)
	}
}

// No box is off a narrow page, and sentences are not cut.
func TestAVeryNarrowPage(t *testing.T) {
	for _, width := range []int64{400, 360} {
		p := opened(t, folder(t), browsertest.View{Width: width, Height: 900})
		require.LessOrEqual(t, browsertest.Eval[int64](p, "document.documentElement.scrollWidth"), width)
		require.Empty(t, browsertest.Eval[[]string](p, `[...document.querySelectorAll("figure, .card, .banner, label, select, h1, h2, caption")]`+
			`.filter(e => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1)`+
			`.map(e => e.tagName + " " + e.textContent.slice(0, 60))`))
	}
}

func TestANarrowPageAndPaper(t *testing.T) {
	p := opened(t, folder(t), browsertest.View{Width: 700, Height: 900})
	require.LessOrEqual(t, browsertest.Eval[int](p, "document.documentElement.scrollWidth"),
		700, "wide parts scroll by themselves")
	require.Empty(t, browsertest.Eval[[]string](p, `[...document.querySelectorAll("figure")].filter(e => e.scrollWidth > `+
		`e.clientWidth + 1).map(e => e.textContent.slice(0, 60))`), "charts are seen whole")
	p.Shot("report-700", true)
	pdf := p.PDF()
	require.True(t, bytes.HasPrefix(pdf, []byte("%PDF")))
	pages := bytes.Count(pdf, []byte("/Type /Page\n")) + bytes.Count(pdf, []byte("/Type/Page/")) + bytes.Count(pdf,
		[]byte("/Type /Page /"))
	require.Greater(t, pages, 3)
	require.Less(t, pages, 20)
	headings := browsertest.Eval[[]string](p, `[...document.querySelectorAll("h1, h2")].map(h => h.tagName)`)
	require.Equal(t, []string{"H1", "H2", "H2", "H2", "H2", "H2", "H2"}, headings)
	require.Zero(t, browsertest.Eval[int](p,
		`[...document.querySelectorAll("button, select, svg")].filter(e => !(e.textContent.trim() || `+
			`e.getAttribute("aria-label") || e.labels?.length)).length`), "everything has a name")
	require.Zero(t, browsertest.Eval[int](p,
		`(() => { const ids = [...document.querySelectorAll("[id]")].map(e => e.id); return ids.length - new `+
			`Set(ids).size })()`))
}
