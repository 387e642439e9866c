package auto

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Chooser chooses the policy of a pool. It may be a sink of the pool's cycles, which then wait while
// it chooses; or See is called after each cycle, and Choose beside the cycles.
type Chooser struct {
	// Chosen is called with each choice, and LookedBack with what each look back has told; may be nil.
	Chosen     func(*Choice)
	LookedBack func(*Hindsight)

	candidates []Candidate // the first is the base at first
	objective  objective
	workers    int

	every, least, horizon backfill.Time
	period                backfill.Time // after which the base is chosen anew; 0: never
	gain, lift, work      float64

	record    *record
	users     *Users        // nil: their priorities do not count
	estimates *estimate.Set // those of the pool
	planning  backfill.Planning

	mu       sync.Mutex // guards what follows
	inCharge int
	base     int
	rebased  int             // changes of the base
	scores   scores          // of the candidates in hindsight
	last     backfill.Time   // of the last choice
	lastWork float64         // cpu seconds in the queue then
	changed  backfill.Time   // of the last change
	since    backfill.Time   // since when the one in charge is in the shares
	charge   []backfill.Time // for how long each candidate was in charge
	made     int             // changes
	choices  int
	begun    bool
	rules    int     // whose policy decides the cycles: a change is made after the choice
	faults   []error // why candidates are left out; nil: they are not

	playing  sync.Mutex // held by a choice
	ended    context.Context
	end      context.CancelFunc
	told     *Choice // the last one
	lifted   int     // promises that changes have lifted
	restarts int
}

// New makes a chooser with the given options; see [Options]. Any error is caused by them. It plays on
// so many workers at a time, and is to be closed after use. The policies come from find; nil means
// [LinkedIn].
func New(given map[string]string, workers int, find Find) (*Chooser, error) {
	v, err := backfill.ReadOptions("policy "+Name, Options(), given)
	if err != nil {
		return nil, err
	}
	c := &Chooser{
		workers: workers, every: v.Time("every"), least: v.Time("least"), horizon: v.Time("horizon"),
		gain: v.Number("gain"), lift: v.Number("lift"), work: v.Number("work"),
		period: v.Time("base"), last: -backfill.Forever, changed: -backfill.Forever,
	}
	if c.objective, err = newObjective(v.Text("objective")); err != nil {
		return nil, wrong("objective", err)
	}
	if c.record, err = newRecord(v.Time("window"), v.Int("again")); err != nil {
		return nil, err
	}
	if find == nil {
		find = LinkedIn
	}
	if c.candidates, err = Portfolio(v.List("portfolio"), v.Flag("guarantees"), find); err != nil {
		return nil, wrong("portfolio", err)
	}
	c.charge = make([]backfill.Time, len(c.candidates))
	c.faults = make([]error, len(c.candidates))
	c.scores = newScores(len(c.candidates))
	if len(c.candidates) == 1 {
		c.period = 0
	}
	if c.period > 0 && c.period < c.every {
		closeAll(c.candidates)
		return nil, wrong("base", fmt.Errorf("%d s is less than every=%d: a base stays for some choices", c.period, c.every))
	}
	c.ended, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Close ends the choice in progress and the candidates' processes. The policy in charge decides no
// more after that if it has one.
func (c *Chooser) Close() {
	c.end()
	c.playing.Lock()
	defer c.playing.Unlock()
	closeAll(c.candidates)
}

func wrong(option string, err error) error {
	return &backfill.OptionsError{Err: fmt.Errorf("policy %s: option %s: %w", Name, option, err)}
}

// Spec describes the chooser as a policy, which gives guarantees if all candidates do.
func (c *Chooser) Spec() backfill.PolicySpec {
	spec := Spec()
	spec.Guarantees = !slices.ContainsFunc(c.candidates, func(o Candidate) bool { return !o.guarantees() })
	return spec
}

// Base returns the candidate that is in charge at first.
func (c *Chooser) Base() *Candidate { return &c.candidates[0] }

// TakeCharge sets policy, fallback and order of a configuration to those of the base.
func (c *Chooser) TakeCharge(config *negotiator.Config) {
	base := c.Base()
	config.Policy, config.Fallback, config.Order = base.Policy, base.Fallback, base.Order
}

// Scale has the keys of all candidates' orders multiplied by a factor of each job; see
// [negotiator.Order.Scaled]. It must be called before TakeCharge.
func (c *Chooser) Scale(factor func(backfill.JobID) float64) {
	for i := range c.candidates {
		c.candidates[i].Order = c.candidates[i].Order.Scaled(factor)
	}
}

// Use says which planning and estimators the pool has, which stay in use; nil: no estimators.
func (c *Chooser) Use(planning backfill.Planning, estimates *estimate.Set) {
	c.planning, c.estimates = planning, estimates
}

// Restart puts the base that was one at first in charge and forgets how the candidates did, and all
// jobs, but not how long they ran: the pool's negotiator has been made anew. Candidates that were left
// out get another chance. What was chosen before does not stand any more. It must be called between two
// cycles.
func (c *Chooser) Restart() {
	c.record.restart()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inCharge, c.last, c.lastWork, c.changed, c.begun = 0, -backfill.Forever, 0, -backfill.Forever, false
	c.restarts++
	c.rules, c.base = 0, 0
	clear(c.faults)
	c.scores = newScores(len(c.candidates))
}

// Stands reports whether what was chosen from a future may be put in force: there was no restart
// since.
func (c *Chooser) Stands(f *Future) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return f.restarts == c.restarts
}

// InCharge returns the candidate in charge.
func (c *Chooser) InCharge() *Candidate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &c.candidates[c.inCharge]
}

// Last returns the last choice; nil if there was none.
func (c *Chooser) Last() *Choice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

// Cycle takes in what a cycle reports, and chooses at once if that is due. The change, if there is
// one, is made before the next cycle.
func (c *Chooser) Cycle(r *negotiator.Report) error {
	due := c.See(r)
	if due == nil {
		return nil
	}
	c.LookBack(context.Background(), due)
	change, err := c.Choose(context.Background(), due)
	if change != nil {
		r.Negotiator().ChangeNext(*change)
	}
	return err
}

// See takes in what a cycle reports. It returns what there is to choose from, or to look back at, if that
// is due, else nil. A period that is over is returned once.
func (c *Chooser) See(r *negotiator.Report) *Future {
	if r.Quiet {
		return nil // else scavengers would have a say in when it is chosen
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := r.Delta.Now
	if !c.begun {
		c.begun, c.since = true, now
		c.record.begin(r)
	}
	c.record.see(r)
	c.lifted += r.Decision.Lifted
	c.charge[c.inCharge] += now - c.since
	c.since = now
	if why := r.Negotiator().GivenUp(); why != nil {
		c.faults[c.rules] = cmp.Or(c.faults[c.rules], why)
	}
	f := new(Future)
	var past *Future
	var dropped []string
	if c.period > 0 {
		past, dropped = c.record.endPeriod(r, c.period)
	}
	due := c.due(r)
	switch {
	case due:
		*f = c.record.future(r)
	case past == nil && dropped == nil:
		return nil
	}
	f.past, f.dropped, f.due, f.now = past, dropped, due, now
	f.Head, f.Horizon, f.restarts, f.faults = c.every, c.horizon, c.restarts, slices.Clone(c.faults)
	return f
}

// due reports whether a choice is due after a cycle. The base takes over again when nobody waits, at
// once. Else the last choice must be long ago, and the queue's work have changed since.
func (c *Chooser) due(r *negotiator.Report) bool {
	now := r.Delta.Now
	const few = 2 // there must be a choice whom to serve next
	switch waiting := r.State.Waiting(); {
	case waiting == 0:
		return c.inCharge != c.base && c.faults[c.base] == nil
	case now-c.last < c.every || waiting < few:
		return false
	}
	work := c.record.work(r.State)
	if math.Abs(work-c.lastWork) < c.work*c.lastWork {
		return false
	}
	c.last, c.lastWork = now, work
	return true
}

// Choose plays the candidates ahead and finds the best, if a choice is due. It returns the change that
// puts another candidate in charge, which the caller is to make; nil if the one in charge stays. It may
// run beside See, but only once at a time. An objective that has no value leaves the one in charge, and
// the choice says so; an error is the context's or that of a play. A candidate that fails in a play is
// left out until [Chooser.Restart]. A chooser that is closed chooses nothing.
func (c *Chooser) Choose(ctx context.Context, f *Future) (*negotiator.Change, error) {
	c.playing.Lock()
	defer c.playing.Unlock()
	ctx, stop := c.whileOpen(ctx)
	defer stop()
	made := Choice{Now: f.now, Waiting: f.waiting, Names: c.names()}
	var faults []error
	if f.base, f.faults = c.standing(); f.waiting > 0 && f.due && c.ended.Err() == nil {
		var err error
		f.prioritize(c.users)
		made.Expected, faults, err = Play(ctx, *f, c.candidates, c.workers)
		switch {
		case c.ended.Err() != nil:
		case err != nil:
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lastWork = 0 // the next one is due even if the queue stays as it is
			return nil, fmt.Errorf("choose a policy: %w", err)
		}
	}
	if c.ended.Err() != nil || !f.due || !c.Stands(f) {
		return nil, nil //nolint:nilnil // nothing is chosen
	}
	made.Failed = c.leaveOut(faults)
	change := c.settle(&made)
	if c.Chosen != nil {
		c.Chosen(&made)
	}
	return change, nil
}

// whileOpen returns a context that ends with the given one, or as the chooser is closed; stop is called
// after use.
func (c *Chooser) whileOpen(ctx context.Context) (open context.Context, stop func()) {
	open, end := context.WithCancelCause(ctx)
	forget := context.AfterFunc(c.ended, func() { end(context.Cause(c.ended)) })
	return open, func() {
		forget()
		end(nil)
	}
}

// leaveOut notes which candidates failed, and returns those that are new. Their twins end.
func (c *Chooser) leaveOut(faults []error) []Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noteFaults(faults)
}

// noteFaults is leaveOut for those who have locked.
func (c *Chooser) noteFaults(faults []error) (failed []Failure) {
	for i, why := range faults {
		if why != nil && c.faults[i] == nil {
			c.faults[i] = why
			c.candidates[i].twins.Close()
			failed = append(failed, Failure{c.candidates[i].Name, why})
		}
	}
	return failed
}

func (c *Chooser) names() (names []string) {
	for _, o := range c.candidates {
		names = append(names, o.Name)
	}
	return names
}
