//go:build browser

package livepage_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
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
	var text strings.Builder
	for _, name := range []string{
		"store", "now", "now-lanes", "now-paint", "now-panel", "now-strip", "now-find", "now-bands", "now-colours",
		"drawing/hand", "drawing/view", "drawing/times", "drawing/sheet", "drawing/shade", "drawing/strip",
	} {
		text.WriteString(`<link rel="modulepreload" href="/assets/` + name + `.js">`)
	}
	return text.String()
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

// drawn is after how many milliseconds the chart was drawn first.
const drawn = `performance.getEntriesByName("chart drawn")[0].startTime`

// charted opens a page with a chart, and waits until that is drawn.
func charted(t *testing.T, server string, v browsertest.View) *browsertest.Page {
	t.Helper()
	p := browsertest.Visit(t, server, "/", v)
	waitFor(p, drawn+" > 0")
	return p
}

// settle waits until everything is drawn.
func settle(p *browsertest.Page) {
	p.Helper()
	browsertest.Eval[bool](p, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}
