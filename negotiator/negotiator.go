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
	// Order is the queue's priority function; nil: first come, first served.
	Order backfill.Order
	// Policy decides; Fallback decides the rounds in which Policy cannot.
	Policy, Fallback backfill.Decider
	// DefaultEstimate is planned with for jobs that bring no estimate.
	DefaultEstimate backfill.Time
	// Refused is told of each decision that did not count; may be nil.
	Refused func(backfill.Refusal)
	// Clock measures how long cycles take, and nothing else; may be nil.
	Clock func() time.Time
}

// Negotiator schedules one pool. It is not safe for concurrent use.
type Negotiator struct {
	schema          Schema
	defaultEstimate backfill.Time
	matchmaker      *matchmaker
	host            *backfill.Host
	jobs            map[backfill.JobID]*Job // that wait, run or are held
	held            map[backfill.JobID]bool
	clock           func() time.Time
}

// DefaultEstimate is planned with where neither the job nor the configuration
// says anything: a day.
const DefaultEstimate backfill.Time = 24 * 60 * 60

// New makes a negotiator for a pool that it has not seen yet.
func New(c Config) (*Negotiator, error) {
	if c.Order == nil {
		fcfs, err := backfill.OrderNamed("fcfs")
		if err != nil {
			return nil, err
		}
		c.Order = fcfs
	}
	if c.DefaultEstimate == 0 {
		c.DefaultEstimate = DefaultEstimate
	}
	if c.Clock == nil {
		c.Clock = func() time.Time { return time.Time{} }
	}
	host, err := backfill.NewHost(backfill.NewState(c.Schema.Resources, c.Placement), c.Order, c.Policy, c.Fallback, c.Refused)
	if err != nil {
		return nil, err
	}
	return &Negotiator{
		schema:          c.Schema,
		defaultEstimate: c.DefaultEstimate,
		matchmaker:      newMatchmaker(c.Schema),
		host:            host,
		jobs:            map[backfill.JobID]*Job{},
		held:            map[backfill.JobID]bool{},
		clock:           c.Clock,
	}, nil
}

// State is the schedule as it stands, for reading between cycles.
func (n *Negotiator) State() *backfill.State { return n.host.State }

// Job is a job that waits, runs or is held; nil if there is none of that ID.
func (n *Negotiator) Job(id backfill.JobID) *Job { return n.jobs[id] }

// NextWake is when a cycle is due even if nothing happens.
func (n *Negotiator) NextWake() backfill.Time { return n.host.State.NextWake() }

// Report is what came of a cycle.
type Report struct {
	Delta    Delta
	Decision backfill.Decision
	Matches  []Match
	Held     []Held
	// State is the schedule after the cycle. It holds until the next one.
	State *backfill.State
	// Took is how long the cycle took, by the configured clock.
	Took time.Duration
}

// Held is a job that left the queue without running, and why.
type Held struct {
	Job    *Job
	Reason string
}

// RunCycle schedules what a pool reports. After an error the schedule is as it
// was before.
func (n *Negotiator) RunCycle(ctx context.Context, d Delta) (Report, error) {
	began := n.clock()
	round, err := n.matchUp(d)
	if err != nil {
		return Report{}, err
	}
	decision, err := n.host.Decide(ctx, round)
	if err != nil {
		return Report{}, fmt.Errorf("plan at %d: %w", d.Now, err)
	}
	n.matchmaker.sent()
	for _, job := range d.Submitted {
		n.jobs[job.ID] = job
	}
	report := Report{Delta: d, Decision: decision, State: n.host.State}
	for _, s := range decision.Started {
		report.Matches = append(report.Matches, Match{Job: n.jobs[s.Job.ID], Placement: n.places(s.Placement)})
	}
	for _, h := range decision.Held {
		n.held[h.Job.ID] = true
		report.Held = append(report.Held, Held{Job: n.jobs[h.Job.ID], Reason: n.explainHold(h)})
	}
	for _, id := range slices.Concat(d.Completed, d.Removed) {
		delete(n.jobs, id)
		delete(n.held, id)
	}
	report.Took = n.clock().Sub(began)
	return report, nil
}

func (n *Negotiator) explainHold(h backfill.HeldJob) string {
	if h.Reason == backfill.ReasonNeverFits && len(n.matchmaker.clusters[h.Job.Candidates].candidates.Slots) == 0 {
		return "matches no slot: the Requirements of the job and of a slot are never both true"
	}
	return h.Reason
}

func (n *Negotiator) places(at backfill.Placement) []Place {
	places := make([]Place, len(at))
	for i, c := range at {
		places[i] = Place{Slot: n.matchmaker.slots[c.Slot], Chunks: c.Count}
	}
	return places
}

// matchUp does phases 2 and 3: it turns a delta in terms of ads into a round in
// terms of vectors and candidate sets.
func (n *Negotiator) matchUp(d Delta) (backfill.Round, error) {
	round := backfill.Round{Now: d.Now}
	if err := n.takeSlots(d, &round); err != nil {
		return round, err
	}
	for _, job := range d.Submitted {
		if _, known := n.jobs[job.ID]; known {
			return round, fmt.Errorf("job %s (ID %d) was submitted twice", job.Name, job.ID)
		}
		spec, jobErr := n.spec(job)
		if jobErr != nil {
			return round, jobErr
		}
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
	for _, c := range n.matchmaker.unsent() {
		round.Candidates = append(round.Candidates, backfill.CandidateSet{ID: c.id, Candidates: c.candidates})
	}
	return round, nil
}

// takeSlots takes the delta's slots in, and has the jobs that they concern
// looked at again.
func (n *Negotiator) takeSlots(d Delta, round *backfill.Round) error {
	for _, name := range d.SlotsDown {
		id, known := n.matchmaker.ids[name]
		if !known {
			return fmt.Errorf("slot %s is gone, but was never there", name)
		}
		round.Events = append(round.Events, backfill.Event{Kind: backfill.SlotLost, Slot: n.slot(id)})
	}
	if len(d.SlotsUp) == 0 {
		return nil
	}
	recluster := n.matchmaker.addSlots(d.SlotsUp)
	for _, slot := range d.SlotsUp {
		id := n.matchmaker.ids[slot.Name]
		kind := backfill.SlotAdded
		if int(id) < len(n.State().Slots()) && n.State().SlotUp(id) {
			kind = backfill.SlotChanged
		}
		round.Events = append(round.Events, backfill.Event{Kind: kind, Slot: n.slot(id)})
	}
	for _, id := range slices.Sorted(maps.Keys(n.jobs)) {
		if !n.held[id] && !recluster || n.State().IsRunning(id) {
			continue
		}
		spec, specErr := n.spec(n.jobs[id])
		if specErr != nil {
			return specErr
		}
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Changed, Spec: spec})
		n.held[id] = false
	}
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
