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
	"github.com/condor-backfill/condor-backfill/classad/usermap"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
	"github.com/condor-backfill/condor-backfill/negotiator/meter"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Tuning is what can change while a daemon runs.
type Tuning struct {
	// Tuning is the pool's; its ShutdownThreshold follows from ShutdownExpr.
	htcondor.Tuning
	config.Telling
	config.Own
}

// Options are the parts and settings of a daemon.
type Options struct {
	// Tuning is the initial tuning.
	Tuning
	// Name is the negotiator's name in the pool, Host the machine's name, and Address that of the
	// command port; "" if there is none.
	Name, Host, Address string
	// Negotiator is the core's configuration. Its Refused and Clock are set here.
	Negotiator negotiator.Config
	// Policy names the active policy and order, and InForce returns what a negotiator that is made
	// anew gets instead of what Negotiator says, as policy and order may have changed; nil: nothing.
	Policy func() (policy, order string)
	// About describes the active policy and its options, in lines, and its process if it has one, for the
	// page; nil: nobody does.
	About   func() (policy, process string)
	InForce func() negotiator.Change
	// Chooser chooses the policy; it returns nil, or is nil, if that is not chosen.
	Chooser func() *auto.Chooser
	// NewPool makes a pool that has not been looked at.
	NewPool   func() Pool
	Collector Collector
	// Answers tells whether a daemon answers at an address.
	Answers func(ctx context.Context, address string) bool
	// Sessions tells how many sessions with other daemons and users are kept; nil: none are.
	Sessions func() int
	// Callbacks tells how many daemons behind brokers connected since they were asked to, and how many
	// connections nobody waited for; nil: none.
	Callbacks func() (calls, strays int64)
	// Master is condor_master, and Parent its process ID; nil and 0 if it did not start us.
	Master Master
	Parent int
	// State is what survives the process; nil: nothing does.
	State *State
	// Accountant keeps the account of the pool's usage; nil: none is kept.
	Accountant *accountant.Accountant
	// Standards asks the negotiator at an address for its priorities, see [AskStandards].
	Standards func(ctx context.Context, address string) ([]accountant.Standard, error)
	// Plans asks the negotiator at an address for start times, see [AskPlans]; nil: none are asked for.
	Plans func(ctx context.Context, address string) ([]JobForecast, error)
	// Observe says to plan and publish, but to match nothing; Once says to end after one cycle.
	Observe, Once bool
	// Record is where an observer writes down what it sees and would do; nil: nowhere.
	Record *witness.Record
	// Aliases hide names in what is told over HTTP; nil hides none.
	Aliases *access.Aliases
	// Sending bounds how fast answers to HTTP requests are sent; nil means that nothing does.
	Sending *server.Sending
	Logger  hclog.Logger
}

// Daemon is the process around a negotiator. All its methods except Run may be called concurrently,
// at any time.
type Daemon struct {
	o   Options
	log hclog.Logger

	cycle     lock                      // guards n; held during a cycle
	visitor   lock                      // held by who waits for the end of a cycle, or keeps one from beginning
	began     atomic.Pointer[time.Time] // when the cycle under way began; nil between two cycles
	n         *negotiator.Negotiator
	pool      atomic.Pointer[Pool]
	lastCycle atomic.Pointer[forecaster] // of the last cycle
	forecast  atomic.Pointer[Forecast]   // the last one that was made, until explain takes it
	askedOf   sync.Mutex                 // guards asked
	asked     *answers                   // the last ones; nil: nobody has asked since the last cycle
	screen    Screen                     // nil: nobody looks
	halves    atomic.Pointer[startsElsewhere]
	newCycle  chan struct{}          // signals that a forecast is to be made
	sharing   chan struct{}          // signals that priorities are to be asked for
	due       chan dueChoice         // of the policy
	chosen    atomic.Pointer[chosen] // the change that is to be made before the next cycle
	twins     outlook.Twins          // decide in plays
	asking    outlook.Twins          // decide in plays for what-ifs
	playing   context.Context        // of all plays
	endPlays  context.CancelCauseFunc
	starting  pace                     // of plays for starts,
	ranging   pace                     // and of those for ranges
	foreseen  atomic.Pointer[foreseen] // what they have found
	accuracy  accuracy
	meter     *meter.Meter
	collected atomic.Bool // somebody may collect what the meter tells
	mute      atomic.Bool // the log has said that the policy cannot be played ahead
	tuned     atomic.Pointer[Tuning]
	tuning    sync.Mutex    // is held while a pool is tuned
	maps      *usermap.Maps // with which the negotiator matches
	rules     config.Look   // by which jobs make way for others
	drains    kept

	failures int           // cycles in a row that have failed
	tryAgain time.Duration // the pause while another negotiator is at work
	// rival is what the log said last of another negotiator that is at work, and rivalSaid when;
	// "": none is.
	rival     string
	rivalSaid time.Time

	mu          sync.Mutex // guards status and changes
	status      status
	changes     int // of the status
	shown       shown
	resources   resources
	unpublished chan struct{}
	ready       sync.Once
	stop        context.CancelCauseFunc
}

// lock is a mutex for which one may wait as long as a context lasts. It has room for its holder.
type lock chan struct{}

// Lock waits for the lock.
func (l lock) Lock() { l <- struct{}{} }

// Unlock gives it back.
func (l lock) Unlock() { <-l }

// within waits for the lock until the context ends, whose cause it then returns. A lock that is
// free is taken even then.
func (l lock) within(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	default:
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// visit waits until no cycle is under way, for somebody who asks. None begins until he leaves. A
// cycle waits for one visitor at most, however many there are.
func (d *Daemon) visit(ctx context.Context) (leave func(), err error) {
	if err = d.visitor.within(ctx); err != nil {
		return nil, err
	}
	if err = d.cycle.within(ctx); err != nil {
		d.visitor.Unlock()
		return nil, err
	}
	return func() { d.cycle.Unlock(); d.visitor.Unlock() }, nil
}

const defaultUpdate = 5 * time.Minute

// New makes a daemon that does nothing yet.
func New(o Options) *Daemon {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	now := time.Now()
	d := &Daemon{
		o: o, log: o.Logger, tryAgain: 5 * time.Second, cycle: make(lock, 1), visitor: make(lock, 1),
		unpublished: make(chan struct{}, 1), newCycle: make(chan struct{}, 1),
		sharing: make(chan struct{}, 1), due: make(chan dueChoice, 1),
	}
	options := meter.Options{}
	if o.Aliases != nil {
		options.Group = o.Aliases.GroupAlias
	}
	d.meter = meter.New(options)
	d.accuracy.meter = d.meter
	d.playing, d.endPlays = context.WithCancelCause(context.Background())
	d.starting.now, d.starting.share = time.Now, besideShare()/3
	d.ranging.now, d.ranging.share = time.Now, besideShare()*2/3
	d.foreseen.Store(new(foreseen))
	d.tuned.Store(&o.Tuning)
	d.status = status{
		name: o.Name, host: o.Host, address: o.Address, started: now, configured: now,
		slots: o.SlotConstraint, telling: o.Telling, observe: o.Observe, broken: map[string]int{}, displacing: newDisplacing(), sessions: o.Sessions, monitor: monitor{at: now},
	}
	if o.Sessions == nil {
		d.status.sessions = func() int { return 0 }
	}
	if o.Callbacks == nil {
		d.o.Callbacks = func() (calls, strays int64) { return 0, 0 }
	}
	if o.Chooser == nil {
		d.o.Chooser = func() *auto.Chooser { return nil }
	}
	if o.Observe {
		d.status.name = ObserverName + o.Host
	}
	refused := o.Negotiator.Refused
	d.o.Negotiator.Clock = time.Now
	d.o.Negotiator.Matching = matchmaker.StrangersLimits()
	d.o.Negotiator.Refused = func(r backfill.Refusal) {
		if refused != nil {
			refused(r)
		}
		d.change(func(s *status) { s.refusals++ })
	}
	return d
}

// Why a daemon ends.
var (
	errOrphaned    = errors.New("condor_master has died")
	errOff         = errors.New("it was told to end")
	errInterrupted = errors.New("a signal")
)

// When the daemon ends, a cycle under way may take cyclePatience more, and each last message
// lastPatience. condor_master and the command line wait longer.
const (
	cyclePatience = 5 * time.Second
	lastPatience  = 2 * time.Second
)

// Run schedules the pool until the context ends, at SIGQUIT, when condor_master dies, or after Off;
// none of these is an error. A cycle under way is finished if it does not take long; at SIGQUIT it
// is abandoned.
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
		helpers.Go(func() { keepAlive(helping, d.o.Master, d.stuck, d.log) })
	}
	helpers.Go(func() { d.publish(helping) })
	helpers.Go(func() { d.makeForecasts(helping) })
	helpers.Go(func() { d.choose(helping) })
	helpers.Go(func() { d.shareStandards(helping) })
	helpers.Go(func() { d.askOthers(helping) })
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

// schedule schedules the pool until ctx ends, which lets a cycle under way finish, or hard ends. It
// pauses while another negotiator is at work.
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

// first tells whether no cycle has ended yet.
func (d *Daemon) first() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.status.total == 0
}

// watch ends the daemon at SIGQUIT or when condor_master dies. When the daemon ends, which the end
// of ctx shows, watch gives a cycle under way some time and then calls abort; at SIGQUIT it calls
// abort at once. The end of helping ends watch itself.
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

// stuck reports whether the cycle under way takes longer than any that makes progress. Waiting for
// the pool between two cycles is no reason to restart, however long it takes.
func (d *Daemon) stuck() bool {
	began := d.began.Load()
	return began != nil && time.Since(*began) > hungAfter
}

// Off ends the daemon.
func (d *Daemon) Off() {
	if d.stop != nil {
		d.stop(errOff)
	}
}

// Wakeup requests a cycle soon.
func (d *Daemon) Wakeup() {
	if pool := d.pool.Load(); pool != nil {
		(*pool).Wakeup()
	}
}

// Configure changes the tuning, and requests a cycle soon.
func (d *Daemon) Configure(t Tuning) {
	d.tuned.Store(&t)
	if pool := d.pool.Load(); pool != nil {
		d.tune(*pool)
		(*pool).Wakeup()
	}
	d.change(func(s *status) { s.configured, s.slots, s.telling = time.Now(), t.SlotConstraint, t.Telling })
	d.announce()
}

// serve opens the pool and runs cycles until one fails, ctx ends, which lets a cycle under way
// finish, or hard ends.
func (d *Daemon) serve(ctx, hard context.Context) error {
	pool := d.o.NewPool()
	d.tune(pool)
	if err := d.restoreDrains(pool); err != nil {
		return err
	}
	n, err := d.open(ctx, pool)
	if err != nil {
		return err
	}
	d.cycle.Lock()
	d.n = n
	d.cycle.Unlock()
	d.pool.Store(&pool)
	pool.Drain(d.drains.now())      // they may have changed meanwhile
	d.foreseen.Store(new(foreseen)) // another pool names its jobs anew
	d.tune(pool)                    // it may have changed meanwhile
	c := &cycles{d: d, pool: pool, soft: ctx}
	return c.run(hard)
}

// open makes a negotiator from the saved state of a former one. A state that cannot be used is
// forgotten, so that it does not keep this negotiator from starting; if the pool was opened with
// it, the error is errAgain.
func (d *Daemon) open(ctx context.Context, pool Pool) (*negotiator.Negotiator, error) {
	var saved *track.SavedState
	if d.o.State != nil {
		var err error
		if saved, err = d.o.State.Saved(); err != nil {
			if err = d.o.State.Forget(err); err != nil {
				return nil, err
			}
		}
	}
	checkpoint, err := pool.Open(ctx, saved)
	if err != nil {
		return nil, fmt.Errorf("look at the pool: %w", err)
	}
	if saved != nil {
		d.log.Info("going on where the last negotiator ended",
			"at", dated(seconds(saved.Now), time.Local), "policy", saved.Policy,
			"jobs_then", len(saved.Jobs))
	}
	if chooser := d.o.Chooser(); chooser != nil {
		chooser.Restart()
	}
	d.maps = d.tuned.Load().UserMaps
	config := d.inForce()
	if d.o.State != nil {
		if config.Delays, err = d.o.State.Delays(); err != nil {
			return nil, err
		}
		if config.Record, err = d.o.State.Words(); err != nil {
			return nil, err
		}
	}
	n, err := negotiator.Restore(config, checkpoint)
	if err == nil || saved == nil {
		return n, err
	}
	if err = d.o.State.Forget(err); err != nil {
		return nil, err
	}
	return nil, errAgain
}

// inForce returns the configuration of a negotiator that is made now.
func (d *Daemon) inForce() negotiator.Config {
	c := d.o.Negotiator
	if d.o.InForce != nil {
		now := d.o.InForce()
		c.Order, c.Policy, c.Fallback = now.Order, now.Policy, now.Fallback
		c.Planning, c.Estimates = now.Planning, now.Estimates
	}
	d.rules = d.tuned.Load().Look
	c.World, c.Preemption = d.world(), preemption(d.rules)
	return c
}

// world is what ads learn from outside of them.
func (d *Daemon) world() matchmaker.World {
	w := d.o.Negotiator.World
	w.UserMap = d.maps.UserMap
	return w
}

// takeMaps has the negotiator match with the maps as they are configured now, if they have changed. It
// must be called right before a cycle.
func (d *Daemon) takeMaps() {
	maps := d.tuned.Load().UserMaps
	if maps.Equal(d.maps) {
		return
	}
	d.maps = maps
	d.n.SetWorld(d.world())
	d.log.Info("the maps of userMap have changed: all jobs are matched anew")
}

// errAgain says that a new pool must be opened, from the state as it is saved now.
var errAgain = errors.New("once more")
