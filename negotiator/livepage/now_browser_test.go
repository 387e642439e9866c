//go:build browser

package livepage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// noSource is a pool that says nothing beyond its pictures.
type noSource struct{}

func (noSource) Explain(_ context.Context, _ livepage.Asker, job string) (livepage.Explained, error) {
	return livepage.Explained{Text: "job " + job, Windows: []livepage.Window{{Slot: 1, From: 1000, Until: picture.Moment{At: 5000, Known: true}}}}, nil
}

func (noSource) WhatIf(context.Context, livepage.Asker, string) ([]byte, error) {
	return []byte("{}"), nil
}
func (noSource) Pool() livepage.Pool { return livepage.Pool{} }

// chartPage is the chart alone, as the page has it.
var chartPage = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><link rel="stylesheet" href="/assets/drawing/colours.css"><link rel="stylesheet" href="/assets/drawing/base.css">
<link rel="stylesheet" href="/assets/now.css"><link rel="stylesheet" href="/chart.css">
<link rel="preload" as="fetch" crossorigin href="/api/v1/picture">
` + preloads() + `<script src="/assets/drawing/before.js"></script><script type="module" src="/chart.js"></script></head>
<body><button id="theme">Theme</button><main><section id="chart"></section></main></body></html>`

// preloads has the browser load the chart's modules at once.
func preloads() string {
	text := ""
	for _, name := range []string{
		"store", "now", "now-lanes", "now-paint", "now-panel", "now-strip", "now-find", "now-bands", "now-colours",
		"drawing/hand", "drawing/view", "drawing/times", "drawing/sheet", "drawing/shade", "drawing/strip",
	} {
		text += `<link rel="modulepreload" href="/assets/` + name + `.js">`
	}
	return text
}

const chartStyle = `@media screen and (min-width:901px){html,body{height:100%}}body{display:flex;flex-direction:column}main{flex:1;display:flex;min-height:0}section{min-width:0}`

const chartScript = `import { Store } from "/assets/store.js";
import { NowView } from "/assets/now.js";
const store = new Store({ base: "/api/v1/" });
const api = async (path) => (await fetch("/api/v1/" + path)).json();
const view = new NowView(document.getElementById("chart"), { store, api, words: {}, go: (hash) => { location.hash = hash; } });
Object.assign(window, { store, view, frames: [] });
const draw = view.draw.bind(view);
view.draw = () => {
  const from = performance.now();
  draw();
  frames.push(performance.now() - from);
};
view.show({});
store.start();
`

// chart serves the chart of a server's pictures, and nothing else.
func chart(pool http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, file := range map[string][2]string{
		"/{$}": {"text/html", chartPage}, "/chart.css": {"text/css", chartStyle}, "/chart.js": {"text/javascript", chartScript},
	} {
		mux.HandleFunc("GET "+path, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", file[0])
			out.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
				"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = io.WriteString(out, file[1])
		})
	}
	mux.Handle("/", pool)
	return mux
}

// tab is a tab of a browser.
type tab struct {
	testing.TB
	ctx context.Context
}

var browser = sync.OnceValues(func() (context.Context, error) { //nolint:gochecknoglobals // one browser for all
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	//nolint:gocritic // the array is copied, as it has no room
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("enable-precise-memory-info", true), chromedp.Flag("js-flags", "--expose-gc"))
	allocated, _ := chromedp.NewExecAllocator(context.Background(), options...) //nolint:govet // the browser ends with the tests
	ctx, _ := chromedp.NewContext(allocated)                                    //nolint:govet // as above
	return ctx, chromedp.Do(ctx)
})

// drawn is after how many milliseconds the chart was drawn first.
const drawn = `performance.getEntriesByName("chart drawn")[0].startTime`

// visit opens a page. The test fails if the page logs an error or throws one, but for connections that break if
// that is expected.
func visit(t *testing.T, url string, width, height int64, dark, breaks bool) *tab {
	t.Helper()
	shared, err := browser()
	if err != nil {
		t.Skipf("skipped: no Chromium: %v", err)
	}
	var mu sync.Mutex
	var faults []string
	ctx, cancel := chromedp.NewContext(shared, chromedp.WithListener(func(event any) {
		fault := ""
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			fault = "exception: " + e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				fault += " " + e.ExceptionDetails.Exception.Description
			}
		case *log.EventEntryAdded:
			if !breaks || e.Entry.Source != "network" {
				fault = "log: " + e.Entry.Text + " " + e.Entry.URL
			}
		}
		if fault != "" {
			mu.Lock()
			faults = append(faults, fault)
			mu.Unlock()
		}
	}))
	t.Cleanup(func() {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		require.Empty(t, faults)
	})
	p := &tab{t, ctx}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.do(chromedp.EmulateViewport(width, height))
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	p.do(chromedp.Navigate(url))
	p.wait(drawn + " > 0")
	return p
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.ctx, actions...))
}

// value returns the value of an expression of JavaScript.
func value[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p, err, expression)
	return v
}

// wait waits until an expression is true.
func (p *tab) wait(expression string) {
	p.Helper()
	value[bool](p, `new Promise((done, fail) => { const end = Date.now() + 60000; const ask = () => {
		try { if (`+expression+`) return done(true); } catch { /* not yet */ }
		if (Date.now() > end) return fail(new Error("not within a minute"));
		setTimeout(ask, 20); }; ask(); })`)
}

// settle waits until everything is drawn.
func (p *tab) settle() {
	p.Helper()
	value[bool](p, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// busy returns for how many milliseconds the page has kept a processor busy, however many others wanted it.
func (p *tab) busy() float64 {
	p.Helper()
	got, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p, err)
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	p.Fatal("the browser says nothing of tasks")
	return 0
}

func (p *tab) shot(name string) {
	p.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	p.settle()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p, err)
	require.NoError(p, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}

// pool is a made-up pool.
type pool struct {
	now   int64
	next  backfill.JobID
	r     *rand.Rand
	slots []picture.Slot
	free  [][]int64 // of each cpu of each slot
	jobs  []picture.Job
}

// madeUp makes a pool of machines of three classes, on which so many jobs run or are planned.
func madeUp(slots, jobs int) *pool {
	p := &pool{now: 1_700_000_000, next: 1, r: rand.New(rand.NewPCG(1, 2))}
	for i := range slots {
		cpus := int64([]int{4, 8, 16}[i*3/slots])
		p.slots = append(p.slots, picture.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot1@m%d.example.org", i+1), Machine: fmt.Sprintf("m%d.example.org", i+1),
			Capacity: backfill.Vector{cpus, cpus * 2048},
		})
		p.free = append(p.free, make([]int64, cpus))
	}
	for range jobs {
		p.jobs = append(p.jobs, p.job())
	}
	return p
}

// job makes a job on the slot, of a few, on which it can start first.
func (p *pool) job() picture.Job {
	cpus := 1 << p.r.IntN(4)
	best, when := -1, int64(0)
	for range 6 {
		s := p.r.IntN(len(p.slots))
		if len(p.free[s]) < cpus {
			continue
		}
		slices.Sort(p.free[s])
		if at := p.free[s][cpus-1]; best < 0 || at < when {
			best, when = s, at
		}
	}
	if best < 0 {
		best, cpus = 0, 1
		when = p.free[0][0]
	}
	run := int64(600 + p.r.IntN(20_000))
	j := picture.Job{Bar: picture.Bar{
		ID: p.next, Name: fmt.Sprintf("%d.0", p.next), Owner: fmt.Sprintf("user%02d", p.r.IntN(40)), Cpus: int64(cpus), Submit: p.now - int64(p.r.IntN(40_000)),
		At: []picture.Piece{{Slot: backfill.SlotID(best), Cpus: int64(cpus)}},
	}}
	p.next++
	if when <= p.now {
		when = p.now - int64(p.r.IntN(int(run)))
		j.Situation, j.High = "runs", picture.Moment{At: when + run*3/2, Known: true}
	} else {
		j.Situation = []string{"reserved", "waits"}[p.r.IntN(2)]
		j.Low, j.High = picture.Moment{At: when - 300, Known: true}, picture.Moment{At: when + 1800, Known: true}
		j.Guarantee = picture.Moment{At: when + 3600, Known: true}
	}
	j.Start, j.End = picture.Moment{At: when, Known: true}, picture.Moment{At: when + run, Known: true}
	for i := range cpus {
		p.free[best][i] = when + run
	}
	return j
}

// pass lets time pass: jobs end and start, and as many come as have ended.
func (p *pool) pass(seconds int64) {
	p.now += seconds
	jobs := make([]picture.Job, 0, len(p.jobs))
	for _, j := range p.jobs {
		if j.End.At <= p.now {
			continue
		}
		if j.Start.At <= p.now && j.Situation != "runs" {
			j.Situation, j.Low, j.High, j.Guarantee = "runs", picture.Moment{}, picture.Moment{}, picture.Moment{}
		}
		if p.r.IntN(50) == 0 && j.Situation != "runs" {
			j.High.At += 60
		}
		jobs = append(jobs, j)
	}
	for len(jobs) < len(p.jobs) {
		jobs = append(jobs, p.job())
	}
	p.jobs = jobs
}

func (p *pool) picture() *picture.Picture {
	h := picture.Head{
		Pool: "made-up", Now: p.now, Policy: "slack", Order: "fcfs", Guarantees: true, Slots: len(p.slots), Resources: []string{"cpus", "memory"},
		Clocks: []instant.Stretch{{Zone: "UTC"}}, Problems: []string{}, Capacity: []int64{0, 0}, Use: []int64{0, 0}, Simulated: true, Speed: "60",
	}
	for _, s := range p.slots {
		h.Capacity[0] += s.Capacity[0]
	}
	for i := range p.jobs {
		switch j := &p.jobs[i]; j.Situation {
		case "runs":
			h.Running++
			h.Use[0] += j.Cpus
		case "reserved":
			h.Reserved++
			h.Waiting++
		default:
			h.Waiting++
		}
	}
	return &picture.Picture{Head: h, Slots: slices.Clone(p.slots), Jobs: slices.Clone(p.jobs)}
}

// served serves the chart of a made-up pool.
func served(t *testing.T, p *pool) (*livepage.Server, string) {
	t.Helper()
	s := livepage.New(noSource{}, "e1")
	s.Show(p.picture())
	web := httptest.NewServer(chart(s))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return s, web.URL
}

func TestChart(t *testing.T) {
	p := madeUp(12, 80)
	p.slots[2].Down = true
	p.slots[3].Drain = &picture.Drain{From: p.now + 3000, Until: picture.Moment{At: p.now + 9000, Known: true}, Why: "new disks"}
	p.slots[4].End = picture.Moment{At: p.now + 20_000, Known: true}
	_, url := served(t, p)
	tab := visit(t, url, 1400, 900, false, false)
	require.True(t, value[bool](tab, "view.painter.detail"))
	require.Greater(t, value[int](tab, "view.painter.drawn"), 20)
	tab.shot("chart-1400")
	name := p.jobs[slices.IndexFunc(p.jobs, func(j picture.Job) bool { return j.Situation == "reserved" })].Name
	value[bool](tab, "view.goTo("+fmt.Sprintf("%q", name)+"), true")
	tab.wait("view.state.windows")
	require.Contains(t, value[string](tab, "document.querySelector('.now-panel').textContent"), name)
	require.Equal(t, "#/job/"+name, value[string](tab, "document.querySelector('.now-panel a').getAttribute('href')"))
	tab.shot("chart-chosen")
	require.Contains(t, value[string](tab, "document.querySelector('.now-summary').textContent"), "jobs run on 12 slots")
	require.False(t, strings.Contains(value[string](tab, "document.querySelector('.now-table').outerHTML"), "<script"))
}

// The figures of a pool of 10,000 slots and 50,000 jobs that changes every second: the test asserts that everything
// is drawn, and prints how long that takes.
func TestChartOfManySlots(t *testing.T) {
	p := madeUp(10_000, 50_000)
	server, url := served(t, p)
	whole := httptest.NewServer(server)
	t.Cleanup(func() {
		whole.CloseClientConnections()
		whole.Close()
	})
	for _, what := range []string{"in a new browser", "again"} {
		page := visit(t, whole.URL, 1600, 1000, false, false)
		t.Logf("%s: first paint of the whole page after %.0f ms, with %.0f ms of processor time; the picture came from %.0f to %.0f ms",
			what, value[float64](page, drawn), page.busy(),
			value[float64](page, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("picture")).requestStart`),
			value[float64](page, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("picture")).responseEnd`))
		require.Len(t, value[[]string](page, `performance.getEntriesByType("resource").map((e) => e.name).filter((n) => n.endsWith("picture"))`), 1,
			"the picture is loaded once")
		page.shot("page-1600")
		value[bool](page, "shell.store.stop(), true")
	}
	tab := visit(t, url, 1600, 1000, false, false)
	require.False(t, value[bool](tab, "view.painter.detail"))
	require.Equal(t, 10_000, value[int](tab, "store.slots.size"))
	tab.shot("bands-1600")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				p.pass(60)
				server.Show(p.picture())
			}
		}
	}()
	before := tab.busy()
	// Zooms and pans for some seconds, as by a wheel and a hand: the time between frames, and that of drawing.
	took := value[[]float64](tab, `(async () => {
		frames.length = 0;
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
		gc();
		return [at(between, 0.5), at(between, 0.95), at(between, 0.99), Math.max(...between), at(drawing, 0.5), at(drawing, 0.95), Math.max(...drawing), performance.memory.usedJSHeapSize / 2 ** 20, store.version];
	})()`)
	close(stop)
	<-done
	t.Logf("between frames: median %.0f ms, 95 %% %.0f ms, 99 %% %.0f ms, most %.0f ms; drawing: median %.1f ms, 95 %% %.0f ms, most %.0f ms; heap %.0f MB; %.0f pictures; %.1f ms of processor time a frame",
		took[0], took[1], took[2], took[3], took[4], took[5], took[6], took[7], took[8], (tab.busy()-before)/400)
	require.Greater(t, took[8], 1.0, "differences came meanwhile")
	tab.shot("bands-later")
	value[bool](tab, "view.view.lanes(50000, 50400), true")
	tab.settle()
	require.True(t, value[bool](tab, "view.painter.detail"), "closer, every job is drawn")
	require.Greater(t, value[int](tab, "view.painter.drawn"), 20)
	tab.shot("bands-closer")
}

// same says whether the page has the jobs and slots of a pool as they are.
func same(tab *tab, p *pool) {
	tab.Helper()
	tab.wait(fmt.Sprintf("store.state === 'live' && store.head.now === %d", p.now))
	text, err := json.Marshal(p.picture().Bars())
	require.NoError(tab, err)
	require.JSONEq(tab, string(text), value[string](tab, "JSON.stringify([...store.jobs.values()].sort((a, b) => a.id - b.id))"))
	tab.settle()
	require.Equal(tab, len(p.jobs), value[int](tab, "view.lanes.pieces.size"))
	require.Zero(tab, value[int](tab, `(() => { // no two jobs have the same lane at a time
		let twice = 0;
		for (const row of view.lanes.rows) {
			const all = view.lanes.settled(row).flatMap((p) => p.parts.map(([l, n]) => ({ p, l, n })));
			for (const a of all) for (const b of all) {
				if (a.p.job.id < b.p.job.id && a.l < b.l + b.n && b.l < a.l + a.n && a.p.start < view.lanes.end(b.p) && b.p.start < view.lanes.end(a.p)) twice++;
			}
		}
		return twice })()`))
}

// lanesOf has the lanes of what runs.
const lanesOf = `Object.fromEntries([...view.lanes.pieces.values()].flat().filter((p) => p.running).map((p) => [p.job.job, JSON.stringify(p.parts)]))`

// The page follows a pool without loading it anew, and jobs that run stay in their lanes.
func TestFollowing(t *testing.T) {
	p := madeUp(20, 150)
	server, url := served(t, p)
	tab := visit(t, url, 1000, 700, true, false)
	same(tab, p)
	value[bool](tab, "window.whole = 0, store.addEventListener('change', (e) => { if (!e.detail) whole++; }), true")
	before := value[map[string]string](tab, lanesOf)
	kept := 0
	for range 20 {
		p.pass(300)
		server.Show(p.picture())
		same(tab, p)
		now := value[map[string]string](tab, lanesOf)
		for job, parts := range now {
			if old, ran := before[job]; ran {
				require.Equal(t, old, parts, "job %s", job)
				kept++
			}
		}
		before = now
	}
	require.Greater(t, kept, 100)
	require.LessOrEqual(t, value[int](tab, "whole"), 1, "differences were enough, but perhaps for the first")
	tab.shot("chart-dark-1000")
}

// A hidden chart does nothing, and shows what there is when it is shown again.
func TestHiddenChart(t *testing.T) {
	p := madeUp(5, 30)
	server, url := served(t, p)
	tab := visit(t, url, 1000, 700, false, false)
	same(tab, p)
	value[bool](tab, "view.hide(), frames.length = 0, true")
	for range 3 {
		p.pass(300)
		server.Show(p.picture())
		tab.wait(fmt.Sprintf("store.head.now === %d", p.now))
	}
	tab.settle()
	require.Zero(t, value[int](tab, "frames.length"))
	value[bool](tab, "view.show({}), true")
	same(tab, p)
}

// A server that goes is told of; one that comes in its place is followed from where it is.
func TestRestartUnderAnOpenPage(t *testing.T) {
	p := madeUp(10, 60)
	first, second := livepage.New(noSource{}, "e1"), livepage.New(noSource{}, "e2")
	first.Show(p.picture())
	var serving atomic.Pointer[livepage.Server]
	serving.Store(first)
	web := httptest.NewServer(chart(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if s := serving.Load(); s != nil {
			s.ServeHTTP(out, r)
			return
		}
		panic(http.ErrAbortHandler)
	})))
	web.Config.ErrorLog = nil
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	tab := visit(t, web.URL, 1000, 700, false, true)
	same(tab, p)
	value[bool](tab, "window.states = [], store.addEventListener('state', () => states.push(store.state)), true")
	serving.Store(nil)
	web.CloseClientConnections()
	tab.wait("store.state === 'gone'")
	require.Equal(t, []string{"connecting", "gone"}, value[[]string](tab, "states"))
	require.True(t, value[bool](tab, "store.since instanceof Date"))
	require.Equal(t, value[float64](tab, "store.now()"), value[float64](tab, "store.now()"), "time stands still")

	p.pass(600)
	for range 3 {
		second.Show(p.picture())
	}
	serving.Store(second)
	same(tab, p)
	require.Equal(t, "e2", value[string](tab, "store.epoch"))
	p.pass(600)
	second.Show(p.picture())
	same(tab, p)
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
	tab := visit(t, url, 360, 740, false, false)
	value[bool](tab, "view.goTo(store.jobs.get(1).job), document.querySelector('.now-table').open = true")
	tab.wait("document.querySelectorAll('.now-table tbody tr').length > 0 && view.reason === ''")
	require.Zero(t, value[int](tab, "document.querySelectorAll('section img').length"))
	require.Equal(t, 360, value[int](tab, "document.documentElement.scrollWidth"), "nothing sticks out")
	tab.shot("hostile-360")
	value[bool](tab, "view.click(200, 60), view.hover(200, 60, { clientX: 200, clientY: 60 }), true")
	tab.settle()
	require.Equal(t, 360, value[int](tab, "document.documentElement.scrollWidth"))
}

func TestSearchInTheChart(t *testing.T) {
	p := madeUp(300, 1500)
	_, url := served(t, p)
	tab := visit(t, url, 1400, 900, false, false)
	look := func(text string) {
		value[bool](tab, fmt.Sprintf(`(() => { view.query.value = %q; view.query.dispatchEvent(new Event("input")); view.search.requestSubmit(); return true })()`, text))
		tab.settle()
	}
	look("1234.0")
	require.Equal(t, "1234.0", value[string](tab, "view.chosen"))
	require.True(t, value[bool](tab, "view.painter.detail"), "close enough to see it")
	require.True(t, value[bool](tab, "(() => { const [p] = view.lanes.pieces.get(view.state.chosen.id); return p.row.lane >= view.view.l0 - 1 && p.row.lane < view.view.l1 })()"))
	look("user07")
	require.Regexp(t, `^1 of \d+$`, value[string](tab, "view.found.textContent"))
	require.Equal(t, "user07", value[string](tab, "view.state.chosen.owner"))
	tab.shot("search")
	look("slot1@m250.example")
	require.Equal(t, "slot1@m250.example.org", value[string](tab, "view.state.slot.slot.name"))
	require.Contains(t, value[string](tab, "document.querySelector('.now-panel').textContent"), "Slot slot1@m250.example.org")
	look("nobody")
	require.Equal(t, "nothing here has this name", value[string](tab, "view.found.textContent"))
}

func TestKeysOfTheChart(t *testing.T) {
	p := madeUp(30, 200)
	_, url := served(t, p)
	tab := visit(t, url, 1400, 900, false, false)
	span := func() float64 { return value[float64](tab, "view.view.t1 - view.view.t0") }
	first := span()
	tab.do(chromedp.Focus(chromedp.CSS(".now-stage")), chromedp.KeyEvent("+"))
	require.InDelta(t, first*0.6, span(), 1)
	tab.do(chromedp.KeyEvent("0"))
	require.Greater(t, span(), first, "0 shows all")
	tab.do(chromedp.KeyEvent("n"))
	require.InDelta(t, first, span(), first/100)
	tab.do(chromedp.KeyEvent("]"))
	one := value[string](tab, "view.chosen")
	tab.do(chromedp.KeyEvent("]"))
	require.NotEqual(t, one, value[string](tab, "view.chosen"))
	tab.do(chromedp.KeyEvent("["), chromedp.KeyEvent("["))
	tab.do(chromedp.KeyEvent(kb.Escape))
	require.Equal(t, "Nothing chosen", value[string](tab, "document.querySelector('.now-panel h2').textContent"))
	for _, way := range []string{"group", "width", "situation", "wait", "user"} {
		value[bool](tab, fmt.Sprintf(`view.colour.value = %q, view.colour.dispatchEvent(new Event("change"))`, way))
		tab.settle()
		require.Greater(t, value[int](tab, "view.legend.children.length"), 4, way)
		require.True(t, value[bool](tab, "[...store.jobs.values()].every((j) => view.painter.colours[view.painter.classOf(j)])"), way)
		tab.shot("colour-" + way)
	}
}

// Two fingers zoom time, slots, or both, and what is under them stays there.
func TestFingersOnTheChart(t *testing.T) {
	_, url := served(t, madeUp(30, 200))
	tab := visit(t, url, 700, 900, false, false)
	got := value[[]float64](tab, `(() => {
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
	tab := visit(t, url, 1200, 800, true, false)
	value[bool](tab, `(() => { window.inks = []; const draw = view.painter.draw.bind(view.painter);
		view.painter.draw = () => { inks.push(view.painter.ink.card); draw(); }; return true })()`)
	pdf, err := chromedp.Run(tab.ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	require.NoError(t, err)
	require.NotEmpty(t, pdf)
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "chart.pdf"), pdf, 0o600))
	}
	_, err = chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	tab.shot("paper")
	_, err = chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	require.NoError(t, err)
	tab.settle()
	inks := value[[]string](tab, "inks")
	require.NotEqual(t, inks[0], inks[len(inks)-1], "paper is light, the screen is dark again")
	require.Greater(t, value[int](tab, "document.querySelectorAll('.now-table tbody tr').length"), 10)
}
