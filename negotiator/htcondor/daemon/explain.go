package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Plans returns forecasts as ads. "" asks for all waiting jobs. "12.0" or "12.0@schedd" asks for
// one job, with all that is known of it. "12" or "12@schedd" asks for a cluster: its jobs in short,
// or, if it has one job, all that is known of that. If there is no such job, there is no ad. Who
// asks while a cycle is under way waits for its end, but no longer than the context lasts.
func (d *Daemon) Plans(ctx context.Context, job string) (*server.Ads, error) {
	answers, err := d.answers()
	if err != nil {
		return nil, err
	}
	if job == "" {
		return answers.ads(), nil
	}
	return answers.explained.of(ctx, job, func() (*server.Ads, error) { return d.explain(ctx, answers, job) })
}

// explained are the explanations of one plan, by the question. To match a job with all slots anew
// takes the lock of cycles.
type explained struct {
	mu  sync.Mutex
	all map[string]*explanation
}

// explanation is what is known of a job, which one at a time finds out.
type explanation struct {
	making lock
	ads    *server.Ads // nil: nobody has found out yet
}

// mostExplained are remembered, of questions that are no longer than longestExplained.
const (
	mostExplained    = 64
	longestExplained = 256
)

// of returns the explanation, which the callback makes if nobody has asked for it since the plan,
// or many others have been asked for since. If the callback fails, the next who asks calls his.
func (e *explained) of(
	ctx context.Context, job string, explain func() (*server.Ads, error),
) (ads *server.Ads, err error) {
	if len(job) > longestExplained {
		return explain()
	}
	known := e.find(job)
	if err = known.making.within(ctx); err != nil {
		return nil, err
	}
	defer known.making.Unlock()
	if known.ads == nil {
		known.ads, err = explain()
	}
	return known.ads, err
}

func (e *explained) find(job string) *explanation {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.all[job]
	if known == nil {
		known = &explanation{making: make(lock, 1)}
		if e.all == nil || len(e.all) >= mostExplained {
			e.all = map[string]*explanation{}
		}
		e.all[job] = known
	}
	return known
}

// explain returns all that is known of a job, or the jobs of a cluster in short.
func (d *Daemon) explain(ctx context.Context, answers *answers, job string) (*server.Ads, error) {
	plan := answers.plan
	pool := *d.pool.Load()
	ids := pool.Find(job)
	if name, schedd, _ := strings.Cut(job, "@"); !strings.Contains(name, ".") {
		name += "."
		var jobs []int32
		for i := range answers.len() {
			if j := answers.at(i); strings.HasPrefix(j.Job, name) && (schedd == "" || j.Schedd == schedd) {
				ids, jobs = append(ids, j.ID), append(jobs, int32(i)) //nolint:gosec // there are fewer jobs
			}
		}
		if len(jobs) > 1 {
			at := func(i int) *classad.ClassAd { return answers.at(int(jobs[i])).Ad(plan.Now) }
			return server.MakeAds(len(jobs), at), nil
		}
	}
	var ads []*classad.ClassAd
	for _, id := range ids {
		ad, err := d.describe(ctx, job, id, plan, pool)
		if err != nil {
			return nil, err
		}
		ads = append(ads, ad)
	}
	return server.NewAds(ads...), nil
}

// describe returns all that is known of one job. It waits for the end of the cycle under way.
func (d *Daemon) describe(
	ctx context.Context, job string, id backfill.JobID, plan *Forecast, pool Pool,
) (*classad.ClassAd, error) {
	leave, err := d.visit(ctx)
	if err != nil {
		return nil, fmt.Errorf("a cycle is under way, and goes on for longer than the client waits: %w", err)
	}
	defer leave()
	j, known := plan.Find(id)
	if u, out := pool.Why(id); out {
		j = unplannedForecast(u)
	} else if !known {
		j = d.unforeseen(job, id, plan)
	}
	ad := d.describeFit(j, id, plan.Now)
	d.describeBasis(ad, id)
	describePauses(ad, j, pool.Last().Paused)
	describeDrains(ad, d.drainedFor(id))
	return ad, nil
}

// unforeseen returns what is said of a job that the forecast does not have. The caller has the lock
// of cycles.
func (d *Daemon) unforeseen(name string, id backfill.JobID, plan *Forecast) JobForecast {
	j := JobForecast{Job: name, Situation: backfill.Waits.String(), Reason: "is new: the next cycle plans with it"}
	if j.Scavenger = d.whyScavenger(id, plan.Now); j.Scavenger != "" {
		if d.scavengerRuns(id) {
			j.Situation = backfill.Runs.String()
		}
		j.Reason = j.Scavenger
		return j
	}
	r, planned := d.n.State().Reason(id)
	switch {
	case r.NotBefore != 0:
		j.NotBefore = seconds(r.NotBefore)
		j.Reason = j.describe(plan.Now, time.Local)
	case r.Why == backfill.Unpromised:
		j.Reason = r.Text
	case !planned && d.tuned.Load().SlotConstraint != "":
		j.Reason = "is new, and the next cycle plans with it, or has a slot of another negotiator"
	case planned && plan.Further > 0:
		j.Reason = fmt.Sprintf("waits behind more than %d jobs: no start is foreseen yet", mostForeseen)
	}
	j.Preemption = d.n.WhyPreemption(id, func(at backfill.Time) string { return zoned(at, plan.Now, time.Local) })
	j.Reason += after("; ", j.Preemption)
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
		others := p.Users != "" && !slices.ContainsFunc(strings.Fields(p.Users), func(user string) bool {
			owner, _, _ := strings.Cut(user, "@")
			return owner == j.Owner
		})
		if p.Schedd != "" && p.Schedd != j.Schedd || others {
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
		slot, ok := ad.Literal(fmt.Sprintf("PausedSlot%d", i)).Text()
		if !ok {
			return all
		}
		until, _ := ad.Literal(fmt.Sprintf("PausedUntil%d", i)).Int()
		failures, _ := ad.Literal(fmt.Sprintf("PausedFailures%d", i)).Int()
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
// refuse it, and on how many each clause of its Requirements is true. The caller has the lock of
// cycles.
func (d *Daemon) describeFit(j JobForecast, id backfill.JobID, now backfill.Time) *classad.ClassAd {
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
	if guarded := fit.WhyGuarded(); guarded != "" && j.Situation != backfill.Runs.String() {
		j.Reason += "; " + guarded
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
	for i, r := range fit.Refusals {
		ad.SetString(fmt.Sprintf("Refusal%d", i+1), r.String())
		ad.SetInt(fmt.Sprintf("RefusalSlots%d", i+1), int64(r.Slots))
	}
	for i, c := range fit.Clauses {
		ad.SetString(fmt.Sprintf("Clause%d", i+1), c.Text)
		ad.SetInt(fmt.Sprintf("ClauseMet%d", i+1), int64(c.Met))
	}
	return ad
}
