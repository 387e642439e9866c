package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// change changes the status under its lock.
func (d *Daemon) change(how func(*status)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	how(&d.status)
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

// makeForecasts makes forecasts beside the cycles, until the context ends. If a forecast takes longer
// than a cycle, it skips cycles.
func (d *Daemon) makeForecasts(ctx context.Context) {
	defer d.twins.Close()
	defer d.asking.Close()
	defer context.AfterFunc(ctx, func() {
		if play := d.playing.Load(); play != nil && !d.o.Once { // --once prints what is foreseen
			(*play)(context.Cause(ctx))
		}
	})()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.newCycle:
		}
		before := time.Now()
		told := d.lastCycle.Load().Widen()
		d.forecast.Store(told)
		d.accuracy.tell(told)
		took := time.Since(before)
		d.log.Debug("start times are known", "took", took)
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
		if d.o.Accountant != nil && !d.o.Observe {
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
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.sequence++
	return d.ad()
}

// ad returns the Negotiator ad. The status must be locked.
func (d *Daemon) ad() *classad.ClassAd {
	ad := d.status.ad(time.Now())
	d.accuracy.describe(ad)
	return ad
}

// Ad returns the current Negotiator ad.
func (d *Daemon) Ad() *classad.ClassAd {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ad()
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

// unreachable tells whether the collector does not answer, hangs up, or has removed its address. If a
// whole pool is shut down, the collector may end first.
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
		return p.Widen(), nil
	}
	return p.Forecast(), nil
}

// Plans returns forecasts as ads. "" asks for all waiting jobs. "12.0" or "12.0@schedd" asks for
// one job, with all that is known of it. "12" or "12@schedd" asks for a cluster: its jobs in short,
// or, if it has one job, all that is known of that. If there is no such job, there is no ad.
func (d *Daemon) Plans(_ context.Context, job string) (*server.Ads, error) {
	answers, err := d.answers()
	if err != nil {
		return nil, err
	}
	if job == "" {
		return answers.ads(), nil
	}
	return server.NewAds(d.explain(answers, job)...), nil
}

// Resources returns the slots that a submitter uses, as condor_userprio -getreslist shows them: Name1,
// StartTime1. Behind the last @ of a name, which the tool cuts off, the stock negotiator has the
// startd's address.
func (d *Daemon) Resources(submitter string) *classad.ClassAd {
	ad := classad.New()
	pool := d.pool.Load()
	if pool == nil {
		return ad
	}
	for i, used := range (*pool).UsedBy(submitter) {
		ad.SetString(fmt.Sprintf("Name%d", i+1), used.Slot+"@")
		ad.SetInt(fmt.Sprintf("StartTime%d", i+1), int64(used.Since))
	}
	return ad
}

// explain returns all that is known of a job, or the jobs of a cluster in short.
func (d *Daemon) explain(answers *answers, job string) (ads []*classad.ClassAd) {
	plan := answers.plan
	pool := *d.pool.Load()
	ids := pool.Find(job)
	if name, schedd, _ := strings.Cut(job, "@"); !strings.Contains(name, ".") {
		name += "."
		for j := range answers.all {
			if strings.HasPrefix(j.Job, name) && (schedd == "" || j.Schedd == schedd) {
				ids, ads = append(ids, j.ID), append(ads, j.Ad(plan.Now))
			}
		}
		if len(ads) > 1 {
			return ads
		}
		ads = nil
	}
	for _, id := range ids {
		j, known := plan.Find(id)
		if u, out := pool.Why(id); out {
			j = unplannedForecast(u)
		} else if !known {
			j = d.unforeseen(job, id, plan)
		}
		ad := d.describeFit(j, id, plan.Now)
		describePauses(ad, j, pool.Last().Paused)
		ads = append(ads, ad)
	}
	return ads
}

// unforeseen returns what is said of a job that the forecast does not have.
func (d *Daemon) unforeseen(name string, id backfill.JobID, plan *Forecast) JobForecast {
	d.cycle.Lock()
	defer d.cycle.Unlock()
	j := JobForecast{Job: name, Situation: backfill.Waits.String(), Reason: "is new: the next cycle plans with it"}
	r, planned := d.n.State().Reason(id)
	switch {
	case r.NotBefore != 0:
		j.NotBefore = seconds(r.NotBefore)
		j.Reason = j.describe(plan.Now, time.Local)
	case r.Why == backfill.Unpromised:
		j.Reason = r.Text
	case planned && plan.Further > 0:
		j.Reason = fmt.Sprintf("waits behind more than %d jobs: no start is foreseen yet", mostForeseen)
	}
	return j
}

// Paused is a slot that is left out until a time, in seconds since 1970, because starts failed
// there.
type Paused struct {
	Slot         string `json:"slot"`
	Until        int64  `json:"until"`
	FailedStarts int64  `json:"failed_starts"`
}

// describePauses adds to an ad how many slots are left out for a job, and the first of
// them. Times are numbers, so that readers can show them in their own time zone.
func describePauses(ad *classad.ClassAd, j JobForecast, paused []claims.Pause) {
	n := 0
	for _, p := range paused {
		user, _, _ := strings.Cut(p.User, "@")
		if p.Schedd != "" && p.Schedd != j.Schedd || user != "" && user != j.Owner {
			continue
		}
		if n++; n <= mostLines {
			ad.SetString(fmt.Sprintf("PausedSlot%d", n), p.Slot)
			ad.SetInt(fmt.Sprintf("PausedUntil%d", n), p.Until.Unix())
			ad.SetInt(fmt.Sprintf("PausedFailures%d", n), int64(p.Failures))
		}
	}
	if n > 0 {
		ad.SetInt("SlotsPaused", int64(n))
	}
}

// ReadPaused reads the slots that describePauses wrote. If there are many, the ad has only the
// first of them, and SlotsPaused counts all.
func ReadPaused(ad *classad.ClassAd) (all []Paused) {
	for i := 1; ; i++ {
		slot, ok := ad.Text(fmt.Sprintf("PausedSlot%d", i))
		if !ok {
			return all
		}
		until, _ := ad.Int(fmt.Sprintf("PausedUntil%d", i))
		failures, _ := ad.Int(fmt.Sprintf("PausedFailures%d", i))
		all = append(all, Paused{slot, until, failures})
	}
}

// unplannedForecast returns the forecast of a job that is left out of the plan: it only has a
// reason.
func unplannedForecast(u track.Unplanned) JobForecast {
	situation := backfill.Waits
	if u.Runs {
		situation = backfill.Runs
	}
	return JobForecast{
		ID: u.ID, Job: u.Job, Schedd: u.Schedd, Owner: u.Owner,
		Situation: situation.String(), Reason: u.Why,
	}
}

// describeFit returns a job's forecast as an ad, with how many slots the job may use, how many
// refuse it, and on how many each clause of its Requirements is true.
func (d *Daemon) describeFit(j JobForecast, id backfill.JobID, now backfill.Time) *classad.ClassAd {
	d.cycle.Lock()
	defer d.cycle.Unlock()
	fit, ok := d.n.Fit(id)
	if !ok {
		return j.Ad(now)
	}
	switch {
	case !strings.HasPrefix(j.Reason, cannotRun) || fit.Matching+fit.Untried > 0:
	case len(fit.Closed) > 0:
		j.Reason = cannotRunNow(fit, time.Local)
	default:
		j.Reason = cannotRun + "matches no slot: " + fit.WhyNone()
	}
	ad := j.Ad(now)
	d.choices().describe(ad)
	if fallback, _ := d.fallbackInUse(); fallback != "" {
		ad.SetString(fallbackAttribute, fallback)
	}
	ad.SetInt("SlotsInPool", int64(fit.Slots))
	ad.SetInt("SlotsMatching", int64(fit.Matching))
	ad.SetInt("SlotsRefusing", int64(fit.Refusing))
	for i, c := range fit.Closed {
		ad.SetString(fmt.Sprintf("ClosedWhy%d", i+1), c.Why)
		ad.SetInt(fmt.Sprintf("ClosedSlots%d", i+1), int64(c.Slots))
	}
	for i, c := range fit.Clauses {
		ad.SetString(fmt.Sprintf("Clause%d", i+1), c.Text)
		ad.SetInt(fmt.Sprintf("ClauseMet%d", i+1), int64(c.Met))
	}
	return ad
}
