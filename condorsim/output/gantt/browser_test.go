//go:build browser

package gantt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// opened opens the chart of a simulation in a browser.
func opened(t *testing.T, r *condorsim.Result, v browsertest.View) *browsertest.Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gantt.html")
	require.NoError(t, os.WriteFile(file, []byte(made(t, "made-up under conservative", r)), 0o600))
	p := browsertest.Open(t, file, v)
	settle(p)
	return p
}

// settle waits until everything is drawn.
func settle(p *browsertest.Page) {
	p.Helper()
	browsertest.Eval[bool](p, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// seen returns the visible stretch of time and of lanes.
func seen(p *browsertest.Page) (s struct{ T0, T1, L0, L1 float64 }) {
	p.Helper()
	settle(p)
	v := browsertest.Eval[[]float64](p, "[view.t0, view.t1, view.l0, view.l1]")
	s.T0, s.T1, s.L0, s.L1 = v[0], v[1], v[2], v[3]
	return s
}

// spot returns where on the page a job is drawn.
func spot(p *browsertest.Page, job int) (x, y float64) {
	p.Helper()
	v := browsertest.Eval[[]float64](p, fmt.Sprintf(`(() => {
		const box = stage.getBoundingClientRect(), p = jobs.first[%[1]d];
		return [box.left + (view.x(jobs.start[%[1]d]) + view.x(jobs.end[%[1]d])) / 2,
			box.top + view.y(jobs.lane[p] + jobs.lanes[p] / 2)] })()`, job))
	return v[0], v[1]
}

// longest finds a job that is easy to hit.
const longest = "ran.reduce((a, b) => jobs.end[b] - jobs.start[b] > jobs.end[a] - jobs.start[a] ? b : a)"

func wheel(x, y, down float64, modifiers ...chromedp.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x, y, func(p *input.DispatchMouseEventParams) {
		p.DeltaX, p.DeltaY = 0.001, down // the browser needs both
		for _, m := range modifiers {
			p.Modifiers |= int64(m)
		}
	})
}

func TestZoomAndPan(t *testing.T) {
	p := opened(t, simulated(t, 2000, "conservative"), browsertest.View{Width: 1400, Height: 900})
	first := seen(p)
	p.Do(wheel(700, 500, -300))
	zoomed := seen(p)
	require.InDelta(t, (first.T1-first.T0)*0.5488, zoomed.T1-zoomed.T0, (first.T1-first.T0)*0.01,
		"the wheel zooms time")
	require.Greater(t, zoomed.T0, first.T0)
	require.Less(t, zoomed.T1, first.T1, "around the pointer")
	require.InDelta(t, first.L1-first.L0, zoomed.L1-zoomed.L0, 1e-9, "and not the cpus")

	p.Do(chromedp.DragAndDropXY(700, 500, 500, 500))
	moved := seen(p)
	require.InDelta(t, zoomed.T1-zoomed.T0, moved.T1-moved.T0, 1)
	require.Greater(t, moved.T0, zoomed.T0, "dragging to the left shows what is later")

	p.Do(chromedp.Focus(chromedp.CSS("#stage")), chromedp.KeyEvent("+"))
	closer := seen(p)
	require.InDelta(t, (moved.T1-moved.T0)*0.6, closer.T1-closer.T0, 1)
	p.Do(chromedp.KeyEvent(kb.ArrowRight))
	require.Greater(t, seen(p).T0, closer.T0)
	p.Do(chromedp.KeyEvent("-"), chromedp.KeyEvent("-"), chromedp.KeyEvent("-"), chromedp.KeyEvent("0"))
	require.Equal(t, first, seen(p), "0 shows all")
	p.Do(chromedp.KeyEvent(kb.PageDown), chromedp.KeyEvent(kb.ArrowDown))
	lanes := seen(p)
	require.InDelta(t, 64*0.6, lanes.L1-lanes.L0, 1e-9)
	p.Do(chromedp.Click(chromedp.CSS("#fit")), chromedp.Click(chromedp.CSS("#in")))
	require.InDelta(t, (first.T1-first.T0)*0.6, seen(p).T1-seen(p).T0, 1)
	p.Do(chromedp.Focus(chromedp.CSS("#stage")))
	for range 60 {
		p.Do(chromedp.KeyEvent("+"))
	}
	require.InDelta(t, 10, seen(p).T1-seen(p).T0, 1e-3, "there is an end to it")
}

func TestOverview(t *testing.T) {
	p := opened(t, simulated(t, 500, "easy"), browsertest.View{Width: 1400, Height: 900})
	first := seen(p)
	box := browsertest.Eval[[]float64](p,
		"(() => { const b = overview.canvas.getBoundingClientRect(); return [b.left, b.top + b.height "+
			"/ 2, b.width] })()")
	at := func(share float64) float64 { return box[0] + share*box[2] }
	p.Do(chromedp.DragAndDropXY(at(0.25), box[1], at(0.5), box[1]))
	drawn := seen(p)
	length := first.T1 - first.T0
	require.InDelta(t, first.T0+0.25*length, drawn.T0, 0.01*length, "a stretch is drawn")
	require.InDelta(t, first.T0+0.5*length, drawn.T1, 0.01*length)
	p.Do(chromedp.DragAndDropXY(at(0.4), box[1], at(0.6), box[1]))
	require.InDelta(t, drawn.T0+0.2*length, seen(p).T0, 0.01*length, "and moved")
	p.Do(chromedp.MouseClickXY(at(0.1), box[1]))
	require.InDelta(t, first.T0, seen(p).T0, 0.02*length)
	use := browsertest.Eval[float64](p,
		"overview.use.reduce((a, b) => a + b) / overview.use.length * (view.limits.t1 - view.limits.t0) * lanesInAll")
	area := browsertest.Eval[float64](p, "ran.reduce((sum, i) => sum + jobs.cpus[i] * (jobs.end[i] - jobs.start[i]), 0)")
	require.InEpsilon(t, area, use, 1e-9, "the overview's area is the work done")
	waits := browsertest.Eval[float64](p,
		"overview.queue.reduce((a, b) => a + b) / overview.queue.length * (view.limits.t1 - view.limits.t0)")
	require.InEpsilon(t, browsertest.Eval[float64](p, "ran.reduce((sum, i) => sum + jobs.start[i] - jobs.submit[i], 0)"),
		waits, 1e-9, "Little's law")
}

// However wide the window, the overview tells how many jobs wait at once at most.
func TestTheLongestQueue(t *testing.T) {
	r := simulated(t, 500, "conservative")
	most := 0
	for _, at := range r.Outcomes {
		waiting := 0
		for i, j := range r.Workload.Jobs {
			if j.Submit <= at.Start-1 && at.Start-1 < r.Outcomes[i].Start {
				waiting++
			}
		}
		most = max(most, waiting)
	}
	require.Greater(t, most, 10)
	for _, width := range []int64{700, 1400} {
		p := opened(t, r, browsertest.View{Width: width, Height: 900})
		require.Contains(t, browsertest.Eval[string](p, "overview.says().join()"), fmt.Sprintf("at most %d ", most))
		require.InDelta(t, most, browsertest.Eval[float64](p, "Math.max(...overview.most)"), 0, "and it is drawn")
		require.True(t, browsertest.Eval[bool](p, "overview.most.every((most, x) => most > overview.queue[x] - 1e-9)"))
	}
}

// What is written on the canvases beside the jobs can be read in both themes.
func TestTextOnCanvases(t *testing.T) {
	for _, dark := range []bool{false, true} {
		p := opened(t, simulated(t, 50, "easy"), browsertest.View{Width: 700, Height: 900, Dark: dark})
		worst := browsertest.Eval[float64](p, `(() => {
			const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
			const light = (colour) => [1, 3, 5].map((i) => linear(parseInt(colour.slice(i, i + 2), 16)))
				.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
			const proto = CanvasRenderingContext2D.prototype, { fillText } = proto, ratios = [];
			const probe = document.createElement("canvas").getContext("2d");
			probe.fillStyle = painter.ink.card;
			proto.fillText = function (...all) {
				const two = [light(this.fillStyle), light(probe.fillStyle)].sort((a, b) => b - a);
				ratios.push((two[0] + 0.05) / (two[1] + 0.05));
				fillText.apply(this, all);
			};
			overview.draw();
			painter.grid(painter.context(painter.base));
			proto.fillText = fillText;
			return ratios.length > 5 ? Math.min(...ratios) : 0 })()`)
		require.GreaterOrEqual(t, worst, 4.5)
	}
}

func TestChoosingAJob(t *testing.T) {
	r := simulated(t, 500, "conservative")
	p := opened(t, r, browsertest.View{Width: 1400, Height: 900, Dark: true})
	job := browsertest.Eval[int](p, longest)
	x, y := spot(p, job)
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	settle(p)
	require.Contains(t, browsertest.Eval[string](p, "document.getElementById('tip').textContent"),
		"Job "+r.Workload.Jobs[job].Name+"\n")
	require.False(t, browsertest.Eval[bool](p, "document.getElementById('tip').hidden"))
	require.Regexp(t, `^[1-9]\d* jobs?$`, browsertest.Eval[string](p,
		"document.querySelectorAll('#now dd')[1].textContent"), "something runs at the cursor")

	p.Do(chromedp.MouseClickXY(x, y))
	settle(p)
	require.Equal(t, "Job "+r.Workload.Jobs[job].Name, browsertest.Ask(p, chromedp.Text(chromedp.CSS("#job-title"))))
	said := browsertest.Eval[map[string]string](p,
		"Object.fromEntries([...document.querySelectorAll('#job dt')].map(dt => [dt.textContent, "+
			"dt.nextSibling.firstChild.textContent]))")
	o := r.Outcomes[job]
	require.Equal(t, inwords.Whole(int64(o.Start))+" s", said["started"])
	require.Equal(t, inwords.Whole(int64(o.End))+" s", said["ended"])
	require.Equal(t, inwords.Whole(int64(o.Guarantee))+" s", said["guarantee"])
	require.Equal(t, r.Workload.Jobs[job].User, said["user"])
	require.Equal(t, o.How.String(), said["how"])
	p.Shot("gantt-chosen-dark", false)

	p.Do(chromedp.KeyEvent("]"))
	next := browsertest.Eval[int](p, "state.chosen")
	require.NotEqual(t, job, next)
	p.Do(chromedp.KeyEvent("["))
	require.Equal(t, job, browsertest.Eval[int](p, "state.chosen"))
	p.Do(chromedp.KeyEvent(kb.Escape))
	require.Equal(t, "No job chosen", browsertest.Ask(p, chromedp.Text(chromedp.CSS("#job-title"))))
}

func TestSearch(t *testing.T) {
	r := simulated(t, 2000, "conservative")
	r.Workload.Cleaning.Partial, r.Workload.Cleaning.Learned = 3, 4
	for _, id := range []int64{5000, 5000, 4000} {
		r.Workload.Drops = append(r.Workload.Drops, workload.Drop{ID: id, Why: workload.WhyPartial})
	}
	for id := range int64(4) {
		r.Workload.Drops = append(r.Workload.Drops, workload.Drop{ID: 3003 - id, Why: workload.WhyLearned})
	}
	p := opened(t, r, browsertest.View{Width: 1400, Height: 900})
	p.Do(chromedp.SendKeys(chromedp.CSS("#query"), "1234"+kb.Enter))
	s := seen(p)
	require.Equal(t, "Job 1234", browsertest.Ask(p, chromedp.Text(chromedp.CSS("#job-title"))))
	when := browsertest.Eval[[]float64](p, "[jobs.submit[1233], jobs.end[1233]]")
	require.LessOrEqual(t, s.T0, when[0], "the job is in sight")
	require.GreaterOrEqual(t, s.T1, when[1])
	p.Do(chromedp.SendKeys(chromedp.CSS("#query"), "9"+kb.Enter))
	require.Equal(t, "the trace has no job 12349", browsertest.Ask(p, chromedp.Text(chromedp.CSS("#found"))))
	for name, want := range map[string]string{
		"2999": "the trace has no job 2999", "3000": "cleaning dropped job 3000: learned from, not run",
		"3003": "cleaning dropped job 3003: learned from, not run", "3004": "the trace has no job 3004",
		"4000": "cleaning dropped job 4000: partial executions", "4001": "the trace has no job 4001",
		"5000": "cleaning dropped job 5000: partial executions", "05000": "the trace has no job 05000", "5": "",
	} {
		p.Do(chromedp.SetValue(chromedp.CSS("#query"), name), chromedp.SendKeys(chromedp.CSS("#query"), kb.Enter))
		settle(p)
		require.Equal(t, want, browsertest.Eval[string](p, "document.getElementById('found').textContent"))
	}
	require.Equal(t, "no job x here; cleaning dropped 9 that are not listed",
		browsertest.Eval[string](p, "encoded.unlisted = 9, whyMissing('x')"))
}

func TestColoursAndThemes(t *testing.T) {
	p := opened(t, simulated(t, 500, "easy"), browsertest.View{Width: 700, Height: 1000})
	const picture = "painter.base.toDataURL()"
	byUser := browsertest.Eval[string](p, picture)
	legend := browsertest.Eval[int](p, "document.querySelectorAll('#legend span').length")
	require.Equal(t, 12, legend, "twelve users")
	for _, colouring := range []string{"width", "how", "wait"} {
		p.Do(chromedp.SetValue(chromedp.CSS("#colour"), colouring))
		browsertest.Eval[bool](p, "document.getElementById('colour').dispatchEvent(new Event('change'))")
		settle(p)
		require.Positive(t, browsertest.Eval[int](p, "document.querySelectorAll('#legend span').length"))
		require.True(t, browsertest.Eval[bool](p, "painter.colours.every(c => /^#/.test(c))"), colouring)
	}
	p.Do(chromedp.SetValue(chromedp.CSS("#colour"), "user"))
	browsertest.Eval[bool](p, "document.getElementById('colour').dispatchEvent(new Event('change'))")
	ground := "getComputedStyle(document.body).backgroundColor"
	light := browsertest.Eval[string](p, ground)
	p.Do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	settle(p)
	require.NotEqual(t, light, browsertest.Eval[string](p, ground))
	require.NotEqual(t, byUser, browsertest.Eval[string](p, picture), "the canvas follows the theme")
	require.Equal(t, 700, browsertest.Eval[int](p, "document.documentElement.scrollWidth"), "nothing sticks out")
	p.Shot("gantt-700-dark", true)
}

// Where jobs are smaller than a dot, the dots are as opaque as they are used, on either ground.
func TestShadesOfUse(t *testing.T) {
	r := many(100_000)
	for i := 50_000; i < 100_000; i++ {
		r.Outcomes[i].End = r.Outcomes[i].Start + 5
	}
	for _, dark := range []bool{false, true} {
		p := opened(t, r, browsertest.View{Width: 1400, Height: 900, Dark: dark})
		alpha := browsertest.Eval[[]float64](p, `(() => {
			const { width, height } = painter.base, n = 100;
			const row = painter.base.getContext("2d").getImageData(0, height / 2, width, 1).data;
			const opaque = Array.from({ length: width }, (_, x) => row[4 * x + 3] / 255);
			return [0.2, 0.7].map((share) => Math.round(share * width))
				.map((x) => opaque.slice(x, x + n).sort((a, b) => a - b)[n / 2]) })()`)
		const least = 0.15
		require.InDelta(t, least+(1-least)*50/60, alpha[0], 0.03)
		require.InDelta(t, least+(1-least)*5/60, alpha[1], 0.03)
		p.Shot(fmt.Sprintf("gantt-shades-dark-%v", dark), false)
	}
}

// However many jobs there are, few rectangles are drawn: those that are wider than a dot.
func TestManyJobs(t *testing.T) {
	r := many(100_000)
	p := opened(t, r, browsertest.View{Width: 1400, Height: 900})
	require.Zero(t, browsertest.Eval[int](p, "painter.drawn"))
	p.Do(wheel(700, 500, -2000))
	closer := seen(p)
	require.Positive(t, browsertest.Eval[int](p, "painter.drawn"))
	require.Equal(t, browsertest.Eval[int](p, `ran.filter(i => jobs.start[i] < view.t1 && jobs.end[i] >= view.t0).length`),
		browsertest.Eval[int](p, `(() => { let n = 0; running.each(view.t0, view.t1, () => n++); return n })()`),
		"the search finds what is in sight of %v", closer)
}

// many makes a schedule of short jobs, one after the other on each cpu.
func many(n int) *condorsim.Result {
	const cpus = 50
	slot := &negotiator.Slot{Name: "machine", Capacity: backfill.Vector{cpus}}
	r := &condorsim.Result{Workload: &condorsim.Workload{
		Slots:  []*negotiator.Slot{slot},
		Schema: negotiator.Schema{Resources: []string{"cpus"}},
	}}
	for i := range n {
		start := backfill.Time(i / cpus * 60)
		r.Workload.Jobs = append(r.Workload.Jobs,
			condorsim.Job{Job: &negotiator.Job{Name: strconv.Itoa(i), Nodes: 1, Submit: start - 10}, Cpus: 1})
		r.Outcomes = append(r.Outcomes, condorsim.Outcome{
			Started: true, Ended: true, Start: start, End: start + 50, Estimate: 60,
			Placement: negotiator.Placement{{Slot: slot, Count: 1}},
		})
	}
	return r
}

func TestManySlots(t *testing.T) {
	trace := pagetest.Trace("made-up", 300, 24, 3)
	var slots []*negotiator.Slot
	for _, name := range []string{"node-a", "node-b", "node-c"} {
		slots = append(slots, pagetest.Slot(t, name, 8))
	}
	w, err := condorsim.FromTrace(trace, slots)
	require.NoError(t, err)
	r, err := pagetest.Run(w, "conservative")
	require.NoError(t, err)
	p := opened(t, r, browsertest.View{Width: 1400, Height: 900})
	require.Equal(t, 24, browsertest.Eval[int](p, "lanesInAll"))
	wide := browsertest.Eval[int](p, "jobs.cpus.findIndex((n, i) => n > 8 && !Number.isNaN(jobs.start[i]))")
	require.Positive(t, wide)
	p.Do(chromedp.SendKeys(chromedp.CSS("#query"), r.Workload.Jobs[wide].Name+kb.Enter))
	require.Contains(t, browsertest.Ask(p, chromedp.Text(chromedp.CSS("#job"))), "node-b")
	p.Shot("gantt-slots", false)
}

// A job on a partition has all of its midplanes; wires are not shown.
func TestPartitions(t *testing.T) {
	pool, err := pools.Open("../../../configs/pools/tiny-bgp.yaml")
	require.NoError(t, err)
	w, err := condorsim.OnPool(pagetest.Trace("made-up", 300, 32, 3), pool)
	require.NoError(t, err)
	r, err := pagetest.Run(w, "easy")
	require.NoError(t, err)
	p := opened(t, r, browsertest.View{Width: 1400, Height: 900})
	require.Equal(t, 32, browsertest.Eval[int](p, "lanesInAll"))
	require.Equal(t, 8, browsertest.Eval[int](p, "encoded.slots.length"))
	five := slices.IndexFunc(w.Jobs, func(j condorsim.Job) bool { return j.Cpus > 4 && j.Cpus < 8 })
	require.Positive(t, five)
	require.Equal(t, 8, browsertest.Eval[int](p,
		fmt.Sprintf("jobs.lanes.slice(jobs.first[%d], jobs.first[%d]).reduce((a, b) => a + b)", five, five+1)),
		"more than it asked for")
	p.Do(chromedp.SendKeys(chromedp.CSS("#query"), w.Jobs[five].Name+kb.Enter))
	require.Contains(t, browsertest.Ask(p, chromedp.Text(chromedp.CSS("#job"))), r.Outcomes[five].Placement[0].Bundle.Name)
	p.Shot("gantt-partitions", false)
}

func TestThePageOfNothing(t *testing.T) {
	slot := &negotiator.Slot{Name: "machine", Capacity: backfill.Vector{4}}
	p := opened(t, &condorsim.Result{Workload: &condorsim.Workload{
		Slots:  []*negotiator.Slot{slot},
		Schema: negotiator.Schema{Resources: []string{"cpus"}},
	}}, browsertest.View{Width: 900, Height: 700})
	p.Do(chromedp.Focus(chromedp.CSS("#stage")), chromedp.KeyEvent("+"), chromedp.KeyEvent("]"),
		chromedp.MouseClickXY(400, 400))
	require.Equal(t, "No job chosen", browsertest.Ask(p, chromedp.Text(chromedp.CSS("#job-title"))))
}

// byHand is a schedule of a job that has two of three slots, of one that lost a slot twice, and of
// one that is held.
func byHand() *condorsim.Result {
	r := &condorsim.Result{Workload: &condorsim.Workload{Schema: negotiator.Schema{Resources: []string{"cpus"}}}}
	for _, name := range []string{"node-a", "node-b", "node-c"} {
		r.Workload.Slots = append(r.Workload.Slots, &negotiator.Slot{Name: name, Capacity: backfill.Vector{4}})
	}
	for i := range 3 {
		r.Workload.Jobs = append(r.Workload.Jobs,
			condorsim.Job{Job: &negotiator.Job{
				Name: fmt.Sprint("job", i), Nodes: 2, Submit: backfill.Time(i),
				Estimate: 500,
			}, Cpus: 8})
	}
	on := func(start backfill.Time, slots ...int) condorsim.Outcome {
		o := condorsim.Outcome{Started: true, Ended: true, Start: start, End: start + 400, Estimate: 500}
		for _, s := range slots {
			o.Placement = append(o.Placement, negotiator.Chunks{Slot: r.Workload.Slots[s], Count: 1})
		}
		return o
	}
	r.Outcomes = []condorsim.Outcome{on(10, 0, 2), on(450, 0, 1), {Held: "fits nowhere <now>"}}
	r.Outcomes[1].Requeues, r.Outcomes[1].Lost = 2, 3600
	return r
}

func TestEveryPieceOfAJobHasItsColour(t *testing.T) {
	p := opened(t, byHand(), browsertest.View{Width: 1400, Height: 900})
	pixels := browsertest.Eval[[]string](p, `(() => {
		const all = painter.base.getContext("2d")
			.getImageData(Math.round(view.x(300) * painter.ratio), 0, 1, painter.base.height).data;
		const at = (lane) => 4 * Math.round(view.y(lane) * painter.ratio);
		return [2, 6, 10].map((lane) => [...all.slice(at(lane)).slice(0, 4)].join()) })()`)
	require.Equal(t, pixels[0], pixels[2], "on the first slot and on the third")
	require.NotEqual(t, pixels[0], pixels[1], "and it has nothing of the second")
}

func TestLostAndHeldJobs(t *testing.T) {
	p := opened(t, byHand(), browsertest.View{Width: 1400, Height: 900})
	said := func(name string) string {
		p.Do(chromedp.SetValue(chromedp.CSS("#query"), name), chromedp.SendKeys(chromedp.CSS("#query"), kb.Enter))
		settle(p)
		return browsertest.Eval[string](p, "document.getElementById('job').textContent")
	}
	lost := said("job1")
	require.Contains(t, lost, "slots lost2 times3,600 cpu s for nothing")
	require.Contains(t, lost, "node-a node-b")
	held := said("job2")
	require.Contains(t, held, "It never ran.")
	require.Contains(t, held, "heldfits nowhere <now>")
	require.Contains(t, held, "estimate8 min 20 s")
	require.NotContains(t, held, "started")
	require.NotContains(t, said("job0"), "lost")
}

// The chart is printed in colours for paper, and looks as before afterwards.
func TestPaper(t *testing.T) {
	p := opened(t, simulated(t, 500, "easy"), browsertest.View{Width: 1400, Height: 900, Dark: true})
	browsertest.Eval[bool](p, `(() => { window.drawn = []; const draw = painter.draw.bind(painter); `+
		`painter.draw = () => { drawn.push(painter.ink.ink); draw(); }; return true })()`)
	dark := browsertest.Eval[string](p, "painter.ink.ink")
	require.NotEmpty(t, p.PDF())
	settle(p)
	drawn := browsertest.Eval[[]string](p, "drawn")
	require.Contains(t, drawn, "#111", "on paper")
	require.Equal(t, dark, drawn[len(drawn)-1], "on the screen again")
}
