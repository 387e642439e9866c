package htcondor

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/usermap"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/dispatch"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Settings say how a pool is scheduled.
type Settings struct {
	// Name is the negotiator's name in the pool.
	Name      string
	Collector *client.Collector
	Security  *security.Client
	// Schema says how ads are read. Its last resource is [observe.Claims].
	Schema negotiator.Schema
	// Tuning is what can change later.
	Tuning
	// Observe says that nothing is matched: another negotiator does that.
	Observe bool
	// Once says that an error of the collector is returned, instead of trying again.
	Once bool
	// Patience is how long a match may take until its job runs, and a schedd to send its queue;
	// 0: 30 seconds.
	Patience time.Duration
	// StartSlack is what the negotiator adds to each estimate, and DefaultEstimate what it takes
	// for one where a job brings none, in seconds; 0: [negotiator.DefaultEstimate].
	StartSlack, DefaultEstimate backfill.Time
	// Zone is the local time zone of expressions; nil means UTC.
	Zone *time.Location
	// Extra are expressions over jobs, such as the queue's order. The attributes that they refer to
	// are asked for.
	Extra []*classad.Expr
	// Accounting keeps the account of who uses how much of the pool, and keeps jobs that a limit
	// forbids out of the queue.
	Accounting track.Accounting
	Logger     hclog.Logger
	// Notes takes lines about matches and rejections, as for a match log; nil: nobody does.
	Notes dispatch.Notes
	// Clock tells the time; nil: time.Now. CPU tells the processor time of the process; nil: nobody
	// measures it.
	Clock func() time.Time
	CPU   func() time.Duration
	// Before is called before each look at the pool; nil: nothing is.
	Before func(ctx context.Context)
	// Timed runs a function and returns the processor time that it took itself, beside whatever else
	// goes on; nil: nobody measures it.
	Timed func(work func()) time.Duration
}

// Tuning is what can change while a pool is scheduled.
type Tuning struct {
	config.Look
	config.Handover
	config.Pace
	// ShutdownThreshold closes the slots whose startds will have ended in that time; 0: only when they
	// have.
	ShutdownThreshold time.Duration
	// Hold is how long a cycle waits for slow schedds; 0: 5 seconds.
	Hold time.Duration
	// UserMaps are those of the function userMap in ads; nil: there are none.
	UserMaps *usermap.Maps
}

// orDefault puts the usual intervals where none are given.
func (t Tuning) orDefault() Tuning {
	t.Interval, t.CycleDelay = cmp.Or(t.Interval, time.Minute), cmp.Or(t.CycleDelay, time.Second)
	t.Hold = cmp.Or(t.Hold, 5*time.Second)
	return t
}

func (t Tuning) scope() observe.Scope {
	return observe.Scope{Look: t.Look, ShutdownThreshold: t.ShutdownThreshold, Timeout: t.Timeout, Hold: t.Hold}
}

func (t Tuning) handover() dispatch.Tuning {
	return dispatch.Tuning{Handover: t.Handover, Timeout: t.Timeout, Hold: t.Hold}
}

// Pool is a real pool. It belongs to the goroutine that runs the cycles. Others may call Wakeup,
// Drain, Tune, Last, Why, Unplanned, Find and UsedBy at any time.
type Pool struct {
	s     Settings
	log   hclog.Logger
	now   func() time.Time
	wake  chan struct{}
	tuned atomic.Pointer[Tuning]       // for the next look
	drain *atomic.Pointer[drains.Book] // for the next look

	observer   *observe.Observer
	naming     sync.Mutex // is held while jobs come or go in the belief, and while others look for a name in it
	belief     *track.Belief
	world      *track.World
	claims     *claims.State
	dispatcher *dispatch.Dispatcher

	first    *observe.Snapshot // taken by Open, until Fetch reports it
	last     *observe.Snapshot
	looked   time.Time // when the last look began, even if it failed
	lookCPU  time.Duration
	cycleEnd time.Time // when the cycle after it ended
	tried    time.Time // after which look matches were last handed over, as far as they could be
	watch
	submits *submits // is asked for while Fetch waits

	mu    sync.Mutex // guards what others ask for
	facts Facts
	view  *track.View

	describing  sync.Mutex // guards what follows
	describedOf *track.View
	described   []track.Unplanned
	usedOf      *track.View
	used        map[string][]track.Used
}

// New makes a pool that has not been looked at.
func New(s Settings) *Pool {
	s.Tuning = s.orDefault()
	s.Patience = cmp.Or(s.Patience, 30*time.Second)
	s.DefaultEstimate = cmp.Or(s.DefaultEstimate, negotiator.DefaultEstimate)
	if s.Logger == nil {
		s.Logger = hclog.NewNullLogger()
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.CPU == nil {
		s.CPU = func() time.Duration { return 0 }
	}
	if s.Before == nil {
		s.Before = func(context.Context) {}
	}
	if s.Timed == nil {
		s.Timed = func(work func()) time.Duration { work(); return 0 }
	}
	world := &track.World{Zone: s.Zone, UserMaps: s.UserMaps}
	drain := &atomic.Pointer[drains.Book]{}
	belief := track.New(track.Settings{
		Schema: s.Schema, Patience: s.Patience, StartSlack: s.StartSlack, DefaultEstimate: s.DefaultEstimate,
		Observe: s.Observe, World: world, Accounting: s.Accounting, Drains: drain.Load, Logger: s.Logger,
	})
	state := claims.New(claims.Settings{
		Schema: s.Schema, StartSlack: s.StartSlack, DefaultEstimate: s.DefaultEstimate, Observe: s.Observe,
		Patience: s.Patience, World: world, Logger: s.Logger,
	}, belief)
	p := &Pool{
		s: s, log: s.Logger, now: s.Clock, wake: make(chan struct{}, 1),
		observer: observe.New(observe.Settings{
			Collector: s.Collector, Security: s.Security, Schema: s.Schema, Scope: s.scope(),
			Patience: s.Patience, CountSubmits: !s.Observe, Extra: s.Extra, Zone: s.Zone, Logger: s.Logger, Clock: s.Clock,
		}),
		belief: belief, claims: state, world: world, drain: drain,
		dispatcher: dispatch.New(dispatch.Settings{
			Name: s.Name, Collector: s.Collector, Security: s.Security, Schema: s.Schema,
			Patience: s.Patience, Logger: s.Logger, Notes: s.Notes, Clock: s.Clock,
		}, state),
		last: &observe.Snapshot{}, view: belief.View(), submits: newSubmits(s.Clock, s.Timed),
	}
	p.submits.found = p.wakeFor
	p.tuneClaims(s.Tuning)
	return p
}

// FairShare returns the queue's order by user priority, for the negotiator that schedules this
// pool.
func (p *Pool) FairShare() negotiator.Order { return p.belief.FairShare() }

// Use returns what the running jobs of each submitter use.
func (p *Pool) Use() map[string]accountant.Use { return p.belief.Use() }

// Tune changes how the pool is scheduled, from the next look at it on.
func (p *Pool) Tune(t Tuning) {
	t = t.orDefault()
	p.tuned.Store(&t)
}

// Drain says which slots are to be empty and when, from the next look on. The book is not changed any
// more.
func (p *Pool) Drain(book drains.Book) { p.drain.Store(&book) }

// Wakeup asks for a look at the pool now, or as soon as CycleDelay and MinInterval allow.
func (p *Pool) Wakeup() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Open looks at the pool for the first time, and returns the checkpoint from which a negotiator
// goes on: what a former negotiator saved and the pool still shows. Without a saved state the
// checkpoint is empty, and Fetch reports all. Open waits until the collector answers, unless Once
// is set. If the negotiator refuses the checkpoint, Open may be called again, with another state.
func (p *Pool) Open(ctx context.Context, saved *track.SavedState) (negotiator.Checkpoint, error) {
	p.observer.Remember(saved.Homes())
	s, err := p.lookPatiently(ctx)
	if err != nil {
		return negotiator.Checkpoint{}, err
	}
	p.first = s
	p.naming.Lock()
	defer p.naming.Unlock()
	p.dispatcher.Look(s)
	return p.claims.Restore(p.now(), saved, s), nil
}

// Saved puts a negotiator's checkpoint into a form that outlives the process.
func (p *Pool) Saved(m negotiator.Checkpoint) *track.SavedState { return p.belief.Save(m) }

// Fetch waits until the next cycle is due, such as at the time wake, looks at the pool, and returns
// what has changed. While the collector does not answer it goes on waiting: its only errors are the
// context's, unless Once is set.
func (p *Pool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if s := p.first; s != nil {
		p.first = nil
		return p.compare(s), nil
	}
	p.cycleEnd = p.now()
	if p.contested() && !p.tried.Equal(p.looked) { // their jobs still wait, as the look has shown
		p.handOver(ctx)
	}
	if d, granted := p.granted(); granted {
		return d, nil
	}
	p.beginWatch()
	end := p.askForSubmits(ctx)
	d, granted, err := p.wait(ctx, wake)
	end()
	if granted || err != nil {
		return d, err
	}
	s, err := p.lookPatiently(ctx)
	if err != nil {
		return negotiator.Delta{}, err
	}
	return p.compare(s), nil
}

// compare returns how a snapshot differs from what the negotiator was told.
func (p *Pool) compare(s *observe.Snapshot) negotiator.Delta {
	p.naming.Lock()
	defer p.naming.Unlock()
	used := p.s.CPU()
	p.dispatcher.Look(s)
	outcome := p.claims.See(p.now(), s)
	p.observer.Forget(outcome.Dropped)
	p.submits.see(s)
	p.publish(s, outcome.Problems, used)
	p.endWatch(outcome.Delta)
	return outcome.Delta
}

// granted returns what the negotiator must be told of leases that were just granted, without another
// look at the pool; false if that is nothing.
func (p *Pool) granted() (negotiator.Delta, bool) {
	p.naming.Lock()
	defer p.naming.Unlock()
	d, granted := p.claims.TellLeases()
	if !granted {
		return d, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view = p.belief.View()
	p.facts.Began, p.facts.Took = p.now(), 0
	return d, true
}

// TakePlan takes in the plan that the matches of the next Act belong to. It returns the guarantees
// that leases have broken.
func (p *Pool) TakePlan(plan negotiator.Checkpoint) []track.Broken {
	return p.claims.TakePlan(plan)
}

// Act hands the matches over to the schedds. What cannot be handed over now is tried again while
// Fetch waits; what became of a match shows in what Fetch returns later.
func (p *Pool) Act(ctx context.Context, matches []negotiator.Match) error {
	p.claims.Start(p.now(), matches)
	if !p.s.Observe {
		p.dispatcher.NoteLimits()
		p.handOver(ctx)
	}
	return ctx.Err()
}

// handOver hands over what can be of the matches that wait.
func (p *Pool) handOver(ctx context.Context) {
	p.tried = p.looked
	p.dispatcher.HandOver(ctx)
}

// Rouse says which jobs would start on slots of machines that sleep, for whoever wakes machines, see
// [dispatch.Dispatcher.Rouse].
func (p *Pool) Rouse(ctx context.Context, wanted []negotiator.Match) error {
	if !p.s.Observe && len(wanted) > 0 {
		p.dispatcher.Rouse(ctx, wanted)
	}
	return ctx.Err()
}

// Explain tells users why their jobs wait, see [dispatch.Dispatcher.Explain].
func (p *Pool) Explain(ctx context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error {
	return p.dispatcher.Explain(ctx, ids, why)
}

// retry is how long a match that could not be handed over waits for another try, and how soon a
// collector is asked again that does not answer.
const retry = time.Second

// due returns when the next look at the pool is, if nobody asks for an earlier one.
func (p *Pool) due(wake backfill.Time) time.Time {
	due := p.follow(p.looked.Add(p.s.Interval))
	wake = min(wake, p.belief.View().Due)
	in := max(wake, p.last.Now) - p.last.Now // wherever the clock was put
	if in < backfill.Time(p.s.Interval/time.Second) {
		second := p.last.Ended.Add(-time.Duration(p.last.Ended.Nanosecond()))
		due = earlier(due, second.Add(time.Duration(in)*time.Second))
	}
	if p.claims.GangsFly() {
		due = p.looked
	}
	if p.contested() {
		due = earlier(due, p.rested())
	}
	if d := p.claims.Deadline(); !d.IsZero() {
		due = earlier(due, d)
	}
	return later(due, p.soonest())
}

// soonest returns when the next look may be at the earliest, whoever asks for one.
func (p *Pool) soonest() time.Time {
	return later(p.cycleEnd.Add(p.s.CycleDelay), p.looked.Add(p.s.MinInterval))
}

// wait sleeps until the next look is due. Meanwhile it tries again to hand over matches that could
// not be. It returns at once what the negotiator must be told of leases that were granted with them.
func (p *Pool) wait(ctx context.Context, wake backfill.Time) (d negotiator.Delta, granted bool, err error) {
	for woken := false; ; {
		now, due := p.now(), p.due(wake)
		if woken {
			due = later(now, p.soonest())
		}
		if !now.Before(due) {
			return d, false, ctx.Err()
		}
		next := due
		if p.claims.Unsent() || p.claims.InDoubt() {
			next = earlier(next, now.Add(retry))
		}
		if p.watching {
			next = earlier(next, p.asks)
		}
		timer := time.NewTimer(max(next.Sub(now), time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return d, false, ctx.Err()
		case <-p.wake:
			woken = true
		case <-timer.C:
		}
		timer.Stop()
		if p.claims.Unsent() && !p.contested() {
			p.handOver(ctx)
		}
		if d, granted = p.granted(); granted {
			return d, true, ctx.Err()
		}
		woken = p.dispatcher.AskStartds(ctx) || p.freed(ctx) || woken
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *Pool) tune(t Tuning) {
	p.s.Tuning = t
	p.observer.Ask(t.scope())
	p.world.UserMaps = t.UserMaps
	p.tuneClaims(t)
}

// tuneClaims changes how matches are handed over, and for how long claims are lent.
func (p *Pool) tuneClaims(t Tuning) {
	p.claims.Lend(t.Lease, t.JobConstraint != "")
	p.dispatcher.Tune(t.handover())
}
