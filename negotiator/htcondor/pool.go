package htcondor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Claims is the resource that says how many jobs a slot can host: a static slot
// belongs to one job, however little of it the job asks for.
const Claims = "claims"

// Settings say how a pool is looked at.
type Settings struct {
	Collector *client.Collector
	Security  *security.Client
	// Schema says how ads are read. Its last resource is Claims.
	Schema negotiator.Schema
	// Tuning is what can change later.
	Tuning
	// Observe matches nothing: another negotiator does.
	Observe bool
	// Once looks but once: a look that fails is not repeated.
	Once bool
	// Patience is how long a match may take until its job runs, and a schedd to tell
	// its queue.
	Patience time.Duration
	// StartSlack is what the negotiator adds to each estimate, and DefaultEstimate what it
	// takes for one where a job brings none; 0: negotiator.DefaultEstimate.
	StartSlack, DefaultEstimate backfill.Time
	// Extra are expressions over jobs, such as the queue's order: what they refer to is
	// asked for.
	Extra []*classad.Expr
	// Accounting keeps the account of who uses how much, and jobs out of the queue that
	// a limit forbids.
	Accounting Accounting
	Logger     hclog.Logger
	// Clock tells the time; nil: time.Now.
	Clock func() time.Time
}

// Tuning is what can change while a pool is looked at.
type Tuning struct {
	// SlotConstraint and JobConstraint leave out what they are not true of; "": none.
	SlotConstraint, JobConstraint string
	// Interval is the longest time between two looks; 0: a minute. CycleDelay is the shortest
	// between the end of a cycle and the next look, whoever asks for one; 0: a second.
	Interval, CycleDelay time.Duration
}

func (t Tuning) orDefault() Tuning {
	t.Interval, t.CycleDelay = cmp.Or(t.Interval, time.Minute), cmp.Or(t.CycleDelay, time.Second)
	return t
}

// Pool is a real pool. It is for the goroutine that runs the cycles; Wakeup, Tune, Last,
// Why and Find may be called by others at any time.
type Pool struct {
	s          Settings
	accounting *Accounting
	log        hclog.Logger
	now        func() time.Time
	wake       chan struct{}
	tuned      atomic.Pointer[Tuning] // to be taken up at the next look

	hold   time.Duration // see hold
	most   int           // see maxQueue
	looked time.Time     // when the last look began
	over   time.Time     // when the cycle after it was
	number int           // of the last look
	open   *look         // the first look, until Fetch tells of it
	begun  bool          // a look has been told of
	clock  backfill.Time // of the last look; it never goes back
	ended  time.Time     // when that was

	slots                         map[string]*slot // by name, dynamic ones too
	schedds                       map[string]*schedd
	jobs                          map[jobKey]*job
	byID                          map[backfill.JobID]*job
	lastID                        backfill.JobID
	matched, rejected, unstarted  int              // as in Facts
	granted                       int              // claims that were handed over
	meanwhileEnded, meanwhileLeft []backfill.JobID // jobs that went while there was no negotiator: yet to be told
	flights                       map[backfill.JobID]*flight
	explained                     map[backfill.JobID]explained
	doubts                        map[string]map[string]*doubt // by slot and schedd
	accused                       map[string]accusation        // by schedd and submitter
	used                          map[string]use               // by claim ids that were handed out
	remains                       []*remains                   // of gangs that have ended
	left                          map[jobKey]time.Time         // of jobs that ran: when a look first saw that they do no more

	slotAttributes, jobAttributes wanted
	parser                        classad.Parser
	plans                         map[string]*plan
	manyRoundings                 int                         // at so many those that are no more are forgotten
	rounding                      map[string]*negotiator.Slot // one of each way of taking amounts, by consumption policy

	mu      sync.Mutex // guards what others ask for
	facts   Facts
	names   map[string][]backfill.JobID
	outside []outside

	renamed bool // jobs have come or gone since names was made
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
	p := &Pool{
		s: s, log: s.Logger, now: s.Clock, wake: make(chan struct{}, 1), hold: hold, most: maxQueue,
		slots: map[string]*slot{}, schedds: map[string]*schedd{}, jobs: map[jobKey]*job{}, byID: map[backfill.JobID]*job{},
		flights: map[backfill.JobID]*flight{}, used: map[string]use{}, plans: map[string]*plan{}, rounding: map[string]*negotiator.Slot{}, manyRoundings: fewRoundings,
		names: map[string][]backfill.JobID{}, explained: map[backfill.JobID]explained{}, doubts: map[string]map[string]*doubt{}, accused: map[string]accusation{}, left: map[jobKey]time.Time{},
	}
	p.accounting = &p.s.Accounting
	p.want()
	return p
}

// Tune has looks be as this says, from the next one on.
func (p *Pool) Tune(t Tuning) {
	t = t.orDefault()
	p.tuned.Store(&t)
}

// takeUp takes up what was tuned, between two cycles. Queues that are read by other
// constraints do not count.
func (p *Pool) takeUp() {
	t := p.tuned.Swap(nil)
	if t == nil || *t == p.s.Tuning {
		return
	}
	p.s.Tuning = *t
	if p.referTo(t.JobConstraint) {
		p.reread()
	}
}

// Wakeup has the next look begin at once, but not before its time.
func (p *Pool) Wakeup() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Fetch waits until it is time for a cycle and looks at the pool. While the
// collector does not answer it goes on waiting: the only errors are the context's, unless
// once is enough.
func (p *Pool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if first := p.open; first != nil {
		p.open = nil
		return p.differ(first), nil
	}
	p.over = p.now()
	if err := p.wait(ctx, wake); err != nil {
		return negotiator.Delta{}, err
	}
	seen, err := p.lookPatiently(ctx)
	if err != nil {
		return negotiator.Delta{}, err
	}
	return p.differ(seen), nil
}

// retry is how long a match that could not be handed over waits for another try,
// and how soon a collector is asked again that does not answer.
const retry = time.Second

// due is when the next look is, if nobody asks for it earlier.
func (p *Pool) due(wake backfill.Time) time.Time {
	due := p.looked.Add(p.s.Interval)
	if in := max(wake, p.clock) - p.clock; in < backfill.Time(p.s.Interval/time.Second) { // wherever the clock was put
		due = earlier(due, p.ended.Add(time.Duration(in)*time.Second-time.Duration(p.ended.Nanosecond())))
	}
	if p.gangsFly() {
		due = p.looked
	}
	if d := p.deadline(); !d.IsZero() {
		due = earlier(due, d)
	}
	return later(due, p.over.Add(p.s.CycleDelay))
}

// wait sleeps until the next look is due. Matches that are still to be handed over
// are tried again meanwhile.
func (p *Pool) wait(ctx context.Context, wake backfill.Time) error {
	for woken := false; ; {
		now, due := p.now(), p.due(wake)
		if woken {
			due = later(now, p.over.Add(p.s.CycleDelay))
		}
		if !now.Before(due) {
			return ctx.Err()
		}
		next := due
		if p.unsent() {
			next = earlier(next, now.Add(retry))
		}
		timer := time.NewTimer(max(next.Sub(now), time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-p.wake:
			woken = true
		case <-timer.C:
		}
		timer.Stop()
		if p.unsent() {
			p.handOver(ctx)
		}
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

// lookPatiently looks until the collector answers. What keeps it from that is logged once.
func (p *Pool) lookPatiently(ctx context.Context) (*look, error) {
	pause, said := retry, ""
	for {
		seen, err := p.look(ctx)
		if err == nil {
			return seen, nil
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), ctx.Err())
		}
		if denied, is := errors.AsType[*security.DeniedError](err); is {
			err = fmt.Errorf("%w: run as root or as HTCondor's user, or have ALLOW_NEGOTIATOR of the collector list %s", err, denied.User)
		}
		if p.s.Once {
			return nil, err
		}
		if text := err.Error(); text != said {
			p.log.Warn("the pool cannot be looked at; nothing is decided until it can, which is tried again and again", "error", err)
			said = text
		}
		p.trouble(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 10*time.Second)
	}
}

// Act sets out to start what was decided. What cannot be handed over now is tried
// again; what became of it shows in what Fetch tells.
func (p *Pool) Act(ctx context.Context, matches []negotiator.Match) error {
	for _, m := range matches {
		p.takeOff(m)
	}
	if !p.s.Observe {
		p.handOver(ctx)
	}
	return ctx.Err()
}
