package backfill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Decider takes the decisions of a [Host]: a linked-in policy ([Linked]) or one
// in another process.
type Decider interface {
	// Spec is the policy's; a remote one has no New.
	Spec() Spec
	// Decide acts on the open cycle. An error means that it could not, and that
	// somebody else must.
	Decide(ctx context.Context, c *Cycle) error
	// Decided tells how a round ended, so that a copy of the state elsewhere can
	// follow. Own says that the decision is the one this decider took. The round's
	// events and the decision's actions hold until it returns.
	Decided(r Round, d Decision, own bool)
}

// Linked is a policy that runs in this process.
type Linked struct {
	spec    Spec
	options map[string]string
	policy  Policy
}

// Link makes a linked-in decider of a policy with the given options.
func Link(spec Spec, options map[string]string) (*Linked, error) {
	p, err := spec.Make(options)
	if err != nil {
		return nil, err
	}
	return &Linked{spec: spec, options: maps.Clone(options), policy: p}, nil
}

// Repeatable is a decider of which there can be more, for other goroutines: one
// serves one at a time.
type Repeatable interface {
	Decider
	// Again makes another decider of the same policy with the same options. Close it
	// after use if it can be closed.
	Again(ctx context.Context) (Decider, error)
}

// Again links the same policy in once more.
func (l *Linked) Again(context.Context) (Decider, error) { return Link(l.spec, l.options) }

// Spec is the policy's.
func (l *Linked) Spec() Spec { return l.spec }

// Decide lets the policy act.
func (l *Linked) Decide(_ context.Context, c *Cycle) error {
	l.policy.Decide(c)
	return nil
}

// Decided does nothing: a linked-in policy sees the host's own state.
func (l *Linked) Decided(Round, Decision, bool) {}

// ErrGivenUp is wrapped by the error of a [Decider] that will decide no more,
// whatever the rounds to come: only another one in its place will.
var ErrGivenUp = errors.New("given up")

// Refusal is a decision of the main policy that did not count, because it was
// not possible or was not given.
type Refusal struct {
	Now    Time
	Policy string
	Err    error
}

// Host owns a state and lets a policy decide on it, round by round. Every
// decision is checked; a refused round is decided at once by the fallback.
type Host struct {
	State *State
	order Order
	keyed bool // the jobs that the state had are in this order
	moves bool // time alone changes some job's key
	main  Decider
	// fallback decides what the main policy could not.
	fallback Decider
	refused  func(Refusal)
	events   []Event // room for those of a round
}

// NewHost puts a policy in charge of a state. The fallback must give guarantees
// if and only if the policy does. Without an order it is first come, first
// served. Refusals are reported to refused, if it is not nil.
func NewHost(s *State, order Order, main, fallback Decider, refused func(Refusal)) (*Host, error) {
	if m, f := main.Spec(), fallback.Spec(); m.Guarantees != f.Guarantees {
		return nil, fmt.Errorf("policy %s cannot fall back to %s: one of them gives guarantees and the other does not", m.Name, f.Name)
	}
	if order == nil || main.Spec().IgnoresOrder {
		order = fixed(func(*Job) float64 { return 0 })
	}
	if refused == nil {
		refused = func(Refusal) {}
	}
	if s != nil { // it may come later
		s.memo = nil // another policy's, or another's of the same name
	}
	return &Host{State: s, order: order, main: main, fallback: fallback, refused: refused}, nil
}

// Change puts another policy, its fallback and an order in charge, from the next
// round on. The state stays: what runs, waits, and is reserved. A policy of
// another name, or one that begins or ceases to give guarantees, is announced by
// PolicyChanged; one of the same name has to keep the guarantees that it finds.
// The order is asked for the keys of all jobs anew. An error changes nothing.
func (h *Host) Change(order Order, main, fallback Decider) error {
	next, err := NewHost(h.State, order, main, fallback, h.refused)
	if err != nil {
		return err
	}
	next.events = h.events
	*h = *next
	return nil
}

// Decide puts one round before the policy and returns what was decided. The
// events may come in any order; what the passing of time alone brings about
// (overruns, of jobs that are found too, and planned starts that were missed) is
// added here. A job that is found without an expected end gets one. An error means
// that the round cannot be true, that the context ended, or that the fallback
// failed as well; the state is then as it was.
func (h *Host) Decide(ctx context.Context, r Round) (Decision, error) {
	r.Events = append(h.events[:0], r.Events...) // they are completed and sorted here
	if spec := h.main.Spec(); h.State.policy != spec.Name || h.State.guarantees != spec.Guarantees {
		r.Events = append(r.Events, Event{Kind: PolicyChanged, Policy: spec.Name, Guarantees: spec.Guarantees})
		if spec.Guarantees && !h.State.guarantees {
			r.Events = append(r.Events, h.State.unpredicted(r)...)
		}
	}
	r.Keys = slices.Concat(h.keys(r), r.Keys)
	r.Events = append(r.Events, h.State.elapsed(r)...)
	r.Events = append(r.Events, h.State.rematched(r)...)
	for i := range r.Events {
		if e := &r.Events[i]; e.Spec != nil && e.Spec.validate(len(h.State.resources)) == nil {
			e.Key = h.key(e.Spec, r.Now) // of what is no job nothing can be said; the round is refused
			if e.Kind == Found && e.End <= r.Now {
				e.End = overrunEnd(e.Spec, e.Spec.runs(h.main.Spec().Guarantees), e.Start, r.Now)
			}
		}
	}
	h.State.sortEvents(r.Events)
	if h.events = r.Events; len(h.events) > maxSpare {
		h.events = nil
	}

	d, own, err := h.decide(ctx, r)
	if err != nil {
		return Decision{}, err
	}
	h.keyed = true
	h.main.Decided(r, d, own)
	return d, nil
}

// keys are the keys at the opening of a round that differ from those in the
// state. They are looked for where they can differ: in a host's first round
// everywhere, since another order may have placed the jobs; in later ones only if
// keys move, and then among the jobs that wait or may come back to the queue.
func (h *Host) keys(r Round) []JobKey {
	var keys []JobKey
	ask := func(j *Job, old float64) bool {
		if key := h.key(j, r.Now); key != old {
			keys = append(keys, JobKey{Job: j.ID, Key: key})
		}
		return true
	}
	switch {
	case !h.keyed || h.moves && slices.ContainsFunc(r.Events, Event.returns):
		h.State.jobs.Scan(func(_ JobID, r *record) bool { return ask(r.job, r.key) })
	case h.moves:
		h.State.queue.Scan(func(q queued) bool { return ask(q.job, q.key) })
	}
	return keys
}

// key asks the order for a job's key.
func (h *Host) key(j *Job, now Time) float64 {
	key, moves := h.order(j, now)
	h.moves = h.moves || moves
	return key
}

// returns says that the event may bring jobs back to the queue that it does not
// name.
func (e Event) returns() bool {
	switch e.Kind {
	case SlotAdded, SlotLost, SlotChanged, StartFailed:
		return true
	default:
		return false
	}
}

func (h *Host) decide(ctx context.Context, r Round) (d Decision, own bool, err error) {
	if h.State.idle(r) {
		d, err = h.State.take(ctx, r, nothing{})
		return d, false, err
	}
	d, err = h.State.take(ctx, r, h.main)
	if err == nil {
		return d, true, nil
	}
	var refused *refusedError
	if !errors.As(err, &refused) {
		return Decision{}, false, err
	}
	if ctx.Err() != nil { // whatever the decider makes of it
		return Decision{}, false, errors.Join(context.Cause(ctx), err)
	}
	h.refused(Refusal{Now: r.Now, Policy: h.main.Spec().Name, Err: refused.err})
	if d, err = h.State.take(ctx, r, h.fallback); err != nil {
		return Decision{}, false, fmt.Errorf("fallback policy %s failed as well: %w", h.fallback.Spec().Name, err)
	}
	h.State.memo = nil // not the main policy's
	return d, false, nil
}

// refusedError says that the round was fine and the decision was not.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// take opens the round, lets the decider act, and closes it.
func (s *State) take(ctx context.Context, r Round, by Decider) (Decision, error) {
	c, err := s.Open(r)
	if err != nil {
		return Decision{}, err
	}
	if err = by.Decide(ctx, c); err != nil {
		c.Rollback()
		return Decision{}, &refusedError{err}
	}
	d, err := c.Close()
	if err != nil {
		return Decision{}, &refusedError{err}
	}
	d.By = by.Spec().Name
	return d, nil
}

// nothing decides rounds in which there is nothing to decide.
type nothing struct{}

func (nothing) Spec() Spec                           { return Spec{} }
func (nothing) Decide(context.Context, *Cycle) error { return nil }
func (nothing) Decided(Round, Decision, bool)        {}

// idle reports whether the queue is empty before and after the round's events.
func (s *State) idle(r Round) bool {
	if s.queue.Len() > 0 {
		return false
	}
	for _, e := range r.Events {
		switch e.Kind {
		case Submitted, Changed, StartFailed, SlotLost:
			return false
		case SlotAdded, SlotChanged: // may bring held jobs back
			if s.held.Len() > 0 {
				return false
			}
		default:
		}
	}
	return true
}

// elapsed lists what the passing of time alone brings about: running jobs that
// have reached their expected end and are not known to have completed, and
// reservations whose start was missed.
func (s *State) elapsed(r Round) []Event {
	over := func(p planned, limit Time) bool { return p.at < limit }
	if first, ok := s.running.Min(); !ok || !over(first, r.Now+1) {
		if p, planned := s.planned.Min(); !planned || !over(p, r.Now) {
			return nil
		}
	}
	known := r.concerned()
	var events []Event
	s.running.Scan(func(p planned) bool {
		if over(p, r.Now+1) && !known.Has(p.job.ID) {
			rec, _ := s.jobs.Get(p.job.ID)
			events = append(events, Event{Kind: EstimateChanged, Job: p.job.ID, End: overrunEnd(p.job, p.job.runs(s.guarantees), rec.start, r.Now)})
		}
		return over(p, r.Now+1)
	})
	s.planned.Scan(func(p planned) bool {
		if over(p, r.Now) && !known.Has(p.job.ID) {
			events = append(events, Event{Kind: StartFailed, Job: p.job.ID})
		}
		return over(p, r.Now)
	})
	return events
}

// unpredicted lists the running jobs whose expected ends were predicted, for a policy
// that is to promise starts: they are planned with what they request from now on,
// but for those of which the round says something itself.
func (s *State) unpredicted(r Round) []Event {
	known := r.concerned()
	var events []Event
	s.running.Scan(func(p planned) bool {
		if p.job.Running != 0 && !known.Has(p.job.ID) {
			rec := s.jobs.Find(p.job.ID)
			events = append(events, Event{Kind: EstimateChanged, Job: p.job.ID, End: overrunEnd(p.job, p.job.limit(), rec.start, r.Now)})
		}
		return true
	})
	return events
}

// rematched lists the jobs that a changed candidate set moves: their reservation
// is on a slot that is no candidate any more, or they fitted somewhere and do
// not now, or the other way round.
func (s *State) rematched(r Round) []Event {
	if len(r.Candidates) == 0 {
		return nil
	}
	changed := map[int]*Candidates{}
	for i, set := range r.Candidates {
		if set.ID < len(s.candidates) {
			changed[set.ID] = &r.Candidates[i].Candidates
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if _, _, err := s.with(r); err != nil {
		return nil // the round will be refused
	}
	p := s.profileWith(r)
	known := r.concerned()
	var events []Event
	s.jobs.Scan(func(id JobID, rec *record) bool {
		if set := changed[rec.job.Candidates]; set != nil && !known.Has(id) && s.moves(p, rec, set) {
			events = append(events, Event{Kind: Changed, Spec: rec.job, Key: rec.key})
		}
		return true
	})
	return events
}

// moves reports whether a job cannot stay where it is with other candidates.
func (s *State) moves(p *profile.Profile, r *record, set *Candidates) bool {
	request := s.request(r.job)
	request.Candidates = set
	switch {
	case r.phase == running:
		return false
	case r.phase == held:
		return r.hold == ReasonNeverFits && p.EverFits(request)
	case r.placement != nil:
		return !p.Covers(request, r.placement)
	default:
		return !p.EverFits(request)
	}
}

// overrunEnd is when a job that has outlived what it was expected to run for is
// expected to end: that is doubled until it is later than now, up to the limit; past
// the limit, the limit is doubled.
func overrunEnd(j *Job, expected, start, now Time) Time {
	limit := j.limit()
	for _, step := range []Time{min(expected, limit), limit} {
		for end := step; end < Forever; end *= 2 {
			capped := end
			if step < limit {
				capped = min(end, limit)
			}
			if start+capped > now {
				return start + capped
			}
			if capped != end {
				break
			}
		}
	}
	return Forever
}
