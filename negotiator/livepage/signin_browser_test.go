//go:build browser

package livepage_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// TestSigningIn signs in as a person does: a link into the page leads to the sign-in page and, with the
// token, to where it pointed. Scripts see no cookie, events come, his own name alone is shown, and he can
// leave.
func TestSigningIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("ann: 0123456789abcdef0123"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	pool := livepage.New(source{}, "e1")
	pool.Hide(access.NewAliases(access.Own))
	pool.Show(&picture.Picture{
		Head: picture.Head{Now: 100, Resources: []string{"cpus"}, Capacity: []int64{8}, Use: []int64{2}},
		Jobs: []picture.Job{job(1, "bob", "reserved", 4, 60, 300), job(2, "ann@pool.test", "reserved", 1, 60, 200)},
	})
	url, wait, err := livepage.Serve(ctx, access.Options{Address: "127.0.0.1:0", TokenFile: file, Clock: time.Now}, pool,
		hclog.NewNullLogger())
	require.NoError(t, err)
	defer wait()
	defer cancel()
	p := browsertest.Visit(t, url, "/#/promises", browsertest.View{Width: 360, Height: 640, Breaks: true})
	p.Do(chromedp.WaitVisible("#token"))
	require.Equal(t, "/sign-in#/promises", browsertest.Eval[string](p, "location.pathname + location.hash"))
	require.True(t, browsertest.Eval[bool](p, "document.documentElement.scrollWidth <= 360"))
	p.Shot("sign-in", false)
	p.Do(chromedp.SendKeys("#token", "wrong"+kb.Enter), chromedp.WaitVisible("[role=alert]"))
	p.Do(chromedp.SendKeys("#token", "0123456789abcdef0123"+kb.Enter), chromedp.WaitVisible("#leave"))
	require.Equal(t, "/#/promises", browsertest.Eval[string](p, "location.pathname + location.hash"))
	require.Empty(t, browsertest.Eval[string](p, "document.cookie"))
	waitFor(p, "shell.store.jobs.size === 2")
	require.Equal(t, "user 1, ann@pool.test",
		browsertest.Eval[string](p, `[...shell.store.jobs.values()].map(job => job.owner).join(", ")`))
	require.Equal(t, "reset", browsertest.Eval[string](p, `new Promise(done => {
		const s = new EventSource("/api/v1/events?epoch=x&version=1");
		s.addEventListener("reset", () => { s.close(); done("reset"); }); })`))
	require.InDelta(t, 200, browsertest.Eval[float64](p,
		`fetch("/api/v1/what-if", {method: "POST", body: "{}"}).then(r => r.status)`), 0)
	p.Shot("signed-in", false)
	p.Do(chromedp.Click("#leave"), chromedp.WaitVisible("#token"))
	require.Equal(t, "/sign-in#/promises", browsertest.Eval[string](p, "location.pathname + location.hash"))
	p.Do(chromedp.Navigate(url+"/#/queue"), chromedp.WaitVisible("#token"))
}
