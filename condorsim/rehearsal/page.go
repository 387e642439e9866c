package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/meter"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// The bounds of what the page of a simulation shows.
const (
	mostPictured = 10_000                 // jobs that wait
	leastPause   = 250 * time.Millisecond // between two pictures
	fewRounds    = 20_000                 // of a play, for a picture
	manyRounds   = 200_000                // for a question
	mostAsked    = 5000                   // jobs that wait, for a question
	futures      = 32
	patience     = 10 * time.Second // for a question
)

// page shows a simulation that is under way as a page. It is a sink of cycles.
type page struct {
	p      *Rehearsal
	server *livepage.Server
	clock  func() time.Time
	rest   func(context.Context, time.Duration)

	cycle sync.Mutex // held during a cycle: between two of them the pool may be looked at
	snapshot
	ended  int
	cycles []livepage.Cycle // the last ones, the newest first
	number int
	taken  time.Time // when the last picture was taken
	shown  bool      // the last cycle is in a picture

	ranging   time.Time  // when ranges are to be played again
	scenes    chan scene // for the maker; it has room for one
	twins     outlook.Twins
	asking    outlook.Twins
	questions sync.Mutex                      // one at a time is answered
	latest    atomic.Pointer[foretold]        // what plays have found
	seen      atomic.Pointer[outlook.Outlook] // of the last picture
	pool      atomic.Pointer[livepage.Pool]   // as of then
	meter     *meter.Meter
}

// scene is what the next picture is made from.
type scene struct {
	picture.Scene
	told *snapshot // whose starts and ranges are to be found
}

// foretold is when jobs start, as plays have found.
type foretold struct {
	starts map[backfill.JobID]ahead.Beginning
	ranges map[backfill.JobID]ahead.Range
}

// newPage returns the page of the rehearsal.
func (p *Rehearsal) newPage(stage Stage) *page {
	clock := stage.Clock
	v := &page{p: p, clock: clock, rest: stage.Rest, scenes: make(chan scene, 1)}
	v.snapshot = snapshot{held: map[backfill.JobID]string{}, come: map[backfill.JobID]bool{}}
	v.latest.Store(&foretold{})
	v.server = livepage.New(v, fmt.Sprintf("%x", clock().UnixNano()))
	aliases := access.NewAliases(access.Names(p.Settings.HTTPNames))
	v.server.Hide(aliases)
	v.meter = meter.New(meter.Options{Alone: true, Group: aliases.GroupAlias})
	v.server.TellStarts(func(told string, off int64) { v.meter.StartError(told, backfill.Time(off)) })
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(v.meter)
	v.server.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	v.cycle.Lock()
	return v
}

// Cycle follows a cycle.
func (v *page) Cycle(r *negotiator.Report) error {
	if err := v.snapshot.Cycle(r); err != nil {
		return err
	}
	v.at = r.Delta.Now
	v.ended += len(r.Delta.Completed) + len(r.Delta.Removed)
	if r.Scavengers != nil {
		v.ended += len(r.Scavengers.Completed) + len(r.Scavengers.Removed)
	}
	for _, b := range r.Decision.Broken {
		v.server.Broke(livepage.Broken{
			ID: b.Job.ID, Job: v.p.Workload.Jobs[b.Job.ID].Name, Owner: b.Job.Labels["owner"], Promised: int64(b.Promised),
			Now: picture.At(b.Now), Cause: b.Cause.String(), At: int64(r.Delta.Now),
		})
	}
	v.number++
	took := r.Took.Seconds()
	match := r.Matched.Seconds()
	v.cycles = append([]livepage.Cycle{{
		Number: v.number, Began: float64(v.clock().UnixMilli())/1000 - took, Took: took, Started: len(r.Matches),
		Phases: map[string]float64{"match": match, "plan": took - match},
	}}, v.cycles[:min(len(v.cycles), mostCycles-1)]...)
	v.shown = false
	return nil
}

const mostCycles = 60

// paced returns the pace with the pool open to questions while it waits. Before it waits, it takes a
// picture, unless the next one is due soon anyhow.
func (v *page) paced(pace condorsim.Pace) condorsim.Pace {
	return func(ctx context.Context, t backfill.Time) error {
		soon := pace == nil || float64(t-v.at)/v.p.Speed < leastPause.Seconds()
		if v.state != nil && !v.shown && (!soon || v.clock().Sub(v.taken) >= leastPause) {
			v.take(false)
		}
		v.cycle.Unlock()
		defer v.cycle.Lock()
		if pace == nil {
			return ctx.Err()
		}
		return pace(ctx, t)
	}
}

// take takes what the next picture is made from, in the place of what is not made yet.
func (v *page) take(over bool) {
	v.taken, v.shown = v.clock(), true
	n := v.last.Negotiator()
	scavengers, _ := negotiator.Scavengers(n, 0)
	s := scene{told: &snapshot{at: v.at}, Scene: picture.Scene{
		Outlook: outlook.New(n), Settled: n.Settled().Jobs, Scavengers: scavengers, Head: v.head(),
	}}
	s.Head.Over = over
	v.seen.Store(s.Outlook)
	v.pool.Store(v.pooled(&s.Head))
	for _, j := range n.State().FirstWaiting(mostPictured) {
		s.Waiting = append(s.Waiting, n.Job(j.ID))
	}
	select {
	case <-v.scenes:
	default:
	}
	v.scenes <- s
}

// head is what the page says above all.
func (v *page) head() picture.Head {
	clock := v.p.Clock()
	name, order := v.p.InCharge()
	_, guarantees := v.state.Policy()
	const year = 366 * 24 * 3600
	return picture.Head{
		Pool: v.p.Workload.Name, Simulated: true, Speed: v.p.Settings.Speed, Clocks: clock.Stretches(clock.First, max(clock.Last, int64(v.at))+year),
		Policy: name, Order: order, Guarantees: guarantees, Fallback: v.p.FallbackInUse(), Ended: v.ended,
	}
}

// metered returns the sink that counts for Prometheus. It shares the copies of the state that pictures are
// made of.
func (v *page) metered() negotiator.Sink {
	return &meter.Sink{
		Meter: v.meter, State: func(*negotiator.Report) func() *backfill.State { return v.copied },
		Starts: func() func(backfill.JobID) (backfill.Time, bool) {
			starts := v.latest.Load().starts
			return func(id backfill.JobID) (backfill.Time, bool) {
				b, known := starts[id]
				return b.At, known
			}
		},
	}
}

// copied returns a copy of the state in the last picture; nil: there is none.
func (v *page) copied() *backfill.State {
	if o := v.seen.Load(); o != nil {
		return o.State()
	}
	return nil
}

// make makes pictures until the context ends. It rests for as long as it has worked.
func (v *page) make(ctx context.Context) {
	defer v.twins.Close()
	defer v.asking.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-v.scenes:
			before := v.clock()
			s.told.state = s.Outlook.State()
			v.foretell(ctx, s)
			s.Told = func(id backfill.JobID) picture.Told { return v.toldOf(s.told, id) }
			v.server.Show(s.Picture())
			v.rest(ctx, min(v.clock().Sub(before), 10*time.Second))
		}
	}
}

// foretell plays the schedule of a scene ahead.
func (v *page) foretell(ctx context.Context, s scene) {
	found := &foretold{}
	b := ahead.Bounds{Rounds: fewRounds, Jobs: len(s.Waiting)}
	found.starts, _ = lookAhead(ctx, &v.twins, s.Outlook, b) // without: the planned starts
	if before := v.clock(); s.Outlook.Learned() {
		if found.ranges = v.latest.Load().ranges; !before.Before(v.ranging) {
			f := outlook.FuturesOptions{Futures: ahead.Futures{Count: futures}, Seed: 1}
			found.ranges, _ = v.twins.Ranges(ctx, s.Outlook, f, b, nil)
			took := v.clock().Sub(before)
			v.ranging = before.Add(took + min(3*took, 10*time.Second))
		}
	}
	v.latest.Store(found)
	s.told.told, s.told.ranges = found.starts, found.ranges
}

// fresh returns the range of a job's start, which may have been played some time ago: no part of it is in
// the past, or after what the job was promised. It returns false if it says nothing any more.
func fresh(r ahead.Range, s *backfill.State, id backfill.JobID) (ahead.Range, bool) {
	now := s.Now()
	if r.Mid < now || r.Mid >= backfill.Forever || !s.IsWaiting(id) {
		return r, false
	}
	r.Low = max(r.Low, now)
	if latest, promised := s.Guaranteed(id); promised && latest >= now {
		r.Low, r.Mid, r.High = min(r.Low, latest), min(r.Mid, latest), min(r.High, latest)
	}
	return r, true
}

// toldOf says what a job is told.
func (v *page) toldOf(s *snapshot, id backfill.JobID) (t picture.Told) {
	reason, known := s.state.Reason(id)
	if !known {
		return t
	}
	t.Reason = v.p.why(reason)
	if reason.Behind != nil {
		t.Behind = v.p.name(reason.Behind)
	}
	if begins, known := s.told[id]; known {
		t.Start, t.Played, t.Placement = picture.At(begins.At), picture.At(begins.At), begins.Placement
	}
	if r, known := s.ranges[id]; !known {
		return t
	} else if r, known = fresh(r, s.state, id); known {
		t.Start, t.Low, t.High = picture.At(r.Mid), picture.At(r.Low), picture.At(r.High)
	}
	return t
}

// Explain implements [livepage.Source].
func (v *page) Explain(_ context.Context, _ livepage.Asker, name string) (x livepage.Explained, err error) {
	v.cycle.Lock()
	defer v.cycle.Unlock()
	job := findJob(v.p.Workload, name)
	if job == nil || v.state == nil {
		return x, &livepage.NoJobError{Err: fmt.Errorf("there is no job %.100q in %s", name, v.p.Workload.Name)}
	}
	s := v.snapshot
	found := v.latest.Load()
	s.told = found.starts
	if r, known := found.ranges[job.ID]; known {
		if r, known = fresh(r, s.state, job.ID); known {
			s.ranges = map[backfill.JobID]ahead.Range{job.ID: r}
		}
	}
	s.predictions = outlook.New(s.last.Negotiator()).Predictions
	e := v.p.expect(&s, job)
	if basis, known := negotiator.BasisOf(s.last.Negotiator(), job.ID); known && s.state.IsWaiting(job.ID) {
		e.owner, _ = job.Ad.Text("Owner")
		e.Basis = &basis
	}
	x.Text = e.String()
	fit, known := s.last.Negotiator().Fit(job.ID)
	if !known {
		return x, nil
	}
	x.Fit = livepage.FitOf(fit)
	if core := s.state.Job(job.ID); core != nil && s.state.IsWaiting(job.ID) {
		x.Windows = livepage.WindowsOf(s.state, core)
	}
	return x, nil
}

// WhatIf implements [livepage.Source].
func (v *page) WhatIf(ctx context.Context, _ livepage.Asker, question string) ([]byte, error) {
	q, err := whatif.Read(question)
	if err != nil {
		return nil, badly(err)
	}
	if !v.questions.TryLock() {
		return nil, errors.New("busy: a question is being answered; ask again when it is")
	}
	defer v.questions.Unlock()
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	s := whatif.Schedule{
		Look: v.look, Twins: &v.asking, Order: v.p.Settings.Order, Rounds: manyRounds, Jobs: mostAsked, Complete: v.p.complete,
		Charge: func(j *negotiator.Job) ([]negotiator.Limit, error) { return nil, v.p.Workload.Charge(j) },
	}
	a, err := s.Answer(ctx, q)
	if err != nil {
		return nil, badly(err)
	}
	return json.Marshal(a)
}

// look calls the callback between two cycles.
func (v *page) look(ctx context.Context, look func(*negotiator.Negotiator) error) error {
	v.cycle.Lock()
	defer v.cycle.Unlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case v.last == nil:
		return errors.New("nothing has happened yet")
	}
	return look(v.last.Negotiator())
}

// badly has an error be the asker's fault if it is.
func badly(err error) error {
	if _, bad := errors.AsType[*whatif.BadQuestion](err); bad {
		return &livepage.BadError{Err: err}
	}
	return err
}

// Pool implements [livepage.Source]: as of the last picture, as a cycle may take long.
func (v *page) Pool() livepage.Pool {
	if p := v.pool.Load(); p != nil {
		return *p
	}
	return livepage.Pool{}
}

// pooled is what the page says of the pool beside a picture.
func (v *page) pooled(head *picture.Head) *livepage.Pool {
	all := &livepage.Pool{
		Policy: livepage.Policy{
			Name: head.Policy, Order: head.Order, Guarantees: head.Guarantees, Fallback: head.Fallback, Text: v.p.About(90),
		},
		Plugins: []livepage.Plugin{}, Cycles: append([]livepage.Cycle{}, v.cycles...), Problems: []string{},
	}
	if process := v.p.Process(); process != "" {
		all.Plugins = append(all.Plugins, livepage.Plugin{Name: head.Policy, State: process})
	}
	if v.p.Chooser != nil {
		if last := v.p.Chooser.Last(); last != nil {
			all.Policy.Why = last.Why + "; " + last.Text()
		}
	}
	if why := v.last.Negotiator().GivenUp(); why != nil {
		all.Problems = append(all.Problems, fmt.Sprintf("policy %s is given up, and %s decides: %v", head.Policy, head.Fallback, why))
	}
	return all
}
