//go:build browser

package rehearsal

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	gort "runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

const hour = 3600

// steadily is a trace of so many hours of a pool of 200 cpus, of which two in three are in use: every ten
// minutes a batch of jobs comes, which has ended when the next one comes. Nothing changes from hour to hour
// but the jobs.
func steadily(hours int) (text *strings.Builder, perHour int) {
	const cpus, every, batch, width, runs = 200, 600, 165, 2, 240 // 0.66 × cpus = batch × width × runs / every
	text = new(strings.Builder)
	fmt.Fprintf(text, "; MaxProcs: %d\n", cpus)
	for i := range hours * hour / every * batch {
		run, wide := runs*(2+i%3)/3, 1+i%(2*width-1)
		fmt.Fprintf(text, "%d %d -1 %d %d -1 -1 %d %d -1 1 %d %d -1 -1 -1 -1 -1\n",
			i+1, i/batch*every, run, wide, wide, 2*run, 1+i%7, 1+i%3)
	}
	return text, hour / every * batch
}

// heap is what the page and this process, which serves it, have in memory, in bytes.
type heap struct{ page, server float64 }

// heapOf counts what nothing needs any more as free: it is the least of some instants, as in between a
// picture is made, or drawn.
func heapOf(p *browsertest.Page) (least heap) {
	p.Helper()
	least = heap{math.Inf(1), math.Inf(1)}
	for range 8 {
		_, err := chromedp.Call(p.Context, heapprofiler.CollectGarbage, cdp.Empty{})
		require.NoError(p, err)
		gort.GC()
		used, err := chromedp.Call(p.Context, runtime.GetHeapUsage, cdp.Empty{})
		require.NoError(p, err)
		var m gort.MemStats
		gort.ReadMemStats(&m)
		least = heap{min(least.page, used.UsedSize), min(least.server, float64(m.HeapAlloc))}
		rest(p.Context, 300*time.Millisecond)
	}
	return least
}

// TestHours shows eight hours of a busy pool, in each view in turn: from the second hour on, neither the
// page nor the server grows by anything for each job that has ended.
func TestHours(t *testing.T) {
	hours, speed := 8, 360.0
	if thorough.On() {
		hours = 48
	}
	text, perHour := steadily(hours + 2)
	dir := t.TempDir()
	w := with{filepath.Join(dir, "p.yaml"), filepath.Join(dir, "t.swf"), "easy"}
	require.NoError(t, os.WriteFile(w.pool, []byte("classes: [{name: m, count: 50, cpus: 4}]\npack: {chunk_cpus: 4}\n"), 0o600))
	require.NoError(t, os.WriteFile(w.workload, []byte(text.String()), 0o600))
	p, err := Prepare(t.Context(), Options{
		Source: &source.Settings{Flags: w}, LogLevel: "error", Log: io.Discard, Clock: time.Now,
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	p.Speed = speed
	ctx, cancel := context.WithCancel(t.Context())
	url, ended := make(chan string, 1), make(chan error, 1)
	began := time.Now()
	stage := Stage{
		Clock: time.Now, HTTP: "127.0.0.1:0",
		Pace: func(ctx context.Context, at backfill.Time) error {
			if at == 0 {
				url <- p.URL()
			}
			rest(ctx, time.Until(began.Add(time.Duration(float64(at)/speed*float64(time.Second)))))
			return ctx.Err()
		},
		Rest: rest,
	}
	go func() {
		_, failed := p.Run(ctx, stage)
		ended <- failed
	}()
	defer func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	}()
	tab := browsertest.Visit(t, <-url, "/", browsertest.View{Width: 1600, Height: 1000})
	now := func() int {
		return browsertest.Eval[int](tab, "shell.store.head?.now ?? 0")
	}
	pass := func(until int) {
		for i := 0; now() < until; i++ {
			view := []string{"now", "queue", "job/", "promises", "pool", "what-if"}[i%6]
			if view == "job/" {
				view += browsertest.Eval[string](tab, "[...shell.store.jobs.values()].at(-1).job")
			}
			browsertest.Eval[bool](tab, "location.hash = '#/"+view+"', true")
			rest(ctx, time.Second)
		}
		browsertest.Eval[bool](tab, "location.hash = '#/now', true")
		rest(ctx, time.Second)
	}
	pass(2 * hour)
	before, from, version := heapOf(tab), now(), browsertest.Eval[int](tab, "shell.store.version")
	pass(hours * hour)
	after := heapOf(tab)
	jobs := float64(perHour*(now()-from)) / hour
	pictures := browsertest.Eval[int](tab, "shell.store.version") - version
	page, server := (after.page-before.page)/jobs, (after.server-before.server)/jobs
	t.Logf("%.0f jobs, %d pictures, %d bars; page %.2f to %.2f MB, %.0f bytes a job; server %.1f to %.1f MB, %.0f bytes a job",
		jobs, pictures, browsertest.Eval[int](tab, "shell.store.jobs.size"), before.page/1e6, after.page/1e6, page,
		before.server/1e6, after.server/1e6, server)
	require.Greater(t, pictures, 20, "the page has followed")
	require.Less(t, page, 150.0, "bytes that the page keeps of each job")
	require.Less(t, server, 500.0, "bytes that the server keeps of each job")
}

// rest waits for so long, or until the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
