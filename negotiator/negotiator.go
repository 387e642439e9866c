package negotiator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Config is what a negotiator is made of.
type Config struct {
	Schema Schema
	// Placement chooses between the slots that could host a job.
	Placement profile.Rule
	// Order is the queue's priority function.
	Order Order
	// Policy decides; Fallback decides the rounds in which Policy cannot.
	Policy, Fallback backfill.Decider
	// DefaultEstimate is planned with for jobs that bring no estimate.
	DefaultEstimate backfill.Time
	// StartSlack lengthens every job's estimate and limit, in seconds: what passes on
	// a real pool between a match and the job's start there, and between its end and
	// the next cycle. An order's expression sees the estimate without it.
	StartSlack backfill.Time
	// Estimates foretell run times and learn from jobs that complete; nil: jobs are
	// planned with what they request. It is the negotiator's from now on.
	Estimates *estimate.Set
	// Actual is how long jobs will run, which only a simulation knows; may be nil.
	Actual func(backfill.JobID) backfill.Time
	// Refused is told of each decision that did not count; may be nil.
	Refused func(backfill.Refusal)
	// Changes are what else is to be in charge while [Run] runs; may be nil.
	Changes <-chan Change
	// Clock measures how long cycles take, and nothing else; may be nil.
	Clock func() time.Time
}

// Change puts another policy in charge, with its fallback, an order and estimators.
type Change struct {
	Order            Order
	Policy, Fallback backfill.Decider
	// Estimates are those of [Config.Estimates]. Another set than the one before begins
	// with what that one learned.
	Estimates *estimate.Set
	// Made is told between two cycles when it is so, and at which instant the first
	// one under the new policy is; or that the policies do not go together and
	// nothing was changed. May be nil.
	Made func(now backfill.Time, err error)
}

// Negotiator schedules one pool. It is not safe for concurrent use: who answers
// questions while it runs takes a clone of its State, and its Memory, between two
// cycles.
type Negotiator struct {
	schema      Schema
	matchmaker  *matchmaker
	host        *backfill.Host
	jobs        map[backfill.JobID]*Job // that wait, run or are held
	priorities  *priorities             // nil: the order is no expression
	predictions *predictions
	stale       []backfill.JobID // to be matched and placed anew once they do not run, as those of void autoclusters
	changes     <-chan Change
	clock       func() time.Time

	// Room for what a cycle needs.
	told   map[backfill.JobID]bool
	events []backfill.Event
	report Report
}

// DefaultEstimate is planned with where neither the job nor the configuration
// says anything: a day.
const DefaultEstimate backfill.Time = 24 * 60 * 60

// New makes a negotiator for a pool that it has not seen yet.
func New(c Config) (*Negotiator, error) {
	if c.DefaultEstimate == 0 {
		c.DefaultEstimate = DefaultEstimate
	}
	if c.Clock == nil {
		c.Clock = func() time.Time { return time.Time{} }
	}
	if c.StartSlack < 0 || c.StartSlack > maxSeconds {
		return nil, fmt.Errorf("a start slack of %d s: must be from 0 to %d", c.StartSlack, int64(maxSeconds))
	}
	jobs := map[backfill.JobID]*Job{}
	order, priorities := c.Order.of(jobs, c.Schema.Resources, c.StartSlack)
	predictions := &predictions{
		set: c.Estimates, actual: c.Actual, guarantees: c.Policy.Spec().Guarantees,
		slack: c.StartSlack, unknown: c.DefaultEstimate, jobs: jobs, known: map[backfill.JobID]*prediction{},
	}
	order = predictions.order(order)
	host, err := backfill.NewHost(backfill.NewState(c.Schema.Resources, c.Placement), order, c.Policy, c.Fallback, c.Refused)
	if err != nil {
		return nil, err
	}
	return &Negotiator{
		schema:      c.Schema,
		matchmaker:  newMatchmaker(c.Schema),
		host:        host,
		jobs:        jobs,
		told:        map[backfill.JobID]bool{},
		priorities:  priorities,
		predictions: predictions,
		changes:     c.Changes,
		clock:       c.Clock,
	}, nil
}

// Change puts another policy in charge from the next cycle on. What runs and
// waits stays as it is, and so do guarantees as long as the policy's name is the
// same; see [backfill.Host.Change]. Under other estimators, or if only one of the
// policies gives guarantees, run times are foretold anew. An error changes nothing.
func (n *Negotiator) Change(c Change) error {
	order, priorities := c.Order.of(n.jobs, n.schema.Resources, n.predictions.slack)
	predictions := n.predictions.under(c)
	if err := n.host.Change(predictions.order(order), c.Policy, c.Fallback); err != nil {
		return err
	}
	predictions.inherit(n.predictions)
	n.priorities, n.predictions = priorities, predictions
	return nil
}

// takeChange makes the change that waits, if one does, before a cycle.
func (n *Negotiator) takeChange(now backfill.Time) (made bool) {
	select {
	case c := <-n.changes:
		err := n.Change(c)
		if c.Made != nil {
			c.Made(now, err)
		}
		return err == nil
	default:
		return false
	}
}

// State is the schedule as it stands, for reading between cycles.
func (n *Negotiator) State() *backfill.State { return n.host.State }

// Job is a job that waits, runs or is held; nil if there is none of that ID.
func (n *Negotiator) Job(id backfill.JobID) *Job { return n.jobs[id] }

// NextWake is when a cycle is due even if nothing happens.
func (n *Negotiator) NextWake() backfill.Time {
	if slices.ContainsFunc(n.stale, n.queued) {
		return n.State().Now()
	}
	return n.State().NextWake()
}

// queued tells whether a job is there and does not run.
func (n *Negotiator) queued(id backfill.JobID) bool {
	return n.jobs[id] != nil && !n.State().IsRunning(id)
}

// Report is what came of a cycle. It holds until the next one.
type Report struct {
	Delta    Delta
	Decision backfill.Decision
	Matches  []Match
	Held     []Held
	// State is the schedule after the cycle.
	State *backfill.State
	// Unordered says that the order is an expression which so far had a number
	// for no job; see UnorderedText.
	Unordered bool
	// Changed says that a policy took over with this cycle, see [Config.Changes].
	Changed bool
	// Learned are the completed jobs from which the estimators learned.
	Learned []estimate.Ended
	// Took is how long the cycle took, by the configured clock, and Matched how long of
	// it phases 2 and 3.
	Took, Matched time.Duration

	predictions *predictions
}

// Held is a job that left the queue without running, and why.
type Held struct {
	Job    *Job
	Reason string
}

// RunCycle schedules what a pool reports. A delta that cannot be true is an
// error and changes nothing. After any other error the negotiator is not to be
// used any more.
func (n *Negotiator) RunCycle(ctx context.Context, delta Delta) (*Report, error) {
	began := n.clock()
	report := &n.report
	report.Delta, report.Matches, report.Held, report.State, report.Changed = delta, report.Matches[:0], nil, n.host.State, false
	d := &report.Delta
	if err := n.check(d); err != nil {
		return nil, fmt.Errorf("what the pool reports at %d cannot be true: %w", d.Now, err)
	}
	n.learn(d)
	round, err := n.matchUp(d)
	if err != nil {
		return nil, err
	}
	report.Matched = n.clock().Sub(began)
	report.Decision, err = n.host.Decide(ctx, round)
	if err != nil {
		return nil, fmt.Errorf("plan at %d: %w", d.Now, err)
	}
	n.matchmaker.sent()
	n.forget(d.Completed)
	n.forget(d.Removed)
	report.Unordered, report.Learned, report.predictions = n.priorities.unordered(), n.predictions.learned, n.predictions
	for i := range report.Decision.Started {
		s := &report.Decision.Started[i]
		report.Matches = append(report.Matches, Match{Job: n.jobs[s.Job.ID], Placement: n.places(s.Placement)})
	}
	report.Held = n.held(report.Decision.Held)
	report.Took = n.clock().Sub(began)
	return report, nil
}

// forget drops jobs that are gone.
func (n *Negotiator) forget(ids []backfill.JobID) {
	for _, id := range ids {
		delete(n.jobs, id)
		n.priorities.forget(id)
		n.predictions.forget(id)
	}
}

func (n *Negotiator) cluster(j *backfill.Job) *autocluster {
	return n.matchmaker.clusters[j.Candidates]
}

// held names what held jobs do not find in the pool. All slots are asked once for each
// autocluster.
func (n *Negotiator) held(jobs []backfill.HeldJob) (all []Held) {
	none := map[*autocluster]string{}
	for _, h := range jobs {
		reason := h.Reason
		if c := n.cluster(h.Job); reason == backfill.ReasonNeverFits && c.allowsNone() {
			if none[c] == "" {
				none[c] = n.matchmaker.whyNone(c)
			}
			reason = none[c]
		}
		all = append(all, Held{Job: n.jobs[h.Job.ID], Reason: reason})
	}
	return all
}

func (n *Negotiator) places(at backfill.Placement) Placement {
	if len(n.matchmaker.bundles) > 0 {
		if id, found := n.matchmaker.bundleAt(at); found {
			return n.matchmaker.wholes[id]
		}
	}
	if len(at) == 1 && at[0].Count == 1 {
		return n.matchmaker.singles[at[0].Slot]
	}
	places := make(Placement, len(at))
	for i, c := range at {
		places[i] = Place{Slot: n.matchmaker.slots[c.Slot], Chunks: c.Count}
	}
	return places
}
