//go:build browser

package livepage_test

import (
	"context"
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
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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
const chartPage = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><link rel="stylesheet" href="/assets/drawing/colours.css"><link rel="stylesheet" href="/assets/drawing/base.css">
<link rel="stylesheet" href="/assets/now.css"><link rel="stylesheet" href="/chart.css">
<script src="/assets/drawing/before.js"></script><script type="module" src="/chart.js"></script></head>
<body><button id="theme">Theme</button><main><section id="chart"></section></main></body></html>`

const chartStyle = `html,body{height:100%}body{display:flex;flex-direction:column}main{flex:1;display:flex;padding:.5rem;min-height:0}section{min-width:0}`

const chartScript = `import { Store } from "/assets/store.js";
import { NowView } from "/assets/now.js";
const store = new Store({ base: "/api/v1/" });
const api = async (path) => (await fetch("/api/v1/" + path)).json();
const view = new NowView(document.getElementById("chart"), { store, api, words: {}, go: (hash) => { location.hash = hash; } });
Object.assign(window, { store, view, frames: [], painted: 0 });
const draw = view.draw.bind(view);
view.draw = () => {
  const from = performance.now();
  draw();
  frames.push(performance.now() - from);
  if (!painted && store.head) requestAnimationFrame(() => { window.painted = performance.now(); });
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
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	p.do(chromedp.Navigate(url))
	p.wait("window.painted > 0")
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
