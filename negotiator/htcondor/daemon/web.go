package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// The bounds of the web server, which anyone may ask.
const (
	mostWebConnections = 64
	// A reader that takes less than webChunk in webPatience is cut off; one that takes more may
	// take as long as the list is.
	webChunk    = 64 << 10
	webPatience = 10 * time.Second
)

// web answers HTTP requests.
type web struct {
	d       *Daemon
	page    http.Handler // nil: there is none
	names   []string     // under which it may be called, in lower case
	metrics http.Handler

	readers server.Readers // of listings
}

// Web serves metrics (/metrics, for Prometheus) and start times (/start-times, JSON) at an address,
// to anyone who can reach it, until the context ends. It returns as soon as it listens, or cannot;
// wait ends the service and returns when it has ended. The page answers all other requests; nil: there is
// nothing else.
//
// /start-times takes offset and limit. Its ETag stands for all pages of one plan: a client that
// sends it as If-Match gets 412 instead of a page of another plan, and as If-None-Match 304 while
// nothing has changed. Errors are JSON, {"error": "…"}.
func (d *Daemon) Web(ctx context.Context, address string, page http.Handler) (wait func(), err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w; beside another negotiator, give --http another port", err)
		}
		return nil, fmt.Errorf("open the port for metrics: %w", err)
	}
	registry := prometheus.NewRegistry()
	if err = registry.Register(metrics{d}); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &http.Server{
		Handler: &web{
			d: d, page: page, names: webNames(address, d.o.Host), metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		},
		ConnContext:       server.WithGuest,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true,
		ErrorLog: d.log.Named("web").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	s.SetKeepAlivesEnabled(false) // whoever asks without end would keep its place, and others out
	done := make(chan struct{})
	go func() {
		defer close(done)
		limited := server.NewPlaces(listener, mostWebConnections, d.log.Named("web"))
		if err := s.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("the port for metrics is closed", "error", err)
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	d.log.Info("metrics and start times are told", "url", "http://"+listener.Addr().String())
	return func() {
		if stop() {
			_ = s.Close()
		}
		<-done
	}, nil
}

// webNames are the names that requests may call this machine by: the one that it listens at, its
// own, and localhost.
func webNames(address, host string) []string {
	at, _, _ := net.SplitHostPort(address)
	own, _ := os.Hostname()
	var names []string
	for _, name := range []string{"localhost", at, host, own} {
		name = strings.ToLower(name)
		short, _, _ := strings.Cut(name, ".")
		names = append(names, name, short)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// called reports whether a request means this machine. A page of a stranger whose name leads here
// (DNS rebinding) is kept from reading; no such name is an IP address.
func (w *web) called(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "" || err == nil || slices.Contains(w.names, host)
}

// ServeHTTP implements [http.Handler].
func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("X-Content-Type-Options", "nosniff")
	switch known := r.URL.Path == "/metrics" || r.URL.Path == "/start-times"; {
	case !w.called(r.Host):
		refuse(out, http.StatusMisdirectedRequest,
			"this machine is not known by that name: use its IP address or its own name")
	case !known && w.page != nil:
		w.page.ServeHTTP(out, r)
	case !known:
		refuse(out, http.StatusNotFound, "there is nothing here: try /start-times or /metrics")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		out.Header().Set("Allow", "GET, HEAD")
		refuse(out, http.StatusMethodNotAllowed, "only GET and HEAD are served")
	case r.URL.Path == "/metrics":
		w.metrics.ServeHTTP(out, r)
	default:
		w.startTimes(out, r)
	}
}

// refuse answers with an error.
func refuse(out http.ResponseWriter, code int, text string) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(code)
	_ = json.NewEncoder(out).Encode(map[string]string{"error": text})
}

// startTimes lists the jobs that wait.
func (w *web) startTimes(out http.ResponseWriter, r *http.Request) {
	offset, limit, err := pageOf(r.URL.RawQuery)
	if err != nil {
		refuse(out, http.StatusBadRequest, err.Error())
		return
	}
	answers, err := w.d.answers()
	if err != nil {
		refuse(out, http.StatusServiceUnavailable, err.Error())
		return
	}
	l := answers.listing()
	packed := limit == whole && offset == 0 && takesGzip(r.Header)
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
		refuse(out, http.StatusPreconditionFailed, "there is a new plan: begin again with the first page")
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

// takesGzip reports whether a client takes answers in gzip.
func takesGzip(h http.Header) bool {
	for way := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(way, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, _ := strings.Cut(quality, "=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err != nil || weight > 0
		}
	}
	return false
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
