package whatif

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// asked is a question about a job, once the pool was looked at.
type asked struct {
	*asking
	o     *outlook.Outlook
	c     negotiator.QuestionedJob
	rules ahead.Rules
	begun ahead.Beginning
}

// aboutJob answers when a job would start, and which jobs like it would start sooner.
func (a *asking) aboutJob(ctx context.Context) error {
	if n := classad.Tokens([]byte(a.q.Job.Ad)); n > mostTokens {
		return badly("the job's ad has %d names, constants and signs: must be at most %d", n, mostTokens)
	}
	ad, err := classad.ParseOld(a.q.Job.Ad)
	if err != nil {
		return badly("the job's ad cannot be read: %w", err)
	}
	if a.Complete != nil {
		a.Complete(ad)
	}
	if chunks, has := ad.Int("MaxHosts"); has {
		ad.SetInt("MinHosts", chunks) // as in the parallel universe
	}
	q := asked{asking: a}
	var job *negotiator.Supposed
	err = a.look(ctx, func(n *negotiator.Negotiator) error {
		like, wrong := n.ReadSupposed("asked", ad)
		if wrong != nil {
			return badly("the job: %w", wrong)
		}
		if a.q.Job.Seconds > 0 {
			like.Estimate = backfill.Time(a.q.Job.Seconds)
		}
		var limits []negotiator.Limit
		if a.Charge != nil {
			if limits, wrong = a.Charge(like); wrong != nil {
				return badly("the job cannot run in this pool: %w", wrong)
			}
		}
		if q.o, job, wrong = outlook.Suppose(n, like, limits); wrong != nil {
			return badly("the job: %w", wrong)
		}
		return nil
	})
	if err != nil {
		return err
	}
	q.c, err = job.Match(ctx)
	switch {
	case err != nil:
		return tookTooLong(ctx)
	case q.c.WhyNone != "":
		return badly("the job cannot run in this pool: %s", q.c.WhyNone)
	}
	return q.reply(ctx)
}

// reply plays the job's arrival, and those of smaller and shorter jobs.
func (a *asked) reply(ctx context.Context) error {
	rules, done, err := a.Twins.Rules(ctx, a.o)
	if err != nil {
		return err
	}
	defer done()
	a.rules = rules
	a.rules.Memory = a.Plan
	s := a.o.State()
	a.answer.Now, a.answer.Present = int64(s.Now()), a.present(a.o)
	a.answer.Asked = "one more job"
	job := &JobAnswer{
		Chunks: a.c.Job.Nodes, Request: a.amounts(a.c.Job), Seconds: int64(a.o.Requested(a.c.Job)),
		ToldBy: ByPlan, Sooner: []Alternative{}, Broken: []Broken{},
	}
	if planned := int64(a.o.Planned(a.o.RunTime(a.c.Job))); planned != job.Seconds {
		job.Planned = planned
	}
	a.answer.Job = job
	if err = a.expect(ctx, job); err != nil {
		return err
	}
	if err = a.sooner(ctx, job); err != nil {
		return err
	}
	if a.cut != "" {
		a.answer.Notes = append(a.answer.Notes, "the answer has gaps: "+a.cut)
	}
	return nil
}

// expect finds when the job would start, and whom it would delay.
func (a *asked) expect(ctx context.Context, job *JobAnswer) error {
	before, err := a.starts(ctx, plan{a.rules, a.beginning(&backfill.Round{Now: a.o.Now()})}, nil)
	if err != nil {
		return err
	}
	begins, promised := false, false
	after, err := a.starts(ctx, plan{a.rules, a.beginning(a.o.Arrival(a.c))}, func(d *backfill.Decision) error {
		for _, h := range d.Held {
			if h.Job.ID == a.c.Job.ID {
				return badly("the job cannot run in this pool: %s", h.Reason)
			}
		}
		for _, b := range d.Started {
			if b.Job.ID == a.c.Job.ID {
				begins, a.begun = true, ahead.Beginning{At: d.Now, Placement: b.Placement}
				if promised = a.o.Guarantees(); promised {
					job.Promised = seconds(b.Guarantee)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c := a.compare(ctx, a.o, before, after)
	job.Broken = c.Broken
	job.Delayed = c.Later + c.Never
	if !begins {
		return nil
	}
	job.Start, job.Slots = seconds(a.begun.At), a.o.State().Places(a.begun.Placement).Short()
	return a.spread(ctx, job)
}

// spread finds the range of starts, if anything is known of past run times.
func (a *asked) spread(ctx context.Context, job *JobAnswer) error {
	if a.begun.At <= a.o.Now() {
		return nil
	}
	r, told, err := a.between(ctx, a.c.Job)
	if err != nil || !told || r.Low == r.High || r.High >= backfill.Forever {
		return err
	}
	job.Low, job.Mid, job.High, job.ToldBy = seconds(r.Low), seconds(r.Mid), seconds(r.High), ByMedian
	return nil
}

// between finds the range of starts of a job like the questioned one, in the same futures for each. It
// takes half of the rounds that are left at most. It returns false if that is not enough.
func (a *asked) between(ctx context.Context, like *backfill.Job) (r ahead.Range, told bool, err error) {
	if a.left <= 0 {
		a.cut = "it would take too many rounds"
		return r, false, nil
	}
	var played atomic.Int64
	ranges, err := a.o.Futures(ctx, outlook.FuturesOptions{
		Futures: ahead.Futures{Workers: 1, Of: []backfill.JobID{like.ID}}, First: a.arrival(like),
	}, func() (ahead.Rules, func(), error) { return a.rules, nil, nil },
		ahead.Bounds{Rounds: max(1, a.left/(2*ahead.DefaultFutures)), Played: &played})
	a.left -= int(played.Load())
	switch {
	case ctx.Err() != nil:
		a.cut = "it would take too long"
		return r, false, nil
	case errors.Is(err, backfill.ErrTooLarge):
		a.cut = fmt.Sprintf("of its range: %v", err)
		return r, false, nil
	}
	r, told = ranges[like.ID]
	return r, told, err
}

// beginning is where a play of the schedule begins.
func (a *asked) beginning(first *backfill.Round) ahead.Start {
	start := a.o.Start()
	start.First = first
	return start
}

// sooner finds jobs that start sooner than the one that is asked about: the longest that starts at
// once, or else shorter ones, and such with fewer chunks or less in each.
func (a *asked) sooner(ctx context.Context, job *JobAnswer) error {
	if job.Start != nil && a.begun.At <= a.o.Now() {
		return nil
	}
	asksFor := a.o.Requested(a.c.Job)
	at, longest, err := a.longestNow(ctx, asksFor)
	if err != nil {
		return err
	}
	if longest > 0 {
		one := Alternative{Chunks: a.c.Job.Nodes, Request: job.Request, Seconds: int64(longest), Start: int64(at)}
		if job.ToldBy == ByMedian { // the same in all futures
			one.Mid = &one.Start
		}
		job.Sooner = append(job.Sooner, one)
	} else {
		for _, part := range []backfill.Time{2, 4} {
			if err := a.offer(ctx, job, *a.c.Job, max(1, asksFor/part)); err != nil {
				return err
			}
		}
	}
	for _, like := range smaller(a.c.Job) {
		if err := a.offer(ctx, job, like, asksFor); err != nil {
			return err
		}
	}
	job.Sooner = distinct(job.Sooner)
	return nil
}

// offer notes a job that is like the one that is asked about and takes so long, if it starts sooner.
func (a *asked) offer(ctx context.Context, job *JobAnswer, like backfill.Job, takes backfill.Time) error {
	if takes < a.o.Requested(a.c.Job) {
		like.Estimate = min(like.Estimate, a.o.Planned(takes))
		like.Running = min(like.Running, like.Estimate)
	}
	at, begins, err := a.begins(ctx, &like, job.ToldBy)
	if err != nil || !begins {
		return err
	}
	one := Alternative{Chunks: like.Nodes, Request: a.amounts(&like), Seconds: int64(takes), Start: int64(at)}
	if job.ToldBy == ByMedian {
		r, told, err := a.between(ctx, &like)
		if err != nil || !told {
			return err
		}
		one.Mid = seconds(r.Mid)
	}
	if job.Start == nil || one.Told() < job.told() {
		job.Sooner = append(job.Sooner, one)
	}
	return nil
}

// distinct drops alternatives that start no sooner than one before them which asks for as much time
// or as much else: that one is more like the job.
func distinct(all []Alternative) (some []Alternative) {
	some = []Alternative{}
	for _, one := range all {
		if !slices.ContainsFunc(some, func(o Alternative) bool {
			alike := o.Chunks == one.Chunks && maps.Equal(o.Request, one.Request)
			return o.Told() <= one.Told() && (alike || o.Seconds == one.Seconds)
		}) {
			some = append(some, one)
		}
	}
	return some
}

// smaller returns jobs with half and a quarter of the chunks, or, of a job with one chunk, with
// half and a quarter of what it requests.
func smaller(j *backfill.Job) (all []backfill.Job) {
	for _, part := range []int{2, 4} {
		like := *j
		if j.Nodes > 1 {
			if like.Nodes = (j.Nodes + part - 1) / part; like.Nodes == j.Nodes {
				continue
			}
		} else {
			like.Request = slices.Clone(j.Request)
			for i, amount := range j.Request {
				like.Request[i] = (amount + int64(part) - 1) / int64(part)
			}
			if slices.Equal(like.Request, j.Request) {
				continue
			}
		}
		if !slices.ContainsFunc(all, func(o backfill.Job) bool {
			return o.Nodes == like.Nodes && slices.Equal(o.Request, like.Request)
		}) {
			all = append(all, like)
		}
	}
	return all
}

// longestNow finds the longest run time, shorter than the given one, with which the job starts at
// once; 0: none does.
func (a *asked) longestNow(ctx context.Context, asksFor backfill.Time) (at, longest backfill.Time, err error) {
	now := a.o.Now()
	starts := func(takes backfill.Time) bool {
		like := *a.c.Job
		like.Estimate = min(like.Estimate, a.o.Planned(takes))
		like.Running = min(like.Running, like.Estimate)
		begins := false
		wrong := a.play(ctx, plan{a.rules, a.arriving(&like)}, func(d *backfill.Decision) bool {
			begins = slices.ContainsFunc(d.Started, func(s backfill.Started) bool { return s.Job.ID == like.ID })
			return true
		})
		err = errors.Join(err, wrong)
		return begins
	}
	if asksFor <= 1 || !starts(1) {
		return now, 0, err
	}
	low, high := backfill.Time(1), asksFor // it starts with the one, and not with the other
	for high-low > 1 && err == nil && a.cut == "" {
		if middle := low + (high-low)/2; starts(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return now, low, err
}

// arrival is the round in which a job like the questioned one arrives.
func (a *asked) arrival(like *backfill.Job) *backfill.Round {
	c := a.c
	c.Job = like
	return a.o.Arrival(c)
}

// arriving is the beginning of a play in which a job like the questioned one arrives.
func (a *asked) arriving(like *backfill.Job) ahead.Start { return a.beginning(a.arrival(like)) }

// begins plays until a job like the questioned one starts. If the plan tells, a start that is no sooner
// does not count.
func (a *asked) begins(ctx context.Context, like *backfill.Job, toldBy string) (at backfill.Time, begins bool, err error) {
	err = a.play(ctx, plan{a.rules, a.arriving(like)}, func(d *backfill.Decision) bool {
		at = d.Now
		begins = slices.ContainsFunc(d.Started, func(s backfill.Started) bool { return s.Job.ID == like.ID })
		return begins || toldBy == ByPlan && a.begun.At != 0 && d.Now >= a.begun.At
	})
	return at, begins, err
}

// amounts names what each chunk of a job requests: not what stands for jobs and kinds of devices in plans.
func (a *asked) amounts(j *backfill.Job) map[string]int64 {
	named := map[string]int64{}
	for i, resource := range a.o.Resources() {
		if j.Request[i] > 0 && !negotiator.IsOfPlans(resource) {
			named[resource] = j.Request[i]
		}
	}
	return named
}
