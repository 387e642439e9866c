package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// A reader that takes less than webChunk in webPatience is cut off; one that takes more may take as long
// as the list is.
const (
	webChunk    = 64 << 10
	webPatience = 10 * time.Second
)

// web answers HTTP requests.
type web struct {
	d       *Daemon
	page    http.Handler // nil: there is none
	metrics http.Handler

	readers server.Readers // of listings
}

// Web serves metrics (/metrics, for Prometheus) and start times (/start-times, JSON) to those who may
// look, until the context ends. It returns as soon as it listens, or cannot; wait ends the service and
// returns when it has ended. The page answers all other requests; nil: there is nothing else.
//
// /start-times takes offset and limit. Its ETag stands for all pages of one plan: a client that
// sends it as If-Match gets 412 instead of a page of another plan, and as If-None-Match 304 while
// nothing has changed. Errors are JSON, {"error": "…"}.
func (d *Daemon) Web(ctx context.Context, who access.Options, page http.Handler) (wait func(), err error) {
	registry := prometheus.NewRegistry()
	if err = errors.Join(registry.Register(metrics{d}), registry.Register(d.meter)); err != nil {
		return nil, err
	}
	d.collected.Store(true)
	w := &web{d: d, page: page, metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
	url, wait, err := livepage.Serve(ctx, who, w, d.log.Named("web"))
	if err == nil {
		if page != nil {
			d.tellPage(url)
		}
		d.log.Info("metrics and start times are told", "url", url)
	}
	return wait, err
}

// ServeHTTP implements [http.Handler].
func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	switch known := r.URL.Path == "/metrics" || r.URL.Path == "/start-times"; {
	case !known && w.page != nil:
		w.page.ServeHTTP(out, r)
	case !known:
		access.Refuse(out, http.StatusNotFound, "there is nothing here: try /start-times or /metrics")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		out.Header().Set("Allow", "GET, HEAD")
		access.Refuse(out, http.StatusMethodNotAllowed, "only GET and HEAD are served")
	case r.URL.Path == "/metrics":
		w.metrics.ServeHTTP(out, r)
	default:
		w.startTimes(out, r)
	}
}

// startTimes lists the jobs that wait.
func (w *web) startTimes(out http.ResponseWriter, r *http.Request) {
	offset, limit, err := pageOf(r.URL.RawQuery)
	if err != nil {
		access.Refuse(out, http.StatusBadRequest, err.Error())
		return
	}
	answers, err := w.d.answers()
	if err != nil {
		access.Refuse(out, http.StatusServiceUnavailable, err.Error())
		return
	}
	l := answers.listing()
	packed := limit == whole && offset == 0 && livepage.TakesGzip(r.Header)
	tag := `"` + l.tag + `"`
	if packed {
		tag = `"` + l.tag + `-gzip"`
	}
	h := out.Header()
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // the ETag tells whether it is still true
	switch match := r.Header.Values("If-Match"); {
	case len(match) > 0 && !l.named(match):
		access.Refuse(out, http.StatusPreconditionFailed, "there is a new plan: begin again with the first page")
		return
	case l.named(r.Header.Values("If-None-Match")):
		out.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	parts := l.page(offset, limit)
	if packed {
		h.Set("Content-Encoding", "gzip")
		parts = [][]byte{l.gzip()}
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	h.Set("Content-Length", strconv.Itoa(size))
	if r.Method == http.MethodHead {
		return
	}
	cut := make(chan struct{})
	defer w.readers.Begin(l, func() { close(cut) })()
	asker := security.Peer{User: security.Unauthenticated, Address: r.RemoteAddr}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		asker.Address = host
	}
	send(out, parts, cut, func(bytes int) error { return w.d.o.Sending.Pay(r.Context(), asker, bytes) })
}

// whole is the limit of a list that is not paged.
const whole = int(^uint(0) >> 1)

// pageOf returns the page that a request asks for.
func pageOf(query string) (offset, limit int, err error) {
	q, err := url.ParseQuery(query)
	number := func(name string, least, otherwise int) int {
		if !q.Has(name) {
			return otherwise
		}
		n, wrong := strconv.Atoi(q.Get(name))
		if wrong != nil || n < least {
			err = cmp.Or(err, fmt.Errorf("%s must be a number from %d on", name, least))
		}
		return n
	}
	return number("offset", 0, 0), number("limit", 1, whole), err
}

// named reports whether one of the ETags stands for this list, in whatever encoding.
func (l *listing) named(tags []string) bool {
	for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
		tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
		if tag == "*" || strings.TrimSuffix(tag, "-gzip") == l.tag {
			return true
		}
	}
	return false
}

// send writes an answer without copying it, as long as its reader takes some of it. It pays for
// what comes after the first chunk of each part.
func send(out http.ResponseWriter, parts [][]byte, cut <-chan struct{}, pay func(bytes int) error) {
	c := http.NewResponseController(out)
	for _, part := range parts {
		for rest := part; len(rest) > 0; {
			chunk := rest[:min(webChunk, len(rest))]
			if len(rest) < len(part) && pay(len(chunk)) != nil {
				return // the client has gone, or the daemon ends
			}
			rest = rest[len(chunk):]
			select {
			case <-cut:
				_ = c.SetWriteDeadline(time.Unix(1, 0)) // what is not sent yet is not sent any more
				return
			default:
			}
			_ = c.SetWriteDeadline(time.Now().Add(webPatience))
			if _, err := out.Write(chunk); err != nil {
				return
			}
		}
	}
}
