package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// change changes the status under its lock.
func (d *Daemon) change(how func(*status)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	how(&d.status)
	d.changes++
}

// statusAt returns a copy of the status, and how often it has changed so far. What is told of it is
// made without its lock, for which cycles would wait.
func (d *Daemon) statusAt(now time.Time) (s status, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.monitor.sample(now, CPU())
	s = d.status
	s.broken, s.limits = maps.Clone(s.broken), d.o.Accountant.LimitsInUse()
	s.displacing = s.displacing.clone()
	return s, d.changes
}

// announce requests that the ads are published soon.
func (d *Daemon) announce() { signalTo(d.unpublished) }

// signalTo signals on a channel, unless a signal is already pending.
func signalTo(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// makeForecasts makes forecasts beside the cycles, until the context ends. If a forecast takes
// longer than a cycle, it skips cycles; what is not due yet, as plays take their share of the
// machine, is made later, of the newest cycle.
func (d *Daemon) makeForecasts(ctx context.Context) {
	defer d.twins.Close()
	defer d.asking.Close()
	defer context.AfterFunc(ctx, func() {
		if !d.o.Once { // --once prints what is foreseen
			d.endPlays(context.Cause(ctx))
		}
	})()
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.newCycle:
		case <-due:
		}
		before := time.Now()
		last := d.lastCycle.Load()
		told, later := last.Widen()
		if due = nil; later > 0 {
			due = time.After(later)
		}
		d.forecast.Store(told)
		d.accuracy.tell(told)
		d.show(last, told)
		took := time.Since(before)
		d.log.Debug("start times are known", "took", took, "more_in", later)
		d.change(func(s *status) { s.planned = took })
	}
}

// publish sends our ads to the collector when they have changed, and at least every updateEvery,
// until the context ends. No cycle waits for it.
func (d *Daemon) publish(ctx context.Context) {
	every := d.updateEvery()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if again := d.updateEvery(); again != every {
			every = again
			tick.Reset(every)
		}
		all := false
		select {
		case <-ctx.Done():
			return
		case <-d.unpublished:
		case <-tick.C:
			all = true
		}
		err := d.o.Collector.UpdateNegotiator(ctx, d.sealed())
		if t := d.tuned.Load(); d.o.Accountant != nil && !d.o.Observe && (t.Accounting || t.PrioritiesOf != "") {
			ads := d.o.Accountant.ActiveAds
			if all {
				ads = d.o.Accountant.Ads
			}
			err = errors.Join(err, d.o.Collector.UpdateAccounting(ctx, ads()))
		}
		if err != nil && ctx.Err() == nil {
			d.log.Warn("the collector could not be told about us", "error", err)
		}
	}
}

func (d *Daemon) updateEvery() time.Duration {
	return min(cmp.Or(d.tuned.Load().UpdateEvery, defaultUpdate), defaultUpdate)
}

// sealed returns the Negotiator ad for the next update, with the next sequence number.
func (d *Daemon) sealed() *classad.ClassAd {
	d.change(func(s *status) { s.sequence++ })
	return d.Ad()
}

// shown is the Negotiator ad as it is told to those who ask.
type shown struct {
	mu      sync.Mutex
	at      time.Time
	changes int // of the status until then
	ad      *classad.ClassAd
}

// adLasts is for how long all who ask are told the same ad, unless the status changes: most of what
// it takes to make one is to look at the process.
const adLasts = time.Second

// Ad returns the current Negotiator ad, which must not be changed.
func (d *Daemon) Ad() *classad.ClassAd {
	d.shown.mu.Lock()
	defer d.shown.mu.Unlock()
	now := time.Now()
	s, changes := d.statusAt(now)
	if d.shown.ad == nil || d.shown.changes != changes || now.Sub(d.shown.at) >= adLasts {
		d.shown.at, d.shown.changes, d.shown.ad = now, changes, s.ad(now)
		d.accuracy.describe(d.shown.ad)
		s.describeSite(d.shown.ad)
	}
	return d.shown.ad
}

// withdraw removes our ad from the collector, if it was ever sent.
func (d *Daemon) withdraw(ctx context.Context) {
	d.mu.Lock()
	name, adType, published := d.status.name, d.status.adType(), d.status.sequence > 0
	d.mu.Unlock()
	if !published {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastPatience)
	defer cancel()
	switch err := d.o.Collector.WithdrawNegotiator(ctx, adType, name); {
	case err == nil:
	case unreachable(err):
		d.log.Info("the Negotiator ad stays: the collector cannot be reached")
	default:
		d.log.Warn("the Negotiator ad could not be withdrawn", "error", err)
	}
}

// unreachable tells whether the collector does not answer, hangs up, or has removed its address. If
// a whole pool is shut down, the collector may end first.
func unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// beReady tells condor_master, once, that the daemon is at work.
func (d *Daemon) beReady() {
	d.ready.Do(func() {
		d.announce()
		if d.o.Master == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), lastPatience)
		defer cancel()
		if err := d.o.Master.Ready(ctx, os.Getpid(), "NEGOTIATOR"); err != nil {
			d.log.Debug("condor_master could not be told that we are ready", "error", err)
		}
	})
}

// ErrNoPlan says that no cycle has ended yet.
var ErrNoPlan = errors.New("there is no plan yet: the first cycle is not over")

// Forecast returns that of the last cycle; before the first cycle has ended, the error is
// [ErrNoPlan].
func (d *Daemon) Forecast() (*Forecast, error) {
	p := d.lastCycle.Load()
	if p == nil {
		return nil, ErrNoPlan
	}
	if d.o.Once { // nobody asks again later
		told, _ := p.Widen()
		return told, nil
	}
	return p.Forecast(), nil
}
