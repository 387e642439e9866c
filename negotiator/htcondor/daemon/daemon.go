package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// Pool is a real pool: an [*htcondor.Pool].
type Pool interface {
	negotiator.Pool
	// Open looks at the pool for the first time. What a former negotiator left and is
	// still so comes back as a memory.
	Open(ctx context.Context, left *htcondor.Left) (negotiator.Memory, error)
	// Left is the reverse: a memory as it can be kept on disk.
	Left(m negotiator.Memory) *htcondor.Left
	// Wakeup has a cycle begin soon, and Tune has the next one be as this says.
	Wakeup()
	Tune(t htcondor.Tuning)
	// Last is what the last look showed.
	Last() htcondor.Facts
	// Find lists the jobs of a name, Unplanned those that are not planned with, and Why
	// says why if one of them is not.
	Find(name string) []backfill.JobID
	Unplanned() []htcondor.Unplanned
	Why(id backfill.JobID) (htcondor.Unplanned, bool)
	// Explain tells jobs why they wait.
	Explain(ctx context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error
}

// Collector is where ads are published: a [*client.Collector].
type Collector interface {
	QueryEach(ctx context.Context, types []client.AdType, each func(cedar.Lines) error) error
	UpdateNegotiator(ctx context.Context, ad *classad.ClassAd) error
	UpdateAccounting(ctx context.Context, ads []*classad.ClassAd) error
	WithdrawNegotiator(ctx context.Context, adType, name string) error
}

// Tuning is what can change while a daemon lives.
type Tuning struct {
	htcondor.Tuning
	// Reasons tells jobs why they wait.
	Reasons bool
	// UpdateEvery is the longest time between two updates of the Negotiator ad; 0:
	// five minutes, which is the longest that goes well.
	UpdateEvery time.Duration
}

// Options are what a daemon is made of.
type Options struct {
	// Tuning is how it begins.
	Tuning
	// Name is the negotiator's in the pool, Host the machine's, Address the command
	// port's; "": there is none.
	Name, Host, Address string
	// Negotiator is the core's configuration. Its Refused and Clock are set here.
	Negotiator negotiator.Config
	// Policy names who is in charge, and by which order, at the moment.
	Policy func() (policy, order string)
	// NewPool makes a pool that has not been looked at.
	NewPool   func() Pool
	Collector Collector
	// Answers tells whether a daemon answers at an address.
	Answers func(ctx context.Context, address string) bool
	// Master is condor_master, and Parent its process; nil and 0: we stand alone.
	Master Master
	Parent int
	// State is what outlives the process; nil: nothing does.
	State *State
	// Accountant is who keeps account of usage, for the pool; nil: nobody does.
	Accountant *accountant.Accountant
	// Observe plans and publishes, but matches nothing; Once ends after a cycle.
	Observe, Once bool
	Logger        hclog.Logger
}

// Daemon is the process around a negotiator. Its methods but Run may be called by
// anyone at any time.
type Daemon struct {
	o   Options
	log hclog.Logger

	cycle sync.Mutex // held while a cycle is under way: guards the negotiator
	n     *negotiator.Negotiator
	pool  atomic.Pointer[Pool]
	plan  atomic.Pointer[planner] // of the last cycle
	made  atomic.Pointer[Plan]    // the last one that was made without being asked for
	fresh chan struct{}           // there is another one to be made
	tuned atomic.Pointer[Tuning]

	tryAgain time.Duration // how long it waits when it found another negotiator at work

	mu       sync.Mutex // guards what is told of us
	standing standing
	tell     chan struct{}
	ready    sync.Once
	stop     context.CancelCauseFunc
}

const defaultUpdate = 5 * time.Minute

// New makes a daemon that does nothing yet.
func New(o Options) *Daemon {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	now := time.Now()
	d := &Daemon{o: o, log: o.Logger, tell: make(chan struct{}, 1), fresh: make(chan struct{}, 1), tryAgain: time.Minute}
	d.tuned.Store(&o.Tuning)
	d.standing = standing{
		name: o.Name, host: o.Host, address: o.Address, started: now, configured: now, observe: o.Observe, broken: map[string]int{},
	}
	if o.Observe {
		d.standing.name = observeName + o.Host
	}
	refused := o.Negotiator.Refused
	d.o.Negotiator.Clock = time.Now
	d.o.Negotiator.Refused = func(r backfill.Refusal) {
		if refused != nil {
			refused(r)
		}
		d.change(func(s *standing) { s.refusals++ })
	}
	return d
}

// Causes for which a daemon ends.
var (
	errOrphaned    = errors.New("condor_master has died")
	errOff         = errors.New("it was told to end")
	errInterrupted = errors.New("a signal")
)

// patience is how long a cycle may go on, and what is left to do may take, once the
// daemon is to end. condor_master and the command line wait longer.
const (
	cyclePatience = 5 * time.Second
	lastPatience  = 2 * time.Second
)

// Run is the daemon's life. It ends with the context, at SIGQUIT, when condor_master
// dies, or when it is told to: that is no error. A cycle that is under way then is
// finished if it does not take long; at SIGQUIT it is left where it is.
func (d *Daemon) Run(ctx context.Context) (err error) {
	ctx, d.stop = context.WithCancelCause(ctx)
	defer d.stop(nil)
	hard, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var helpers sync.WaitGroup
	defer helpers.Wait()
	helping, end := context.WithCancel(hard)
	defer end()
	helpers.Go(func() { d.watch(helping, ctx, abort) })
	if d.o.Master != nil {
		helpers.Go(func() { keepAlive(helping, d.o.Master, d.log) })
	}
	helpers.Go(func() { d.publish(helping) })
	helpers.Go(func() { d.foresee(helping) })
	err = d.schedule(ctx, hard)
	if cause := context.Cause(ctx); ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		if errors.Is(cause, context.Canceled) {
			cause = errInterrupted
		}
		d.log.Info("ending", "why", cause)
		err = nil
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	end()
	helpers.Wait()
	d.withdraw(context.WithoutCancel(ctx))
	return err
}

// schedule schedules the pool, with pauses while another negotiator does.
func (d *Daemon) schedule(ctx, hard context.Context) error {
	for {
		err := d.alone(ctx)
		if err == nil {
			d.takeOver(ctx)
			err = d.serve(ctx, hard)
		}
		rival, found := errors.AsType[*RivalError](err)
		switch {
		case errors.Is(err, errAgain):
		case !found || d.o.Master == nil && d.first():
			return err
		default:
			if err = d.stepBack(ctx, rival); err != nil {
				return err
			}
		}
	}
}

// first tells whether nothing has been scheduled yet.
func (d *Daemon) first() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.standing.total == 0
}

// watch waits for what ends the daemon besides its context, and gives the cycle
// some time then.
func (d *Daemon) watch(helping, ctx context.Context, abort func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	orphan := make(chan struct{})
	if d.o.Parent != 0 {
		go func() {
			if orphaned(helping, d.o.Parent) {
				close(orphan)
			}
		}()
	}
	select {
	case <-helping.Done():
		return
	case <-quit:
		d.stop(errors.New("SIGQUIT"))
		abort()
		return
	case <-orphan:
		d.stop(errOrphaned)
	case <-ctx.Done():
	}
	select {
	case <-helping.Done():
	case <-quit:
		abort()
	case <-time.After(cyclePatience):
		d.log.Warn("the cycle takes too long: it is given up")
		abort()
	}
}

// Off ends the daemon.
func (d *Daemon) Off() {
	if d.stop != nil {
		d.stop(errOff)
	}
}

// Wakeup has a cycle begin soon.
func (d *Daemon) Wakeup() {
	if pool := d.pool.Load(); pool != nil {
		(*pool).Wakeup()
	}
}

// Configure has a cycle begin soon, and be as this says.
func (d *Daemon) Configure(t Tuning) {
	d.tuned.Store(&t)
	if pool := d.pool.Load(); pool != nil {
		(*pool).Tune(t.Tuning)
		(*pool).Wakeup()
	}
	d.change(func(s *standing) { s.configured = time.Now() })
	d.announce()
}

// serve opens the pool and schedules it until the context ends or something
// forbids it.
func (d *Daemon) serve(ctx, hard context.Context) error {
	pool := d.o.NewPool()
	pool.Tune(d.tuned.Load().Tuning)
	n, err := d.open(ctx, pool)
	if err != nil {
		return err
	}
	d.cycle.Lock()
	d.n = n
	d.cycle.Unlock()
	d.pool.Store(&pool)
	pool.Tune(d.tuned.Load().Tuning) // it may have changed meanwhile
	c := &cycles{d: d, pool: pool, soft: ctx}
	defer c.leave()
	return negotiator.Run(hard, n, c, c)
}

// open goes on from what a former negotiator left. What it left must not keep this
// one from starting.
func (d *Daemon) open(ctx context.Context, pool Pool) (*negotiator.Negotiator, error) {
	var left *htcondor.Left
	if d.o.State != nil {
		var err error
		if left, err = d.o.State.Left(); err != nil {
			if err = d.o.State.Forget(err); err != nil {
				return nil, err
			}
		}
	}
	memory, err := pool.Open(ctx, left)
	if err != nil {
		return nil, fmt.Errorf("look at the pool: %w", err)
	}
	if left != nil {
		d.log.Info("going on where the last negotiator ended", "at", time.Unix(int64(left.Now), 0).Format(time.DateTime), "policy", left.Policy, "jobs_then", len(left.Jobs))
	}
	n, err := negotiator.Restore(d.o.Negotiator, memory)
	if err == nil || left == nil {
		return n, err
	}
	if err = d.o.State.Forget(err); err != nil {
		return nil, err
	}
	return nil, errAgain
}

// errAgain says that the pool is to be opened once more.
var errAgain = errors.New("once more")
