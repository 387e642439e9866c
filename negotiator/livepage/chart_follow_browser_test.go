//go:build browser

package livepage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

// same says whether the page has the jobs and slots of a pool as they are.
func same(tab *browsertest.Page, p *pool) {
	tab.Helper()
	waitFor(tab, fmt.Sprintf("store.state === 'live' && store.head.now === %d", p.now))
	text, err := json.Marshal(p.picture().Bars())
	require.NoError(tab, err)
	require.JSONEq(tab, string(text), browsertest.Eval[string](tab, "JSON.stringify([...store.jobs.values()].sort((a, b) => a.id - b.id))"))
	settle(tab)
	require.Equal(tab, len(p.jobs), browsertest.Eval[int](tab, "view.lanes.pieces.size"))
	require.Zero(tab, browsertest.Eval[int](tab, `(() => { // no two jobs have the same lane at a time
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
	tab := charted(t, url, browsertest.View{Width: 1000, Height: 700, Dark: true})
	same(tab, p)
	browsertest.Eval[bool](tab, "window.whole = 0, store.addEventListener('change', (e) => { if (!e.detail) whole++; }), true")
	before := browsertest.Eval[map[string]string](tab, lanesOf)
	kept := 0
	for range 20 {
		p.pass(300)
		server.Show(p.picture())
		same(tab, p)
		now := browsertest.Eval[map[string]string](tab, lanesOf)
		for job, parts := range now {
			if old, ran := before[job]; ran {
				require.Equal(t, old, parts, "job %s", job)
				kept++
			}
		}
		before = now
	}
	require.Greater(t, kept, 100)
	require.LessOrEqual(t, browsertest.Eval[int](tab, "whole"), 1, "differences were enough, but perhaps for the first")
	tab.Shot("chart-dark-1000", false)
}

// A hidden chart does nothing, and shows what there is when it is shown again.
func TestHiddenChart(t *testing.T) {
	p := madeUp(5, 30)
	server, url := served(t, p)
	tab := charted(t, url, browsertest.View{Width: 1000, Height: 700})
	same(tab, p)
	browsertest.Eval[bool](tab, "view.hide(), frames.length = 0, true")
	for range 3 {
		p.pass(300)
		server.Show(p.picture())
		waitFor(tab, fmt.Sprintf("store.head.now === %d", p.now))
	}
	settle(tab)
	require.Zero(t, browsertest.Eval[int](tab, "frames.length"))
	browsertest.Eval[bool](tab, "view.show({}), true")
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
	tab := charted(t, web.URL, browsertest.View{Width: 1000, Height: 700, Breaks: true})
	same(tab, p)
	browsertest.Eval[bool](tab, "window.states = [], store.addEventListener('state', () => states.push(store.state)), true")
	serving.Store(nil)
	web.CloseClientConnections()
	waitFor(tab, "store.state === 'gone'")
	require.Equal(t, []string{"connecting", "gone"}, browsertest.Eval[[]string](tab, "states"))
	require.True(t, browsertest.Eval[bool](tab, "store.since instanceof Date"))
	require.True(t, browsertest.Eval[bool](tab, "store.now() === store.frozen"), "time stands still")

	p.pass(600)
	for range 3 {
		second.Show(p.picture())
	}
	serving.Store(second)
	same(tab, p)
	require.Equal(t, "e2", browsertest.Eval[string](tab, "store.epoch"))
	p.pass(600)
	second.Show(p.picture())
	same(tab, p)
}
