package negotiator

import (
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// World is what expressions of ads learn from outside the ads, besides the instant of the cycle.
type World = matchmaker.World

// Room says why limits have no room for a job.
type Room = matchmaker.Room

// SlotLimits is the attribute of jobs whose limits depend on the slot, see [matchmaker.SlotLimits].
const SlotLimits = matchmaker.SlotLimits

// Refused is the attribute of jobs that no plan can have, see [matchmaker.Refused].
const Refused = matchmaker.Refused

// Config is what a negotiator is made of.
type Config struct {
	Schema Schema
	// Placement is the rule that chooses between the slots on which a job could run.
	Placement profile.Rule
	// Order is the queue's priority function.
	Order Order
	// Policy decides each cycle; Fallback decides those in which Policy fails or is refused.
	Policy, Fallback backfill.Decider
	// Planning says how far a policy that gives guarantees plans; zero: all jobs, in order of jobs.
	Planning backfill.Planning
	// DefaultEstimate is the planned run time of jobs without an estimate; 0: [DefaultEstimate].
	DefaultEstimate backfill.Time
	// StartSlack lengthens every job's estimate and limit, in seconds. It covers the time between
	// a match and the job's start on a real pool, and between the job's end and the next cycle. An
	// order's expression sees the estimate without it.
	StartSlack backfill.Time
	// Estimates predict run times and learn from jobs that complete; nil: jobs are planned with the
	// run times that they request. The negotiator changes the set: share it with nobody.
	Estimates *estimate.Set
	// Trust says which of the run times that users state count, and Record is what is known of their
	// words so far; nil: nothing. The negotiator changes it.
	Trust  estimate.Trust
	Record *estimate.TrackRecord
	// Delays are how long starts took so far, if that is known.
	Delays estimate.Delays
	// Actual returns how long a job will run, which only a simulation knows, and -1 if it does not know
	// it either: as long as it requests. May be nil.
	Actual func(backfill.JobID) backfill.Time
	// Matching bounds what it may cost to find out which slots each user's jobs may use; zero: it may
	// cost anything.
	Matching matchmaker.Limits
	// Preemption says who may be displaced for whom, where the pool tells of claims; see [Delta].Claims.
	Preemption preempt.Rules
	// World is what expressions of ads learn from outside the ads, besides the instant of the cycle.
	World World
	// Recorder writes all cycles down; may be nil.
	Recorder Recorder
	// Refused is called with each decision that was refused; may be nil.
	Refused func(backfill.Refusal)
	// Changes brings the changes that [Run] and [Decide] make before a cycle; may be nil. See also
	// [Negotiator.ChangeNext].
	Changes <-chan Change
	// Clock measures how long cycles take, and nothing else; may be nil.
	Clock func() time.Time
}

// Change is a request to make another policy, with its fallback, another order, planning and other
// estimators active.
type Change struct {
	Order            Order
	Policy, Fallback backfill.Decider
	Planning         backfill.Planning
	// Estimates are those of [Config.Estimates]. If they are another set than before, they first
	// learn what the old set has learned.
	Estimates *estimate.Set
	// Made is called between two cycles, once the change is made or has failed, with the instant of
	// the next cycle. An error says that policy and fallback do not go together; nothing has
	// changed then. May be nil.
	Made func(now backfill.Time, err error)
}

// Negotiator schedules one pool. It is not safe for concurrent use. Whoever answers questions while
// it runs takes a clone of its State, and its Checkpoint, between two cycles.
type Negotiator struct {
	schema      Schema
	inventory   *inventory
	matchmaker  *matchmaker.Matchmaker
	host        *backfill.Host
	jobs        *jobs
	policy      backfill.Decider
	fallback    backfill.Decider
	order       Order
	priorities  *priorities // nil: the order is not an expression
	predictions *predictions
	limits      limits
	reviews     reviews
	preemption  preemption
	scavengers  scavengers
	members     []int            // by autocluster: how many jobs are of it that are no scavengers
	delays      estimate.Delays  // of the last starts
	arrived     []Expected       // the last jobs that arrived
	stale       []backfill.JobID // running jobs to be clustered anew once they are back in the queue
	changes     <-chan Change
	asked       *Change          // for by ChangeNext; nil: nothing
	clock       func() time.Time // may be nil
	world       World
	recorder    Recorder      // may be nil
	renewed     bool          // the policy, or what it is asked with, has changed since it was last asked
	again       backfill.Time // a further cycle is due, as this one started jobs beside which others may begin; see free.go

	freed freed // as of the cycle under way, or after the last one

	rousedTo, filledTo int // to which jobs the last looks came, see beside

	// Of the cycle under way; later cycles reuse the memory, see release.
	reported backfill.JobSet // the jobs that the delta reports
	arrivals []arrival
	events   []backfill.Event
	last     Report
}

// arrival is a job that is passed to the policy in full, not by its ID alone.
type arrival struct {
	kind    backfill.EventKind // Submitted, Changed or Found
	job     *Job
	cluster matchmaker.Autocluster
	// predict says that the job's run times are to be predicted first.
	predict bool
	// Of a found job: where it runs, since when, and its expected end; end 0: when its run time is
	// over.
	placement  backfill.Placement
	start, end backfill.Time
	// limited says that the job is here only for what it takes of limits.
	limited bool
	// replanned is the job as it was planned so far, if it is here only for new run times; else
	// nil. If it is set, end is by the requested run time.
	replanned *backfill.Job
	// distrusted says that the job is replanned as its user's word counts otherwise than before. If it
	// counts for a longer time, the job loses its place and its promise before others are planned, and
	// then arrives anew: whom a lie has delayed comes before the liar.
	distrusted bool
}

// DefaultEstimate is the planned run time where neither the job nor the configuration says
// anything: a day.
const DefaultEstimate backfill.Time = 24 * 60 * 60

// New makes a negotiator without slots and jobs. It returns an error if StartSlack is out of
// bounds, or if only one of Policy and Fallback gives guarantees.
func New(c Config) (*Negotiator, error) {
	if c.DefaultEstimate == 0 {
		c.DefaultEstimate = DefaultEstimate
	}
	if c.StartSlack < 0 || c.StartSlack > backfill.MaxTime {
		return nil, fmt.Errorf("a start slack of %d s: must be from 0 to %d", c.StartSlack, int64(backfill.MaxTime))
	}
	if c.Record == nil {
		c.Record = estimate.NewTrackRecord()
	}
	jobs := new(jobs)
	order, priorities := c.Order.of(jobs.get, c.Schema.Resources, c.StartSlack, c.World)
	predictions := &predictions{
		set: c.Estimates, trust: c.Trust, record: c.Record, actual: c.Actual, guarantees: c.Policy.Spec().Guarantees,
		slack: c.StartSlack, unknown: c.DefaultEstimate, jobs: jobs, known: new(backfill.JobTable[prediction]),
		cpus: c.Schema.cpus,
	}
	predictions.recall(nil)
	order = predictions.order(order)
	state := backfill.NewState(c.Schema.Resources, c.Placement)
	host, err := backfill.NewHost(state, order, c.Policy, c.Fallback, jobs.naming(c.Refused))
	if err != nil {
		return nil, err
	}
	host.SetPlanning(c.Planning)
	if c.Recorder != nil {
		host.Watch(c.Recorder.Decided)
	}
	request := func(ad *classad.ClassAd) (backfill.Vector, error) { return c.Schema.Request(ad, 1) }
	return &Negotiator{
		schema:      c.Schema,
		inventory:   newInventory(c.Schema.Resources),
		matchmaker:  matchmaker.New(c.Schema.Resources, request, c.Matching, c.World),
		host:        host,
		jobs:        jobs,
		policy:      c.Policy,
		fallback:    c.Fallback,
		order:       c.Order,
		priorities:  priorities,
		predictions: predictions,
		preemption:  newPreemption(c.Preemption, c.Schema.Resources),
		scavengers:  scavengers{due: backfill.Forever},
		reviews:     reviews{due: map[string]bool{}, last: map[string]backfill.Time{}},
		delays:      c.Delays,
		changes:     c.Changes,
		clock:       c.Clock,
		world:       c.World,
		recorder:    c.Recorder,
		again:       backfill.Forever,
	}, nil
}

// Change makes another policy active from the next cycle on. What runs and waits stays as it is,
// and so do guarantees if both policies give them; see [backfill.Host.Change]. Run times
// are predicted anew if the estimators change, or if only one of the two policies gives guarantees.
// An error changes nothing.
func (n *Negotiator) Change(c Change) error {
	order, priorities := c.Order.of(n.jobs.get, n.schema.Resources, n.predictions.slack, n.world)
	predictions := n.predictions.under(c.Estimates, c.Policy.Spec().Guarantees)
	if err := n.host.Change(predictions.order(order), c.Policy, c.Fallback); err != nil {
		return err
	}
	n.host.SetPlanning(c.Planning)
	predictions.inherit(n.predictions)
	n.policy, n.fallback, n.order = c.Policy, c.Fallback, c.Order
	n.priorities, n.predictions = priorities, predictions
	if predictions.anew {
		predictions.tell(n.State())
	}
	n.renewed = true
	return nil
}

// SetWorld changes what expressions of ads learn from outside the ads, from the next cycle on: which slots
// jobs may use is found out anew. It must be called right before a cycle.
func (n *Negotiator) SetWorld(w matchmaker.World) {
	n.matchmaker.SetWorld(w)
	n.renewed = true
}

// State returns the schedule as it stands. It may be read between cycles only.
func (n *Negotiator) State() *backfill.State { return n.host.State }

// Deciders returns the policy in charge and its fallback.
func Deciders(n *Negotiator) (main, fallback backfill.Decider) { return n.policy, n.fallback }

// GivenUp returns why the policy is asked no more, so that its fallback decides until the next change;
// nil: it is asked.
func (n *Negotiator) GivenUp() error { return n.host.GivenUp() }

// Job returns a job that waits, runs or is held, be it a scavenger; nil if there is none of that ID.
func (n *Negotiator) Job(id backfill.JobID) *Job {
	if known := n.scavengers.jobs[id]; known != nil {
		return known.job
	}
	return n.jobs.get(id)
}

// NextWake returns when the next cycle is due even if nothing happens.
func (n *Negotiator) NextWake() backfill.Time { return min(n.dueAt(), n.scavengers.due) }

// dueAt is NextWake without scavengers.
func (n *Negotiator) dueAt() backfill.Time {
	if slices.ContainsFunc(n.stale, n.queued) || n.matchmaker.Hurries() {
		return n.State().Now()
	}
	return min(n.State().NextWake(), n.reviews.next(), n.matchmaker.Wake(), n.again, n.preemption.due)
}

// Fit counts the slots that a job matches, of those that are up, and what rules out the others. It
// returns false if there is no job of that ID.
func (n *Negotiator) Fit(id backfill.JobID) (matchmaker.Fit, bool) {
	if known := n.scavengers.jobs[id]; known != nil {
		return n.matchmaker.Fit(known.cluster, n.State().SlotUp), true
	}
	k := n.jobs.Find(id)
	if k == nil || !k.clustered {
		return matchmaker.Fit{}, false
	}
	return n.matchmaker.Fit(k.cluster, n.State().SlotUp), true
}

// queued reports whether a job waits or is held: it is known and does not run.
func (n *Negotiator) queued(id backfill.JobID) bool {
	return n.jobs.get(id) != nil && !n.State().IsRunning(id)
}

// addSlots adds slots and bundles, or replaces slots that come back. It reports whether all jobs
// have to be clustered anew; see [matchmaker.Matchmaker.Add].
func (n *Negotiator) addSlots(slots []*Slot, bundles []*Bundle) (newAttributes bool) {
	for _, slot := range slots {
		n.preemption.ranked = n.preemption.ranked || preempt.Ranked(slot.Ad)
	}
	return n.matchmaker.Add(n.inventory.add(slots, bundles))
}

// inCoreTerms returns a job as policies see it, with its predicted run times.
func (n *Negotiator) inCoreTerms(job *Job, cluster matchmaker.Autocluster) *backfill.Job {
	j := &backfill.Job{
		ID: job.ID, Submit: job.Submit, Release: job.Release, Position: job.Position, Nodes: job.Nodes,
		Request:    cluster.Request,
		Candidates: cluster.ID, Labels: job.Labels, Whole: len(n.inventory.bundles) > 0, Takes: n.limits.takes(job.Takes),
	}
	n.predictions.plan(j, job)
	return j
}

// autocluster finds the autocluster of a job, which leaves the one that it had before.
func (n *Negotiator) autocluster(job *Job) (matchmaker.Autocluster, error) {
	c, err := n.matchmaker.Cluster(job.Ad, job.payer())
	if err != nil {
		return c, fmt.Errorf("job %s: %w", job.Name, err)
	}
	k := n.jobs.Put(job.ID)
	n.leave(k)
	k.cluster, k.clustered = c.ID, true
	for len(n.members) <= c.ID {
		n.members = append(n.members, 0)
	}
	n.members[c.ID]++
	return c, nil
}

// leave says that a known job is not of its autocluster any more.
func (n *Negotiator) leave(k *known) {
	if k.clustered {
		n.matchmaker.Leave(k.cluster, k.job.payer())
		n.members[k.cluster]--
		k.clustered = false
	}
}
