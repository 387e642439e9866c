package negotiator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
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
	// Refused is told of each decision that did not count; may be nil.
	Refused func(backfill.Refusal)
	// Changes are what else is to be in charge while [Run] runs; may be nil.
	Changes <-chan Change
	// Clock measures how long cycles take, and nothing else; may be nil.
	Clock func() time.Time
}

// Change puts another policy in charge, with its fallback and an order.
type Change struct {
	Order            Order
	Policy, Fallback backfill.Decider
	// Made is told between two cycles when it is so, and at which instant the first
	// one under the new policy is; or that the policies do not go together and
	// nothing was changed. May be nil.
	Made func(now backfill.Time, err error)
}

// Negotiator schedules one pool. It is not safe for concurrent use.
type Negotiator struct {
	schema          Schema
	defaultEstimate backfill.Time
	matchmaker      *matchmaker
	host            *backfill.Host
	jobs            map[backfill.JobID]*Job // that wait, run or are held
	priorities      *priorities             // nil: the order is no expression
	stale           []backfill.JobID        // of void autoclusters: to be matched anew once they do not run
	changes         <-chan Change
	clock           func() time.Time

	// Room for what a cycle needs.
	told    map[backfill.JobID]bool
	events  []backfill.Event
	matches []Match
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
	jobs := map[backfill.JobID]*Job{}
	order, priorities := c.Order.of(jobs, c.Schema.Resources)
	host, err := backfill.NewHost(backfill.NewState(c.Schema.Resources, c.Placement), order, c.Policy, c.Fallback, c.Refused)
	if err != nil {
		return nil, err
	}
	return &Negotiator{
		schema:          c.Schema,
		defaultEstimate: c.DefaultEstimate,
		matchmaker:      newMatchmaker(c.Schema),
		host:            host,
		jobs:            jobs,
		told:            map[backfill.JobID]bool{},
		priorities:      priorities,
		changes:         c.Changes,
		clock:           c.Clock,
	}, nil
}

// Change puts another policy in charge from the next cycle on. What runs and
// waits stays as it is, and so do guarantees as long as the policy's name is the
// same; see [backfill.Host.Change]. An error changes nothing.
func (n *Negotiator) Change(c Change) error {
	order, priorities := c.Order.of(n.jobs, n.schema.Resources)
	if err := n.host.Change(order, c.Policy, c.Fallback); err != nil {
		return err
	}
	n.priorities = priorities
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
	// Took is how long the cycle took, by the configured clock.
	Took time.Duration
}

// Held is a job that left the queue without running, and why.
type Held struct {
	Job    *Job
	Reason string
}

// RunCycle schedules what a pool reports. A delta that cannot be true is an
// error and changes nothing. After any other error the negotiator is not to be
// used any more.
func (n *Negotiator) RunCycle(ctx context.Context, d Delta) (Report, error) {
	began := n.clock()
	if err := n.check(d); err != nil {
		return Report{}, fmt.Errorf("what the pool reports at %d cannot be true: %w", d.Now, err)
	}
	round, err := n.matchUp(d)
	if err != nil {
		return Report{}, err
	}
	decision, err := n.host.Decide(ctx, round)
	if err != nil {
		return Report{}, fmt.Errorf("plan at %d: %w", d.Now, err)
	}
	n.matchmaker.sent()
	n.forget(d.Completed)
	n.forget(d.Removed)
	report := Report{Delta: d, Decision: decision, Matches: n.matches[:0], State: n.host.State, Unordered: n.priorities.unordered()}
	for _, s := range decision.Started {
		report.Matches = append(report.Matches, Match{Job: n.jobs[s.Job.ID], Placement: n.places(s.Placement)})
	}
	n.matches = report.Matches
	for _, h := range decision.Held {
		report.Held = append(report.Held, Held{Job: n.jobs[h.Job.ID], Reason: n.why(h)})
	}
	report.Took = n.clock().Sub(began)
	return report, nil
}

// forget drops jobs that are gone.
func (n *Negotiator) forget(ids []backfill.JobID) {
	for _, id := range ids {
		delete(n.jobs, id)
		n.priorities.forget(id)
	}
}

func (n *Negotiator) cluster(j *backfill.Job) *autocluster {
	return n.matchmaker.clusters[j.Candidates]
}

// why names what a held job does not find in the pool.
func (n *Negotiator) why(h backfill.HeldJob) string {
	c := n.cluster(h.Job)
	switch {
	case h.Reason != backfill.ReasonNeverFits:
		return h.Reason
	case len(c.candidates.Slots) == 0:
		return n.matchmaker.whyNone(c)
	default:
		return h.Reason
	}
}

func (n *Negotiator) places(at backfill.Placement) Placement {
	if len(at) == 1 && at[0].Count == 1 {
		return n.matchmaker.singles[at[0].Slot]
	}
	places := make(Placement, len(at))
	for i, c := range at {
		places[i] = Place{Slot: n.matchmaker.slots[c.Slot], Chunks: c.Count}
	}
	return places
}

// check refuses a delta that cannot be true, before anything has changed.
func (n *Negotiator) check(d Delta) error {
	if d.Now < n.State().Now() {
		return fmt.Errorf("the last cycle was at %d", n.State().Now())
	}
	if err := n.matchmaker.checkSlots(d.SlotsUp, d.SlotsDown); err != nil {
		return err
	}
	told := n.told
	clear(told)
	for _, job := range d.Submitted {
		if n.jobs[job.ID] != nil || told[job.ID] {
			return fmt.Errorf("job %s (ID %d) was submitted twice", job.Name, job.ID)
		}
		told[job.ID] = true
		if err := n.schema.check(job, n.matchmaker.byAd[job.Ad]); err != nil {
			return fmt.Errorf("job %s: %w", job.Name, err)
		}
	}
	for _, report := range []struct {
		what    string
		ids     []backfill.JobID
		running bool // the job must be running
	}{{"completed", d.Completed, true}, {"removed", d.Removed, false}, {"failed to start", d.StartFailed, true}} {
		for _, id := range report.ids {
			if told[id] {
				return fmt.Errorf("job ID %d is reported twice", id)
			}
			told[id] = true
			if n.jobs[id] == nil || report.running && !n.State().IsRunning(id) {
				return fmt.Errorf("job ID %d %s, but was not there for it", id, report.what)
			}
		}
	}
	return nil
}

// matchUp does phases 2 and 3: it turns a delta in terms of ads into a round in
// terms of vectors and candidate sets.
func (n *Negotiator) matchUp(d Delta) (backfill.Round, error) {
	round := backfill.Round{Now: d.Now, Events: n.events[:0]}
	if err := n.takeSlots(d, &round); err != nil {
		return round, err
	}
	for _, job := range d.Submitted {
		spec, err := n.spec(job)
		if err != nil {
			return round, err
		}
		n.jobs[job.ID] = job
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Submitted, Spec: spec})
	}
	for _, id := range d.Completed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, Job: id})
	}
	for _, id := range d.Removed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Removed, Job: id})
	}
	for _, id := range d.StartFailed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.StartFailed, Job: id})
	}
	n.events = round.Events
	for _, c := range n.matchmaker.unsent() {
		round.Candidates = append(round.Candidates, backfill.CandidateSet{ID: c.id, Candidates: c.candidates})
	}
	return round, nil
}

// takeSlots takes the delta's slots in. When they can tell jobs apart that none
// could before, all waiting jobs are matched anew, and a running one a cycle
// after it came back to the queue: until then its autocluster has no candidates.
func (n *Negotiator) takeSlots(d Delta, round *backfill.Round) error {
	for _, name := range d.SlotsDown {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.SlotLost, Slot: n.slot(n.matchmaker.ids[name])})
	}
	if len(d.SlotsUp) > 0 && n.matchmaker.addSlots(d.SlotsUp) {
		n.stale = slices.Sorted(maps.Keys(n.jobs))
	}
	for _, slot := range d.SlotsUp {
		id := n.matchmaker.ids[slot.Name]
		kind := backfill.SlotAdded
		if n.State().SlotUp(id) {
			kind = backfill.SlotChanged
		}
		round.Events = append(round.Events, backfill.Event{Kind: kind, Slot: n.slot(id)})
	}
	for _, id := range n.stale {
		if !n.queued(id) || slices.Contains(d.Removed, id) {
			continue
		}
		spec, err := n.spec(n.jobs[id])
		if err != nil {
			return err
		}
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Changed, Spec: spec})
	}
	n.stale = slices.DeleteFunc(n.stale, func(id backfill.JobID) bool { return !n.State().IsRunning(id) })
	return nil
}

func (n *Negotiator) slot(id backfill.SlotID) backfill.Slot {
	s := n.matchmaker.slots[id]
	return backfill.Slot{ID: id, Name: s.Name, Capacity: s.Capacity}
}

// spec is a job in the policy's terms.
func (n *Negotiator) spec(job *Job) (*backfill.Job, error) {
	c, err := n.matchmaker.cluster(job.Ad)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.Name, err)
	}
	spec := &backfill.Job{
		ID: job.ID, Submit: job.Submit, Place: job.Place, Nodes: job.Nodes, Request: c.request,
		Estimate: job.Estimate, Limit: job.Limit, Candidates: c.id, Labels: job.Labels,
	}
	if spec.Estimate == 0 {
		spec.Estimate, spec.Unestimated = n.defaultEstimate, true
	}
	return spec, nil
}
