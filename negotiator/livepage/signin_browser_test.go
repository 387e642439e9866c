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
)

// TestSigningIn signs in as a person does: a link into the page leads to the sign-in page and, with the
// token, to where it pointed. Scripts see no cookie, and events come.
func TestSigningIn(t *testing.T) {
	shared, err := browser()
	if err != nil {
		t.Skipf("skipped: no Chromium: %v", err)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("ann: 0123456789abcdef0123"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	url, wait, err := livepage.Serve(ctx, access.Options{Address: "127.0.0.1:0", TokenFile: file, Clock: time.Now}, shown(),
		hclog.NewNullLogger())
	require.NoError(t, err)
	defer wait()
	defer cancel()
	of, closeTab := chromedp.NewContext(shared)
	defer closeTab()
	p := &tab{t, of}
	p.do(chromedp.EmulateViewport(360, 640), chromedp.Navigate(url+"/#/promises"))
	p.wait(`document.querySelector("#token") !== null`)
	require.Equal(t, "/sign-in#/promises", value[string](p, "location.pathname + location.hash"))
	require.True(t, value[bool](p, "document.documentElement.scrollWidth <= 360"))
	p.shot("sign-in")
	p.do(chromedp.SendKeys("#token", "wrong"+kb.Enter))
	p.wait(`document.querySelector("[role=alert]") !== null`)
	p.do(chromedp.SendKeys("#token", "0123456789abcdef0123"+kb.Enter))
	p.wait(`location.pathname === "/" && document.readyState === "complete"`)
	require.Equal(t, "#/promises", value[string](p, "location.hash"))
	require.Empty(t, value[string](p, "document.cookie"))
	require.JSONEq(t, `{"user":"ann","names":"all","signed":true}`, value[string](p, `fetch("/api/v1/me").then(r => r.text())`))
	require.Equal(t, "reset", value[string](p, `new Promise(done => { const s = new EventSource("/api/v1/events?epoch=x&version=1");
		s.addEventListener("reset", () => { s.close(); done("reset"); }); })`))
	require.InDelta(t, 200, value[float64](p, `fetch("/api/v1/what-if", {method: "POST", body: "{}"}).then(r => r.status)`), 0)
	value[bool](p, `fetch("/sign-out", {method: "POST", redirect: "manual"}).then(() => true)`)
	require.InDelta(t, 401, value[float64](p, `fetch("/api/v1/me").then(r => r.status)`), 0)
}
