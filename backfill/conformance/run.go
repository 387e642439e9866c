package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// Conform drives a policy through the pool of a seed for the given number of rounds, then until the
// queue is empty. It returns the first finding of each rule, and stops when a mandatory rule is
// broken. An error means that the context ended, or that the host could not decide a round.
func Conform(ctx context.Context, seed uint64, rounds int, main backfill.Decider, promises ...Promise) ([]Finding,
	error,
) {
	r, err := Start(seed, main)
	if err != nil {
		return nil, err
	}
	for range rounds {
		if err = r.step(ctx, r.Driver.Round(r.Host.State), promises); err != nil || r.broken() {
			return r.findings, err
		}
	}
	err = r.drain(ctx, promises)
	return r.findings, err
}

// step decides a round and checks the state after it. If the round failed because a mandatory rule
// was broken, it returns no error: that is a finding.
func (r *Run) step(ctx context.Context, round backfill.Round, promises []Promise) error {
	_, err := r.decide(ctx, round)
	switch {
	case err == nil:
		r.Check(promises...)
	case r.broken() && ctx.Err() == nil:
		return nil
	}
	return err
}

// Run is a random pool with a policy that decides for it.
type Run struct {
	Host   *backfill.Host
	Driver *Driver

	seed     uint64
	rounds   int
	refusals int
	findings []Finding

	// The last round, its decision, and the state after it.
	round    backfill.Round
	decision backfill.Decision
	snap     backfill.Snapshot
	before   backfill.Snapshot // the state before the round
	ahead    *grid             // what is free in the plan, for startless; nil: not computed

	guarantees map[backfill.JobID]backfill.Time
	runs       map[backfill.JobID]backfill.Placement // which job runs where, by rounds and decisions alone
	headPlan   map[backfill.JobID]backfill.Time      // planned start of a job when it came to the head of the queue
	shrunk     bool                                  // some slot may have less than its running jobs use
}

// Start creates a run of a policy on the pool of a seed. The seed decides whether the pool is full
// of mishaps, calm, or exact (every job ends when expected), and whether it is [Shallow]. Refused decisions become findings.
func Start(seed uint64, main backfill.Decider) (*Run, error) {
	d := NewDriver(seed)
	d.Calm, d.Exact, d.Late = seed%3 == 1, seed%3 == 2, seed%3 == 0
	d.Predicted = !d.Exact && seed%2 == 0
	r := &Run{
		Driver: d, seed: seed,
		guarantees: map[backfill.JobID]backfill.Time{},
		runs:       map[backfill.JobID]backfill.Placement{},
		headPlan:   map[backfill.JobID]backfill.Time{},
	}
	var err error
	r.Host, err = NewHost(d, main, r.refused)
	if err == nil {
		r.Host.SetPlanning(planning(seed))
	}
	return r, err
}

// refused records a refused decision.
func (r *Run) refused(refusal backfill.Refusal) {
	r.refusals++
	n := len(r.findings)
	r.note(Accepted, refusal.Now, nil, "the decision does not count: %v", refusal.Err)
	if fault, panicked := errors.AsType[*backfill.PanicError](refusal.Err); panicked && len(r.findings) > n {
		r.findings[n].Stack = frames(string(fault.Stack))
	}
}

// frames returns what a stack has between the panic and the call of the policy.
func frames(stack string) string {
	if _, after, found := strings.Cut(stack, "\npanic("); found {
		stack = after
		for range 2 { // the arguments of panic and its line
			_, stack, _ = strings.Cut(stack, "\n")
		}
	}
	policy, _, _ := strings.Cut(stack, "github.com/condor-backfill/condor-backfill/backfill.(*Linked).Decide(")
	return policy
}

// NewHost creates a host for a driver's pool, with main as the active policy. The callback refused
// is called for each refused decision.
func NewHost(d *Driver, main backfill.Decider, refused func(backfill.Refusal)) (*backfill.Host, error) {
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	if err != nil {
		return nil, err
	}
	fcfs, err := backfill.OrderNamed("fcfs")
	if err != nil {
		return nil, err
	}
	return backfill.NewHost(backfill.NewState(d.Resources(), d.Rule()), fcfs, main, fallback, refused)
}

// Next makes up a round and lets the policy decide it. The decision is valid until the next call.
// An error means that the host could not decide the round.
func (r *Run) Next(ctx context.Context) (backfill.Decision, error) {
	return r.decide(ctx, r.Driver.Round(r.Host.State))
}

func (r *Run) decide(ctx context.Context, round backfill.Round) (d backfill.Decision, err error) {
	r.rounds++
	given := originalOf(r.Host.State, round) // compared also if the host fails for what was changed
	defer func() { r.touched(given, round.Now) }()
	if d, err = r.Host.Decide(ctx, round); err != nil {
		return d, fmt.Errorf("pool %d, round %d: %w", r.seed, r.rounds, err)
	}
	r.round, r.decision = round, d
	return d, nil
}

// Seed returns the seed of the pool.
func (r *Run) Seed() uint64 { return r.seed }

// Rounds returns how many rounds were decided so far.
func (r *Run) Rounds() int { return r.rounds }

// Refusals returns how many decisions were refused so far.
func (r *Run) Refusals() int { return r.refusals }

// Findings returns the first finding of each rule so far.
func (r *Run) Findings() []Finding { return r.findings }

// Renew replaces the host's state by one restored from its snapshot. A policy loses by this
// whatever it remembers outside the state.
func (r *Run) Renew() error {
	state, err := backfill.Restore(r.Host.State.Snapshot())
	if err != nil {
		return fmt.Errorf("pool %d, round %d: %w", r.seed, r.rounds, err)
	}
	r.Host.State = state
	return nil
}

// Branch creates a run that continues from this one on the given state, a clone of this run's, with
// another decider, and with other events, which follow from another seed.
func (r *Run) Branch(seed uint64, state *backfill.State, main backfill.Decider) (*Run, error) {
	b, err := Start(r.seed, main)
	if err != nil {
		return nil, err
	}
	b.Driver, b.Host.State, b.rounds = r.Driver.Branch(seed), state, r.rounds
	b.guarantees, b.runs, b.headPlan, b.shrunk = maps.Clone(r.guarantees), maps.Clone(r.runs), maps.Clone(r.headPlan),
		r.shrunk
	return b, nil
}

// drain continues without arrivals, each job ending when expected, until no job waits. It reports a
// job that waits although nothing more can happen, or that still waits after more than 1,000
// rounds.
func (r *Run) drain(ctx context.Context, promises []Promise) error {
	for patience := 1000; ; patience-- {
		state := r.Host.State
		now := state.NextWake()
		stuck := now == backfill.Forever
		if stuck {
			now = state.Now() + 1
		}
		round := backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Wake}}}
		for _, j := range state.Snapshot().Jobs {
			if j.Running && j.End <= now {
				round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID})
			}
		}
		if err := r.step(ctx, round, promises); err != nil || r.broken() {
			return err
		}
		left := r.Host.State.FirstWaiting(1)
		switch {
		case len(left) == 0:
			r.heldForGood()
			return nil
		case patience == 0 || stuck && r.Host.State.RunningJobs() == 0 && r.Host.State.NextWake() == backfill.Forever:
			if r.startless(left[0]) {
				return nil
			}
			r.find(Drains, left[0],
				"job %d waits for good, though no more jobs come and it could run (%d wait, %d run)",
				left[0].ID, r.Host.State.Waiting(), r.Host.State.RunningJobs())
			return nil
		}
	}
}

// heldForGood reports a job that the policy holds although it could run.
func (r *Run) heldForGood() {
	empty := newGrid(endless(r.snap), 1)
	for _, j := range r.snap.Jobs {
		if j.Held != "" && !backfill.NeverFits(j.Held) && empty.fits(j.Job, r.snap.Now) {
			r.find(Drains, j.Job, "job %d is held for good (%s), though it could run", j.Job.ID, j.Held)
		}
	}
}

// broken reports whether a finding is of a mandatory rule.
func (r *Run) broken() bool {
	return slices.ContainsFunc(r.findings, func(f Finding) bool { return !f.Rule.Advice() })
}

// find records that the last round broke a rule, about job j or, if j is nil, about none.
func (r *Run) find(rule Rule, j *backfill.Job, format string, args ...any) {
	var id *backfill.JobID
	if j != nil {
		id = &j.ID
	}
	r.note(rule, r.decision.Now, id, format, args...)
}

func (r *Run) note(rule Rule, now backfill.Time, job *backfill.JobID, format string, args ...any) {
	if !slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Rule == rule }) {
		r.findings = append(r.findings, Finding{
			Rule: rule, Seed: r.seed, Round: r.rounds, Now: now, Job: job,
			Text: fmt.Sprintf(format, args...),
		})
	}
}
