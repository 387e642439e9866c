//go:build browser

package pages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/pages"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// opened opens a comparison in a browser.
func opened(t *testing.T, made *pages.Page, v browsertest.View) *browsertest.Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compare.html")
	require.NoError(t, os.WriteFile(file, []byte(html(t, made)), 0o600))
	return browsertest.Open(t, file, v)
}

func two(t *testing.T) *pages.Page {
	t.Helper()
	return compared(t, schedule("easy.csv", 800, 1, hostile), schedule("slack.csv", 800, 0.5, hostile))
}

const said = `document.querySelector(".said").textContent`

// A dot that is pointed at names its job, and so do the keys.
func TestPointingAtAJob(t *testing.T) {
	p := opened(t, two(t), browsertest.View{Width: 1200, Height: 900})
	most := browsertest.Eval[string](p, `compared[0].dots[compared[0].changed[0]][3]`)
	p.Do(chromedp.Focus(chromedp.CSS(".dots canvas")), chromedp.KeyEvent(kb.ArrowRight))
	require.True(t, strings.HasPrefix(browsertest.Eval[string](p, said), "job "+most+" of "), "first the one that changed most")
	p.Do(chromedp.KeyEvent(kb.ArrowRight))
	second := browsertest.Eval[string](p, said)
	require.False(t, strings.HasPrefix(second, "job "+most+" of "))
	p.Do(chromedp.KeyEvent(kb.ArrowLeft))
	require.True(t, strings.HasPrefix(browsertest.Eval[string](p, said), "job "+most+" of "))

	place := browsertest.Eval[[]float64](p, `(() => { const d = compared[0], dot = d.dots[d.changed[1]];
		d.canvas.scrollIntoView({block: "center"});
		const box = d.canvas.getBoundingClientRect(); return [box.left + d.x(dot[0]), box.top + d.y(dot[1])] })()`)
	p.Do(chromedp.MouseClickXY(place[0], place[1]))
	require.Equal(t, second, browsertest.Eval[string](p, said))
	require.Regexp(t, `\nwaits [\d,]+ s under easy, [\d,]+ s under slack \([+−][\d,]+ s\)`, second)
	p.Shot("compare-dots", false)
}

// The picture follows the theme; on paper it is light.
func TestThemes(t *testing.T) {
	p := opened(t, two(t), browsertest.View{Width: 1200, Height: 900, Dark: true})
	picture := `compared[0].canvas.toDataURL()`
	dark := browsertest.Eval[string](p, picture)
	p.Do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, "light", browsertest.Eval[string](p, `document.documentElement.dataset.theme`))
	light := browsertest.Eval[string](p, picture)
	require.NotEqual(t, dark, light)
	p.Do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, "dark", browsertest.Eval[string](p, `document.documentElement.dataset.theme`))
	require.Equal(t, dark, browsertest.Eval[string](p, picture))
	_, err := chromedp.Call(p.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	onPaper := browsertest.Eval[[]int](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		const all = compared[0].canvas.getContext("2d").getImageData(0, 0, 300, 300).data, sum = [0, 0];
		for (let i = 0; i < all.length; i += 4) if (all[i + 3] > 250) { sum[0] += all[i]; sum[1]++ }
		done(sum) })))`)
	require.Positive(t, onPaper[1])
	require.Less(t, onPaper[0]/onPaper[1], 0xcd, "dark lines and dots")
	p.Shot("compare-print", true)
	p.Shot("compare-light", true)
	require.Greater(t, len(p.PDF()), 20_000)
}

// On a phone nothing but tables and charts scrolls sideways.
func TestNarrow(t *testing.T) {
	p := opened(t, two(t), browsertest.View{Width: 360, Height: 740})
	require.LessOrEqual(t, browsertest.Eval[int](p, `document.documentElement.scrollWidth`), 360)
	require.LessOrEqual(t, browsertest.Eval[float64](p, `compared[0].canvas.getBoundingClientRect().right`), 360.0)
	p.Shot("compare-360", true)
}

// As many dots as there can be are drawn and searched in no time.
func TestManyDots(t *testing.T) {
	made := two(t)
	shapes := &made.Jobs[0].Shapes
	shapes.Dots, shapes.Decades = nil, 6
	for x := range 6*compare.PerDecade + 1 {
		for y := range 6*compare.PerDecade + 1 {
			shapes.Dots = append(shapes.Dots, compare.Dot{X: x, Y: y, Jobs: 9, Job: compare.Job{Name: "j", A: int64(x), B: int64(y)}})
		}
	}
	p := opened(t, made, browsertest.View{Width: 1200, Height: 900})
	took := browsertest.Eval[[]float64](p, `(() => { const d = compared[0], t = [performance.now()];
		d.draw(); t.push(performance.now());
		for (let i = 0; i < 100; i++) d.choose(d.nearest(60 + 5 * i, 400));
		t.push(performance.now()); return [t[1] - t[0], (t[2] - t[1]) / 100] })()`)
	t.Logf("%d dots: drawn in %.0f ms, %.2f ms a move", len(shapes.Dots), took[0], took[1])
	require.Less(t, took[0], 5000.0)
	require.Less(t, took[1], 100.0)
}
