package auto

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Chooser chooses the policy of a pool. It is a sink of its cycles, for one goroutine.
type Chooser struct {
	// Chosen is called with each choice; may be nil.
	Chosen func(*Choice)

	candidates []Candidate
	objective  objective
	workers    int

	every, least backfill.Time
	gain, lift   float64
	work         float64

	record    *record
	memory    memory
	changes   chan negotiator.Change
	estimates *estimate.Set // those of the pool
	planning  backfill.Planning
	inCharge  int
	last      backfill.Time   // of the last choice
	lastWork  float64         // cpu seconds in the queue then
	changed   backfill.Time   // of the last change
	since     backfill.Time   // since when the one in charge is in the shares
	charge    []backfill.Time // for how long each candidate was in charge
	made      int             // changes
	choices   int
	begun     bool
}

// New makes a chooser with the given options; see [Options]. Any error is caused by them. It plays on
// so many workers at a time.
func New(given map[string]string, workers int) (*Chooser, error) {
	v, err := backfill.ReadOptions("policy "+Name, Options(), given)
	if err != nil {
		return nil, err
	}
	c := &Chooser{
		workers: workers, every: v.Time("every"), least: v.Time("least"), gain: v.Number("gain"),
		lift: v.Number("lift"), work: v.Number("work"),
		changes: make(chan negotiator.Change, 1), last: -backfill.Forever, changed: -backfill.Forever,
	}
	if c.candidates, err = Portfolio(v.List("portfolio"), v.Flag("guarantees")); err != nil {
		return nil, wrong("portfolio", err)
	}
	if c.objective, err = newObjective(v.Text("objective")); err != nil {
		return nil, wrong("objective", err)
	}
	c.memory.half = v.Time("memory")
	c.charge = make([]backfill.Time, len(c.candidates))
	c.record, err = newRecord(v.Time("window"), v.Int("again"))
	return c, err
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

// TakeCharge sets policy, fallback and order of a configuration to those of the first candidate, and
// from where it takes changes. Its planning stays in use.
func (c *Chooser) TakeCharge(of *negotiator.Config) {
	first := &c.candidates[0]
	of.Policy, of.Fallback, of.Order, of.Changes = first.Policy, first.Fallback, first.Order, c.changes
	c.planning = of.Planning
}

// Use says which estimators the pool has, which stay in use; nil: none.
func (c *Chooser) Use(estimates *estimate.Set) { c.estimates = estimates }

// Cycle takes in what a cycle reports, and chooses if that is due. When nobody waits any more, the first
// candidate takes over again.
func (c *Chooser) Cycle(r *negotiator.Report) error {
	c.record.see(r)
	now := r.Delta.Now
	if !c.begun {
		c.begun, c.since = true, now
	}
	c.charge[c.inCharge] += now - c.since
	c.since = now
	if r.State.Waiting() == 0 && c.inCharge != 0 {
		c.change(0, now) // nobody loses a promise, and what served the last jobs of a rush may not serve the next
		return nil
	}
	if !c.due(r) {
		return nil
	}
	made, err := c.choose(context.Background(), c.record.future(r))
	if err != nil {
		return fmt.Errorf("choose a policy at %d: %w", now, err)
	}
	c.settle(made, r.State.Waiting())
	return nil
}

// due reports whether a choice is due after a cycle: if there is a choice whom to serve next, the last
// one is long ago, and the queue's work has changed since.
func (c *Chooser) due(r *negotiator.Report) bool {
	now := r.Delta.Now
	const few = 2
	if now-c.last < c.every || r.State.Waiting() < few {
		return false
	}
	work := c.record.work(r.State)
	if math.Abs(work-c.lastWork) < c.work*c.lastWork {
		return false
	}
	c.last, c.lastWork = now, work
	return true
}

// choose plays the candidates ahead and finds the best. The one in charge stays among equals, and else
// the first of them wins.
func (c *Chooser) choose(ctx context.Context, f Future) (made Choice, err error) {
	made = Choice{Now: f.Outlook.Now(), InCharge: c.inCharge, Best: c.inCharge, Chosen: c.inCharge}
	if made.Expected, err = Play(ctx, f, c.candidates, c.workers); err != nil {
		return made, err
	}
	averages := c.memory.remember(made.Now, made.Expected)
	for i, m := range averages {
		value, err := c.objective.value(m, averages[c.inCharge])
		if err != nil {
			return made, fmt.Errorf("%s: %w", c.candidates[i].Name, err)
		}
		made.Names, made.Values = append(made.Names, c.candidates[i].Name), append(made.Values, value)
	}
	for i, value := range made.Values {
		if value < made.Values[made.Best] {
			made.Best = i
		}
	}
	return made, nil
}

// settle decides what follows from a choice, and hands the change over to the next cycle.
func (c *Chooser) settle(made Choice, waiting int) {
	made.Waiting = waiting
	c.choices++
	best, is := made.Values[made.Best], made.Values[made.InCharge]
	gain := c.gain
	if c.candidates[made.InCharge].guarantees() && !c.candidates[made.Best].guarantees() {
		gain = max(gain, c.lift)
	}
	switch {
	case made.Best == made.InCharge:
		made.Why = "the one in charge is the best"
	case best > is-gain*math.Abs(is):
		made.Why = fmt.Sprintf("the best is not better by %g", gain)
	case made.Now-c.changed < c.least:
		made.Why = fmt.Sprintf("the last change was %d s ago", made.Now-c.changed)
	default:
		made.Why, made.Chosen = fmt.Sprintf("%.4g instead of %.4g", best, is), made.Best
		c.change(made.Best, made.Now)
	}
	if c.Chosen != nil {
		c.Chosen(&made)
	}
}

// change hands a change over to the next cycle.
func (c *Chooser) change(which int, now backfill.Time) {
	to := &c.candidates[which]
	c.inCharge, c.changed = which, now
	c.made++
	c.changes <- negotiator.Change{
		Order: to.Order, Policy: to.Policy, Fallback: to.Fallback, Planning: c.planning, Estimates: c.estimates,
	}
}

// ranked returns the indexes of values, the least first.
func ranked(values []float64) []int {
	all := make([]int, len(values))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return all
}
