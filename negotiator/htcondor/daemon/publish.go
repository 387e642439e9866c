package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
)

// change changes what is told of us.
func (d *Daemon) change(how func(*standing)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	how(&d.standing)
}

// announce has the ads sent soon.
func (d *Daemon) announce() { signalTo(d.tell) }

// signalTo says that there is something to do, unless that is known already.
func signalTo(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// foresee makes the plans of cycles beside them, until the context ends: not each of
// them, if that takes longer than a cycle.
func (d *Daemon) foresee(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.fresh:
		}
		before := time.Now()
		d.made.Store(d.plan.Load().Plan())
		took := time.Since(before)
		d.log.Debug("start times are known", "took", took)
		d.change(func(s *standing) { s.planned = took })
	}
}

// publish sends our ads when they are new, and often enough, until the context
// ends. It keeps no cycle waiting.
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
		case <-d.tell:
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

// sealed is the Negotiator ad of the next update.
func (d *Daemon) sealed() *classad.ClassAd {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.standing.sequence++
	return d.standing.ad(time.Now())
}

// Ad is the Negotiator ad as it stands.
func (d *Daemon) Ad() *classad.ClassAd {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.standing.ad(time.Now())
}

// withdraw takes our ad back, if there was one.
func (d *Daemon) withdraw(ctx context.Context) {
	d.mu.Lock()
	name, adType, published := d.standing.name, d.standing.adType(), d.standing.sequence > 0
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

// unreachable tells whether nobody answers, or not to the end: where a whole pool is shut
// down, the collector may go first.
func unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// beReady tells condor_master, once, that we do our work.
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

// ErrNoPlan says that it is too early to ask.
var ErrNoPlan = errors.New("there is no plan yet: the first cycle is not over")

// Plan is the schedule as the last cycle left it.
func (d *Daemon) Plan() (*Plan, error) {
	p := d.plan.Load()
	if p == nil {
		return nil, ErrNoPlan
	}
	return p.Plan(), nil
}

// Plans are ads with what jobs have to expect: of all that wait, or of those that
// users call so ("12.0", "12.0@schedd") with all that is known of them, or of those of a
// cluster ("12", "12@schedd"), if they are several in short. No such job: no ad.
func (d *Daemon) Plans(_ context.Context, job string) (ads []*classad.ClassAd, err error) {
	plan, err := d.Plan()
	if err != nil {
		return nil, err
	}
	if job == "" {
		for _, j := range d.waiting(plan) {
			ads = append(ads, j.Ad(plan.Now))
		}
		return ads, nil
	}
	pool := *d.pool.Load()
	ids := pool.Find(job)
	if name, schedd, _ := strings.Cut(job, "@"); !strings.Contains(name, ".") {
		for _, j := range d.withUnplanned(plan, slices.Clone(plan.Jobs)) {
			if strings.HasPrefix(j.Job, name+".") && (schedd == "" || j.Schedd == schedd) {
				ids, ads = append(ids, j.ID), append(ads, j.Ad(plan.Now))
			}
		}
		if len(ads) > 1 {
			return ads, nil
		}
		ads = nil
	}
	for _, id := range ids {
		j, known := plan.Find(id)
		if u, out := pool.Why(id); out {
			j = leftOut(u)
		} else if !known {
			j = JobPlan{Job: job, Situation: "waits", Reason: "is new: the next cycle plans with it"}
		}
		ad := d.describeFit(j, id, plan.Now)
		describePauses(ad, j.Schedd, pool.Last().Paused)
		ads = append(ads, ad)
	}
	return ads, nil
}

// Paused is a slot that is left out until a time, in seconds since 1970, as starts failed
// there.
type Paused struct {
	Slot         string `json:"slot"`
	Until        int64  `json:"until"`
	FailedStarts int64  `json:"failed_starts"`
}

// describePauses adds how many slots are left out for jobs of a schedd, and the first of
// them. Whoever reads it puts it in words, in a time zone of his own.
func describePauses(ad *classad.ClassAd, schedd string, paused []htcondor.Pause) {
	n := 0
	for _, p := range paused {
		if p.Schedd != "" && p.Schedd != schedd {
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

// ReadPaused are the slots that an ad of a job's plan says are left out, the first of them if
// they are many: SlotsPaused says how many.
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

// waiting are the plans of all jobs that do not run, those last that are not planned
// with.
func (d *Daemon) waiting(plan *Plan) []JobPlan { return d.withUnplanned(plan, plan.Waiting()) }

// withUnplanned adds those that are not planned with.
func (d *Daemon) withUnplanned(plan *Plan, all []JobPlan) []JobPlan {
	for _, u := range (*d.pool.Load()).Unplanned() {
		if _, known := plan.Find(u.ID); !known {
			all = append(all, leftOut(u))
		}
	}
	return all
}

// leftOut is the plan of a job that is not planned with.
func leftOut(u htcondor.Unplanned) JobPlan {
	return JobPlan{ID: u.ID, Job: u.Job, Schedd: u.Schedd, Owner: u.Owner, Situation: backfill.Waits.String(), Reason: u.Why}
}

// describeFit is a job's ad with which slots it could run on, and what keeps it from the
// others.
func (d *Daemon) describeFit(j JobPlan, id backfill.JobID, now backfill.Time) *classad.ClassAd {
	d.cycle.Lock()
	defer d.cycle.Unlock()
	fit, ok := d.n.Fit(id)
	if !ok {
		return j.Ad(now)
	}
	if j.Situation == backfill.HeldBack.String() && fit.Matching == 0 {
		j.Reason = cannotRun + "matches no slot: " + fit.WhyNone()
	}
	ad := j.Ad(now)
	ad.SetInt("SlotsInPool", int64(fit.Slots))
	ad.SetInt("SlotsMatching", int64(fit.Matching))
	ad.SetInt("SlotsRefusing", int64(fit.Refusing))
	for i, c := range fit.Clauses {
		ad.SetString(fmt.Sprintf("Clause%d", i+1), c.Text)
		ad.SetInt(fmt.Sprintf("ClauseMet%d", i+1), int64(c.Met))
	}
	return ad
}
