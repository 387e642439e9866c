package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Web serves metrics (/metrics, for Prometheus) and start times (/start-times, JSON) at an address,
// to anyone who can reach it, until the context ends. It returns as soon as it listens, or cannot;
// wait ends the service and returns when it has ended.
func (d *Daemon) Web(ctx context.Context, address string) (wait func(), err error) {
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
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /start-times", d.serveStartTimes)
	server := &http.Server{
		Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("the port for metrics is closed", "error", err)
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	d.log.Info("metrics and start times are told", "url", "http://"+listener.Addr().String())
	return func() {
		if stop() {
			_ = server.Close()
		}
		<-done
	}, nil
}

// serveStartTimes lists the jobs that wait.
func (d *Daemon) serveStartTimes(w http.ResponseWriter, _ *http.Request) {
	plan, err := d.Plan()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct { // a client that went away needs no answer
		Now  int64         `json:"now"`
		Jobs []JobForecast `json:"jobs"`
	}{int64(plan.Now), d.waiting(plan)})
}

// metrics collects the daemon's numbers for Prometheus.
type metrics struct{ d *Daemon }

// describes makes the description of a metric from its name without backfill_, and its meaning.
func describes(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("backfill_"+name, help, labels, nil)
}

var (
	cyclesTotal   = describes("cycles_total", "Negotiation cycles since the start.")
	refusalsTotal = describes("refusals_total", "Decisions of the policy that did not count.")
	brokenTotal   = describes("guarantees_broken_total", "Guarantees that could not be kept, by cause.", "cause")
	unstarted     = describes("unstarted_total", "Jobs that were matched and never seen to run.")
	slotsPaused   = describes("slots_paused", "Slots that are left out for a while since starts fail there.")
	slotsNow      = describes("slots", "Slots in the pool, as of the last cycle.")
	jobsNow       = describes("jobs", "Jobs by situation: idle, running, reserved, unplanned.", "situation")
	startedLast   = describes("started", "Jobs that the last cycle started.")
	phaseSeconds  = describes("phase_seconds", "How long each phase of the last cycle took.", "phase")
	residentBytes = describes("resident_bytes", "Memory of the process.")
	isStopped     = describes("stopped", "1 if nothing is matched because another negotiator is at work.")
)

// Describe implements prometheus.Collector.
func (metrics) Describe(c chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		cyclesTotal, refusalsTotal, brokenTotal, unstarted, slotsPaused, slotsNow,
		jobsNow, startedLast, phaseSeconds, residentBytes, isStopped,
	} {
		c <- desc
	}
}

// Collect implements prometheus.Collector.
func (m metrics) Collect(c chan<- prometheus.Metric) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	s := &m.d.status
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(desc, kind, v, labels...)
	}
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		send(desc, prometheus.GaugeValue, v, labels...)
	}
	count := func(desc *prometheus.Desc, v int, labels ...string) {
		send(desc, prometheus.CounterValue, float64(v), labels...)
	}
	count(cyclesTotal, s.total)
	count(refusalsTotal, s.refusals)
	count(unstarted, s.unstarted)
	for cause, n := range s.broken {
		count(brokenTotal, n, cause)
	}
	gauge(slotsPaused, float64(s.paused))
	gauge(residentBytes, float64(rss()))
	stopped := 0.0
	if s.stopped != "" {
		stopped = 1
	}
	gauge(isStopped, stopped)
	if len(s.cycles) == 0 {
		return
	}
	last := s.cycles[0]
	gauge(slotsNow, float64(last.Slots))
	gauge(startedLast, float64(last.Started))
	for situation, n := range map[string]int{
		"idle": last.Idle, "running": last.Running, "reserved": s.reserved, "unplanned": last.Unplanned,
	} {
		gauge(jobsNow, float64(n), situation)
	}
	for phase, took := range map[string]time.Duration{
		"fetch": last.Fetch, "match": last.Match, "plan": last.Plan,
		"act": last.Act, "publish": last.Publish, "rest": last.Rest,
	} {
		gauge(phaseSeconds, took.Seconds(), phase)
	}
}
