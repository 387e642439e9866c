//go:build browser

package livepage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// hostile are names that want to be something else than names.
var hostile = []string{ //nolint:gochecknoglobals // a table
	`<img src=x onerror="document.title='owned'">`, `"><script>document.title='owned'</script>`, "\u202egnp.exe\u202c", "שלום עולם", "a\nb\tc",
	"👩‍👩‍👧‍👦" + strings.Repeat("🙂", 30), strings.Repeat("long ", 2000), `'"&lt;` + "`${document.title='owned'}`", "../../%2e%2e/#/queue?x=1", "{{7*7}}",
}

// told is a pool whose texts are hostile, or usual.
type toldPool struct{ hostile bool }

func (s toldPool) text(i int, usual string) string {
	if s.hostile {
		return hostile[i%len(hostile)]
	}
	return usual
}

func (s toldPool) Explain(_ context.Context, _ livepage.Asker, job string) (livepage.Explained, error) {
	if job == "gone" {
		return livepage.Explained{}, &livepage.NoJobError{Err: fmt.Errorf("no job %s", job)}
	}
	return livepage.Explained{
		Text: s.text(0, "it waits for cpus\non slot1@m1"),
		Fit: &livepage.Fit{
			Slots: 20, Matching: 12, Refusing: 3, Closed: []livepage.Count{{Text: s.text(1, "drained"), Slots: 2}},
			Clauses: []livepage.Count{{Text: s.text(2, "TARGET.Memory >= 4096"), Slots: 5}}, Refusals: []livepage.Count{{Text: s.text(3, "Owner is root"), Slots: 3}},
		},
		Windows: []livepage.Window{{Slot: 1, From: base + 1000, Until: at(base + 5000)}},
	}, nil
}

func (s toldPool) WhatIf(_ context.Context, _ livepage.Asker, question string) ([]byte, error) {
	q, err := whatif.Read(question)
	if err != nil {
		return nil, &livepage.BadError{Err: err}
	}
	a := whatif.Answer{Now: base, Present: s.text(4, "slack, order fcfs"), Asked: s.text(5, "easy, order fcfs"), Notes: []string{s.text(6, "nobody else comes")}}
	if q.Job != nil {
		a.Job = &whatif.JobAnswer{
			Chunks: 1, Request: map[string]int64{"cpus": 2, "memory": 1024}, Seconds: q.Job.Seconds, Start: new(int64(base + 4000)), Low: new(int64(base + 3000)),
			Mid: new(int64(base + 3600)), High: new(int64(base + 9000)), ToldBy: whatif.ByMedian, Slots: s.text(7, "slot1@m1"), Delayed: 1,
			Sooner: []whatif.Alternative{{Chunks: 1, Request: map[string]int64{"cpus": 1, "memory": 1024}, Seconds: 1800, Start: base + 600, Mid: new(int64(base + 700))}},
		}
	} else {
		a.Change = &whatif.ChangeAnswer{
			ToldBy: whatif.ByPlan, Present: whatif.Totals{Jobs: 9, MeanWait: 3600, WorstWait: 9000, Slowdown: 4, Makespan: 90000},
			Changed: whatif.Totals{Jobs: 9, MeanWait: 3000, WorstWait: 9900, Slowdown: 4, Makespan: 80000}, Earlier: 5, Later: 3, Same: 1, Never: 1, Promises: 4,
			Broken: []whatif.Broken{{Job: s.text(8, "4.0"), Owner: s.text(9, "ann"), Promised: base + 900, Before: new(int64(base + 100)), After: new(int64(base + 9000))}},
		}
		for i := range int64(8) {
			a.Change.Moves = append(a.Change.Moves, whatif.Move{
				Job: s.text(int(i), fmt.Sprint(i, ".0")), Owner: s.text(int(i)+1, "ann"), Before: new(base + 1000*i), After: new(base + 500*i*i),
			})
		}
		a.Change.Moves[7].After = nil
	}
	return json.Marshal(a)
}

func (s toldPool) Pool() livepage.Pool {
	p := livepage.Pool{
		Policy: livepage.Policy{
			Name: s.text(0, "slack"), Order: s.text(1, "fcfs"), Guarantees: true, Fallback: s.text(2, ""), Why: s.text(3, "chosen by name"), Text: s.text(4, "Promises\nstarts."),
		},
		Plugins: []livepage.Plugin{{Name: s.text(5, "mine"), State: s.text(6, "runs")}}, Problems: []string{s.text(7, "a schedd does not answer")},
		Shares: map[string]livepage.Share{s.text(1, "ann"): {Priority: 12.5, Deserved: 40}},
	}
	for i := range 20 {
		f := float64(i + 1)
		p.Cycles = append(p.Cycles, livepage.Cycle{
			Number: 100 - i, Began: base, Took: 0.011 * f, Phases: map[string]float64{"fetch": 0.001 * f, "match": 0.002 * f, "plan": 0.007 * f, "act": 0.001 * f}, Started: i,
		})
	}
	return p
}

const base = 1_700_000_000

func at(t int64) picture.Moment { return picture.Moment{At: t, Known: true} }

// pictures shows a pool as time passes: jobs wait, start when they were told or later, and run.
func (s toldPool) pictures(server *livepage.Server) {
	for step := range int64(12) {
		now := base - 6600 + 600*step
		p := picture.Picture{Head: picture.Head{
			Pool: s.text(8, "the pool"), Now: now, Clocks: []instant.Stretch{{Shift: 3600, Zone: "CET"}}, Policy: s.text(0, "slack"), Order: s.text(1, "fcfs"),
			Guarantees: true, Resources: []string{"cpus", "memory", s.text(9, "licences")}, Capacity: []int64{80, 163840, 10}, Use: []int64{40 + 3*step, 90000, 2},
			Slots: 20, Further: 7, ReservedIdle: 6, Problems: []string{},
		}}
		if s.hostile {
			p.Head.Problems = []string{hostile[0], hostile[6]}
			p.Head.Parts = []picture.Part{{Negotiator: hostile[0], Own: true}, {Negotiator: hostile[6], Page: "http://h/\"><script>"}}
			p.Head.Whole = picture.WholeOf(p.Head.Parts)
		}
		for i := range 20 {
			slot := picture.Slot{
				ID: backfill.SlotID(i), Name: s.text(i, fmt.Sprintf("slot1@m%d.example.org", i)), Machine: s.text(i, fmt.Sprintf("m%d", i)),
				Capacity: backfill.Vector{4, 8192, 0},
			}
			p.Slots = append(p.Slots, slot)
		}
		for i := range int64(60) {
			start := base - 6000 + 240*i
			late := min(max(0, (now-(start-3000))/3), 900) // what was told moves to later
			j := picture.Job{
				Bar: picture.Bar{
					ID: backfill.JobID(i), Name: s.text(int(i), "") + fmt.Sprint(i, ".0"), Owner: s.text(int(i%5)+1, []string{"ann", "bob", "cy", "dora", "eve"}[i%5]),
					Group: s.text(int(i%3)+2, "phys"), Situation: "reserved", Cpus: 4, Submit: base - 9000, Start: at(start + late), End: at(start + late + 3000),
					At: []picture.Piece{{Slot: backfill.SlotID(i % 20), Cpus: 4}},
				},
				Autocluster: int(i % 7), Position: int(i + 1), Memory: 4096, Chunks: 1, Requested: 3600, Predicted: 3000, Places: s.text(int(i), fmt.Sprintf("slot1@m%d", i%20)),
				Reason: s.text(int(i)+3, "reserved for 2023-11-14 23:40:00 CET"),
			}
			if i%4 == 0 {
				j.Situation, j.Reason, j.Behind = "waits", s.text(int(i)+3, "12 cpus are needed by the job at the head of the queue"), s.text(int(i)+4, "")+fmt.Sprint(i+1, ".0")
			}
			if j.Start.At <= now {
				j.Situation, j.Position, j.Reason, j.Behind = "runs", 0, "started", ""
				p.Head.Running++
			} else {
				j.Low, j.High, j.Guarantee = at(start-200), at(start+late+1200), at(start+1000)
				p.Head.Waiting++
				p.Head.Reserved++
			}
			p.Jobs = append(p.Jobs, j)
		}
		if step == 9 {
			server.Broke(livepage.Broken{ID: 50, Job: s.text(3, "50.0"), Owner: s.text(1, "ann"), Promised: base + 900, Now: at(base + 5000), Cause: s.text(2, "slots have gone"), At: now})
		}
		server.Show(&p)
	}
}

// views are the places of the page, and what is there once they are shown.
var views = []struct{ name, hash, there string }{ //nolint:gochecknoglobals // a table
	{"now", "#/now", "document.querySelector('.now canvas') !== null"},
	{"queue", "#/queue", "document.querySelectorAll('section[data-view=queue] tbody tr').length > 3"},
	{"job", "", "document.querySelector('section[data-view=job] .huge') !== null && document.querySelectorAll('section[data-view=job] .card').length > 3"},
	{"promises", "#/promises", "document.querySelectorAll('section[data-view=promises] circle').length > 5"},
	{"pool", "#/pool", "document.querySelectorAll('section[data-view=pool] tbody tr').length > 3"},
	{"what-if", "#/what-if", "document.querySelector('section[data-view=what-if] form') !== null"},
}

// waitFor waits until an expression is true, in whatever page comes, and everything is drawn.
func waitFor(p *browsertest.Page, expression string) {
	p.Helper()
	poll.Until(p, expression, func() (text string, holds bool) {
		holds, err := chromedp.Run(p.Context, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && !holds {
			text, err = chromedp.Run(p.Context, chromedp.Evaluate[string]("document.body.innerText.slice(0, 500)"))
		}
		return text, err == nil && holds
	})
	browsertest.Eval[bool](p, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// live serves the page of a made-up pool.
func live(t *testing.T, s toldPool) string {
	t.Helper()
	server := livepage.New(s, "e1")
	s.pictures(server)
	web := httptest.NewServer(server)
	t.Cleanup(web.CloseClientConnections) // those of events do not end by themselves
	t.Cleanup(web.Close)
	return web.URL
}

const wide = "document.documentElement.scrollWidth <= innerWidth"

// TestViews shows every view in three widths and both schemes, of usual and of hostile texts.
func TestViews(t *testing.T) {
	for _, s := range []toldPool{{false}, {true}} {
		url, kind := live(t, s), "usual"
		if s.hostile {
			kind = "hostile"
		}
		for _, width := range []int64{360, 700, 1600} {
			for _, dark := range []bool{false, true} {
				if s.hostile && (width == 700 || dark == (width == 360)) {
					continue // they differ in nothing that names change
				}
				name := fmt.Sprintf("%s-%d-%v", kind, width, map[bool]string{false: "light", true: "dark"}[dark])
				t.Run(name, func(t *testing.T) {
					p := browsertest.Visit(t, url, "/#/queue", browsertest.View{
						Width: width, Height: 900, Dark: dark, Breaks: true, // a machine that is busy enough breaks the connection of events
					})
					for _, v := range views {
						hash := v.hash
						if v.name == "job" {
							hash = browsertest.Eval[string](p, "document.querySelectorAll('section[data-view=queue] tbody th a')[3].hash")
						}
						browsertest.Eval[string](p, fmt.Sprintf("location.hash = %q", hash))
						waitFor(p, v.there)
						require.True(t, browsertest.Eval[bool](p, wide), "%s: the page scrolls sideways: %s", v.name, browsertest.Eval[string](p, widest))
						p.Shot(name+"-"+v.name, v.name != "now")
						require.Zero(t, browsertest.Eval[int](p, "document.querySelectorAll('main img, main script, main [onerror]').length"), v.name)
						require.NotEqual(t, "owned", browsertest.Eval[string](p, "document.title"), v.name)
					}
				})
			}
		}
	}
}

// widest names what is wider than the window.
const widest = `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
	.map(e => e.tagName + "." + e.getAttribute("class")).slice(0, 8).join(", ")`

// TestKeys walks through all views by keys.
func TestKeys(t *testing.T) {
	p := browsertest.Visit(t, live(t, toldPool{}), "/", browsertest.View{Width: 1200, Height: 800})
	waitFor(p, views[0].there)
	for i, v := range views {
		p.Do(chromedp.KeyEvent(strconv.Itoa(i + 1)))
		waitFor(p, fmt.Sprintf("document.body.dataset.view === %q && !document.querySelector('section[data-view=%q]').hidden", v.name, v.name))
		require.Equal(t, 1, browsertest.Eval[int](p, "document.querySelectorAll('#view > section:not([hidden])').length"))
	}
	p.Do(chromedp.KeyEvent("2"))
	waitFor(p, views[1].there)
	p.Do(chromedp.KeyEvent("/"))
	waitFor(p, "document.activeElement.type === 'search'")
	browsertest.Eval[string](p, "document.activeElement.value = ''") // the key's own sign is sent even to those who take the key
	p.Do(chromedp.KeyEvent("bob"))
	waitFor(p, "[...document.querySelectorAll('section[data-view=queue] tbody tr')].every(r => r.cells[2].innerText.includes('bob'))")
	require.Contains(t, browsertest.Eval[string](p, "document.querySelector('section[data-view=queue] .says').innerText"), "of ")
	p.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("?"))
	waitFor(p, "document.getElementById('help').open")
	p.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("w"))
	waitFor(p, "document.body.classList.contains('wall')")
	browsertest.Eval[string](p, "(Object.assign(shell.store, {state: 'gone', since: new Date()}), shell.state(), '')")
	require.Contains(t, browsertest.Eval[string](p, "document.getElementById('link').textContent"), "the server is gone since")
	p.Do(chromedp.KeyEvent("w"))
	waitFor(p, "!document.body.classList.contains('wall')")
}

// TestQueueStays: new data leaves the focus, and what was scrolled, where they are.
func TestQueueStays(t *testing.T) {
	s := toldPool{}
	server := livepage.New(s, "e1")
	s.pictures(server)
	web := httptest.NewServer(server)
	t.Cleanup(web.CloseClientConnections)
	t.Cleanup(web.Close)
	p := browsertest.Visit(t, web.URL, "/#/queue?alike=0", browsertest.View{Width: 1200, Height: 500})
	waitFor(p, views[1].there+" && document.getElementById('link').className === 'live'")
	before := browsertest.Eval[string](p, `(() => { const link = document.querySelectorAll("section[data-view=queue] tbody a")[12]; link.focus();
		document.querySelector("section[data-view=queue] .scroll").scrollTop = 300; return link.textContent; })()`)
	next := picture.Picture{Head: picture.Head{
		Pool: "the pool", Now: base + 100, Policy: "slack", Order: "fcfs", Resources: []string{"cpus"}, Capacity: []int64{80}, Use: []int64{80}, Waiting: 30,
		Clocks: []instant.Stretch{}, Problems: []string{"a policy was given up"}, Fallback: "easy",
	}}
	for i := range int64(30) {
		next.Jobs = append(next.Jobs, picture.Job{
			Bar: picture.Bar{ID: backfill.JobID(30 + i), Name: fmt.Sprint(30+i, ".0"), Owner: "zoe", Situation: "waits", Cpus: 2, Start: at(base + 9000)}, Position: int(i + 1), Chunks: 1,
		})
	}
	server.Show(&next)
	waitFor(p, "document.querySelector('section[data-view=queue] tbody tr').cells[2].innerText === 'zoe'")
	require.Equal(t, before, browsertest.Eval[string](p, "document.activeElement.textContent"))
	require.True(t, browsertest.Eval[bool](p, `(() => { const link = document.activeElement.getBoundingClientRect();
		const box = document.querySelector("section[data-view=queue] .scroll").getBoundingClientRect();
		return link.top >= box.top && link.bottom <= box.bottom })()`), "what is read stays in sight, though rows above it have gone")
	require.Contains(t, browsertest.Eval[string](p, "document.getElementById('problems').innerText"), "easy decides in its place")
}

// TestQuestions asks what-ifs by the form, and about less on a job's page.
func TestQuestions(t *testing.T) {
	url := live(t, toldPool{})
	for _, width := range []int64{360, 1600} {
		p := browsertest.Visit(t, url, "/#/what-if", browsertest.View{Width: width, Height: 900})
		fill := func(field, text string) {
			p.Do(chromedp.SetValue(chromedp.CSS("#q-"+field), text))
		}
		ask := func() {
			browsertest.Eval[bool](p, "(document.querySelector('section[data-view=what-if] form').requestSubmit(), true)")
		}
		waitFor(p, views[5].there)
		fill("time", "soon")
		ask()
		waitFor(p, "document.querySelector('#q-time[aria-invalid]') !== null && document.activeElement.id === 'q-time'")
		fill("time", "90m")
		ask()
		waitFor(p, "document.querySelector('section[data-view=what-if] .answer svg circle') !== null")
		require.Contains(t, browsertest.Eval[string](p, "document.querySelector('.answer').innerText"), "It would start")
		p.Shot(fmt.Sprintf("what-if-job-%d", width), true)
		p.Do(chromedp.Click(chromedp.CSS("input[value=change]")))
		ask()
		waitFor(p, "document.querySelector('#q-policy[aria-invalid]') !== null")
		fill("policy", "easy")
		fill("options", "depth=3, keep=true")
		fill("drain", "m1")
		fill("from", "2h")
		fill("for", "4h")
		ask()
		waitFor(p, "document.querySelectorAll('.answer svg circle').length > 10")
		require.Contains(t, browsertest.Eval[string](p, "document.querySelector('.answer').innerText"), "Mean wait")
		require.True(t, browsertest.Eval[bool](p, wide), browsertest.Eval[string](p, widest))
		p.Shot(fmt.Sprintf("what-if-change-%d", width), true)

		browsertest.Eval[string](p, "location.hash = '#/job/55.0'")
		waitFor(p, "document.querySelector('section[data-view=job] form .main') !== null")
		p.Do(chromedp.Click(chromedp.CSS("section[data-view=job] form .main")))
		waitFor(p, "document.querySelector('section[data-view=job] .answer svg') !== null")
		p.Shot(fmt.Sprintf("job-less-%d", width), true)
		require.Contains(t, browsertest.Eval[string](p, "document.querySelector('section[data-view=job] dl').innerText"), "35.0 of ann")
		browsertest.Eval[string](p, "location.hash = '#/now?job=55.0'")
		waitFor(p, "document.querySelector('.now-panel h2')?.innerText.includes('55.0')")
		browsertest.Eval[string](p, "location.hash = '#/job/0.0'")
		waitFor(p, "document.querySelector('section[data-view=job] .huge')?.innerText.includes('runs')")
	}
}

// TestPaper prints each view.
func TestPaper(t *testing.T) {
	p := browsertest.Visit(t, live(t, toldPool{}), "/#/queue", browsertest.View{Width: 1200, Height: 800, Dark: true})
	for _, v := range views {
		if v.name != "job" {
			browsertest.Eval[string](p, fmt.Sprintf("location.hash = %q", v.hash))
			waitFor(p, v.there)
			require.Greater(t, len(p.PDF()), 5000, v.name)
		}
	}
}

// TestEmptyViews: a pool of which nothing is known yet, a job that is gone.
func TestEmptyViews(t *testing.T) {
	server := livepage.New(toldPool{}, "e1")
	server.Show(&picture.Picture{Head: picture.Head{
		Pool: "new", Policy: "easy", Order: "fcfs", Resources: []string{"cpus"}, Capacity: []int64{0}, Use: []int64{0}, Clocks: []instant.Stretch{}, Problems: []string{},
	}})
	web := httptest.NewServer(server)
	t.Cleanup(web.CloseClientConnections)
	t.Cleanup(web.Close)
	p := browsertest.Visit(t, web.URL, "/#/queue", browsertest.View{Width: 700, Height: 800})
	waitFor(p, "document.querySelector('section[data-view=queue] .empty').innerText.includes('Nobody waits')")
	browsertest.Eval[string](p, "location.hash = '#/promises'")
	waitFor(p, "document.querySelector('section[data-view=promises] .empty').innerText.includes('Nothing was promised yet')")
	p.Shot("nothing-promises", true)
	browsertest.Eval[string](p, "location.hash = '#/job/'")
	waitFor(p, "document.querySelector('section[data-view=job] .empty').innerText.includes('Which job')")
}

// TestFreshBeforeThePicture: a view that comes into sight before there is a picture loads once there is one.
func TestFreshBeforeThePicture(t *testing.T) {
	p := browsertest.Visit(t, live(t, toldPool{}), "/", browsertest.View{Width: 800, Height: 600})
	require.True(t, browsertest.Eval[bool](p, `(async () => {
		const { Fresh } = await import("/assets/fresh.js"), store = new EventTarget();
		const wait = () => new Promise((done) => setTimeout(done, 50));
		let shown = false;
		const fresh = new Fresh(store, 0, async () => 1, () => { shown = true; });
		fresh.start();
		document.dispatchEvent(new Event("visibilitychange"));
		await wait();
		store.head = {};
		store.dispatchEvent(new Event("change"));
		await wait();
		return shown;
	})()`))
}
