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
)

// TestSigningIn signs in as a person does: a link into the page leads to the sign-in page and, with the
// token, to where it pointed. Scripts see no cookie, and events come.
func TestSigningIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("ann: 0123456789abcdef0123"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	url, wait, err := livepage.Serve(ctx, access.Options{Address: "127.0.0.1:0", TokenFile: file, Clock: time.Now}, shown(),
		hclog.NewNullLogger())
	require.NoError(t, err)
	defer wait()
	defer cancel()
	// The browser complains about answers that refuse, as if connections broke.
	p := browsertest.Visit(t, url, "/#/promises", browsertest.View{Width: 360, Height: 640, Breaks: true})
	waitFor(p, `document.querySelector("#token") !== null`)
	require.Equal(t, "/sign-in#/promises", browsertest.Eval[string](p, "location.pathname + location.hash"))
	require.True(t, browsertest.Eval[bool](p, "document.documentElement.scrollWidth <= 360"))
	p.Shot("sign-in", false)
	p.Do(chromedp.SendKeys(chromedp.CSS("#token"), "wrong"+kb.Enter))
	waitFor(p, `document.querySelector("[role=alert]") !== null`)
	p.Do(chromedp.SendKeys(chromedp.CSS("#token"), "0123456789abcdef0123"+kb.Enter))
	waitFor(p, `location.pathname === "/" && document.readyState === "complete"`)
	require.Equal(t, "#/promises", browsertest.Eval[string](p, "location.hash"))
	require.Empty(t, browsertest.Eval[string](p, "document.cookie"))
	require.JSONEq(t, `{"user":"ann","names":"all","signed":true}`, browsertest.Eval[string](p, `fetch("/api/v1/me").then(r => r.text())`))
	require.Equal(t, "reset", browsertest.Eval[string](p, `new Promise(done => { const s = new EventSource("/api/v1/events?epoch=x&version=1");
		s.addEventListener("reset", () => { s.close(); done("reset"); }); })`))
	require.InDelta(t, 200, browsertest.Eval[float64](p, `fetch("/api/v1/what-if", {method: "POST", body: "{}"}).then(r => r.status)`), 0)
	browsertest.Eval[bool](p, `fetch("/sign-out", {method: "POST", redirect: "manual"}).then(() => true)`)
	require.InDelta(t, 401, browsertest.Eval[float64](p, `fetch("/api/v1/me").then(r => r.status)`), 0)
}
