package backfill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Decider decides the rounds of a [Host]: a linked-in policy ([Linked]) or one
// in another process.
type Decider interface {
	// Spec describes the policy. New is nil if the policy runs in another process.
	Spec() PolicySpec
	// Decide acts on the open cycle; the host closes it. An error means that no decision was made.
	Decide(ctx context.Context, t *Transaction) error
	// Decided reports how a round ended, so that a copy of the state in another process can follow.
	// The parameter own is true if the decision is this decider's own and not the fallback's. The
	// round's events and the decision's actions are valid only until Decided returns.
	Decided(r Round, d Decision, own bool)
}

// Linked is a decider whose policy runs in this process.
type Linked struct {
	spec    PolicySpec
	options map[string]string
	policy  Policy
}

// Link creates a linked-in policy with the given options.
func Link(spec PolicySpec, options map[string]string) (*Linked, error) {
	p, err := spec.Make(options)
	if err != nil {
		return nil, err
	}
	return &Linked{spec: spec, options: maps.Clone(options), policy: p}, nil
}

// Repeatable is a decider that can create further deciders of the same policy. Each goroutine needs
// its own, because a decider serves only one goroutine at a time.
type Repeatable interface {
	Decider
	// Again creates another decider of the same policy with the same options. If it can be closed,
	// the caller closes it after use.
	Again(ctx context.Context) (Decider, error)
}

// Again creates another decider of the same policy with the same options.
func (l *Linked) Again(context.Context) (Decider, error) { return Link(l.spec, l.options) }

// Options are the options that were given to the policy.
func (l *Linked) Options() map[string]string { return l.options }

// Spec describes the policy.
func (l *Linked) Spec() PolicySpec { return l.spec }

// Decide lets the policy act. Its panic is an error, of type [*PanicError]: whoever is the host goes
// on. In a round that may be broken off, see [Host.BreakOff], the error is the cause of the context
// once that ends.
func (l *Linked) Decide(ctx context.Context, t *Transaction) (err error) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case *profile.BrokenOff:
			err = fault
		default:
			err = &PanicError{Policy: l.spec.Name, Value: fault, Stack: debug.Stack()}
		}
	}()
	if t.breaks {
		t.s.profile.BreakOff(t.over(ctx))
		defer t.s.profile.BreakOff(nil)
	}
	l.policy.Decide(t.Cycle)
	return nil
}

// PanicError says that a linked-in policy panicked, and where.
type PanicError struct {
	Policy string
	Value  any
	Stack  []byte
}

// Error names the policy and says with what it panicked.
func (e *PanicError) Error() string { return fmt.Sprintf("policy %s panicked: %v", e.Policy, e.Value) }

// Decided does nothing: a linked-in policy sees the host's own state.
func (l *Linked) Decided(Round, Decision, bool) {}

// ErrGivenUp is wrapped by the error of a [Decider] that will never decide again and has to be
// replaced.
var ErrGivenUp = errors.New("given up")

// Host owns a state and lets a policy decide each round. It checks every decision; if one is
// refused, the fallback decides the same round at once. A policy that fails in 100 rounds running, or
// in more than 100 of 10,000, is given up: the fallback decides all rounds until [Host.Change].
type Host struct {
	State *State
	order Order
	keyed bool  // all jobs of the state have their keys from this order
	moves Moves // what changes some job's key; with time: otherwise than along a curve
	lines bool  // the keys of some jobs move along curves
	bare  bool  // those of others do not
	// byJobs says that all keys are 0, as the policy needs its queue in order of jobs.
	byJobs   bool
	planning *Planning // nil: as the state has it
	main     Decider
	spec     PolicySpec // of main
	// fallback decides a round when the main policy's decision is refused.
	fallback Decider
	refused  func(Refusal)
	patience patience      // with main
	breaks   bool          // see BreakOff
	most     int64         // bytes of a plan; 0: any number
	over     func() error  // of the round, if it may be broken off
	givenUp  error         // why main is not asked any more; nil: it is
	lets     bool          // the next round lets the jobs wait again that a former policy held
	events   []Event       // buffer for the events of a round
	watch    func(Settled) // what is told of rounds; may be nil
	long     int           // from how many waiting jobs on keys move along lines
	walks    int           // rounds in which they did and all were sorted, less those in which not
	failure  error         // of the round under way: why main's decision did not count
}

// NewHost creates a host whose active policy is main. It returns an error unless main and fallback
// both give guarantees or both give none. A nil order means first come, first served. The callback
// refused, which may be nil, is called for each refused decision of main.
func NewHost(s *State, order Order, main, fallback Decider, refused func(Refusal)) (*Host, error) {
	if m, f := main.Spec(), fallback.Spec(); m.Guarantees != f.Guarantees {
		return nil, fmt.Errorf("policy %s cannot fall back to %s: one of them gives guarantees and the other does not",
			m.Name, f.Name)
	}
	if order == nil {
		order = fixed(func(*Job) float64 { return 0 })
	}
	if refused == nil {
		refused = func(Refusal) {}
	}
	if s != nil { // the caller may set the state later
		s.memo = nil // it belongs to the previous policy, which may have the same name
	}
	return &Host{
		State: s, order: order, main: main, spec: main.Spec(), fallback: fallback, refused: refused, long: manyMoving,
	}, nil
}

// Change replaces the active policy, its fallback and the order from the next round on. Running and
// waiting jobs stay. If the name of the policy changes, or whether it gives guarantees, a
// PolicyChanged event announces it. Between two policies that give guarantees, reservations and
// guarantees are carried over. One that gives none lifts all, see [Decision.Lifted]; if one that
// does follows it, each waiting job is promised a start in order of jobs, as at its arrival. Jobs
// that a policy held wait again, for the new one to hold them or not. The keys of all jobs are
// computed again. The errors are those of [NewHost]; nothing changes then.
func (h *Host) Change(order Order, main, fallback Decider) error {
	next, err := NewHost(h.State, order, main, fallback, h.refused)
	if err != nil {
		return err
	}
	next.events, next.planning, next.breaks, next.most = h.events, h.planning, h.breaks, h.most
	next.watch, next.long = h.watch, h.long
	next.lets = true
	*h = *next
	return nil
}

// SetPlanning sets, from the next round on, how far the policy plans. Until then a host leaves that as it is
// in the state. A policy that does not follow [Planning] plans all waiting jobs all the same.
func (h *Host) SetPlanning(p Planning) { h.planning = &p }

// follows returns how far the policy plans, in a state that has the given planning so far.
func (h *Host) follows(before Planning) Planning {
	switch {
	case !h.spec.Guarantees || !h.spec.PlanDepth:
		return Planning{}
	case h.planning != nil:
		return *h.planning
	default:
		return before
	}
}

// rank settles whether the keys come from the order, under the given planning.
func (h *Host) rank(p Planning) {
	if byJobs := h.spec.IgnoresOrder && !p.Reorder; byJobs != h.byJobs {
		h.byJobs, h.keyed, h.moves, h.lines, h.bare = byJobs, false, Moves{}, false, false
	}
}

// Decide lets the policy decide one round and returns the decision. The events may come in any
// order. The host adds the events that follow from the passing of time: overruns, also of jobs that
// are found, planned starts that were missed, and jobs that may start from now on. A found job whose expected end is not after now
// gets a later one. An error means that the round contradicts itself or the state, that the context
// ended, or that the fallback failed too; the state is then unchanged.
func (h *Host) Decide(ctx context.Context, r Round) (Decision, error) {
	if h.breaks {
		h.over = over(ctx)
		defer func() { h.over = nil }()
	}
	r.Events = append(h.events[:0], r.Events...) // a copy, because they are completed and sorted here
	if spec := &h.spec; h.State.policy != spec.Name || h.State.guarantees != spec.Guarantees {
		r.Events = append(r.Events, Event{Kind: PolicyChanged, Policy: spec.Name, Guarantees: spec.Guarantees})
		if spec.Guarantees && !h.State.guarantees {
			r.Events = append(r.Events, h.State.unpredicted(&r)...)
		}
		h.lets = true
	}
	if h.lets {
		r.Events = append(r.Events, h.State.heldByPolicy(&r)...)
	}
	planning := h.follows(h.State.planning)
	if planning != h.State.planning {
		changed := planning // on its own, as most rounds change nothing
		r.Planning = &changed
	}
	h.rank(planning)
	at := Moment{Now: r.Now, Capacity: h.State.capacityAfter(r.Events)}
	returning := slices.ContainsFunc(r.Events, Event.returns)
	r.Events = append(r.Events, h.State.elapsed(&r)...)
	r.Events = append(r.Events, h.State.rematched(&r)...)
	r.Events = append(r.Events, h.State.resized(&r)...)
	r.Events = append(r.Events, h.State.comeOfAge(&r)...)
	if len(r.Rows) > 0 { // a policy is told by an event that there may be room
		r.Events = append(r.Events, Event{Kind: Wake})
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Job != nil && e.Job.validate(len(h.State.resources)) == nil {
			h.rankEvent(e, at) // invalid jobs have no key; the round will be refused
			if e.Kind == Found && e.End <= r.Now {
				e.End = ExpectedEnd(e.Job, e.Job.runs(h.spec.Guarantees), e.Start, r.Now)
			}
		}
	}
	r.moves = h.movesAlong() && len(r.Keys) == 0 // keys that are told hold for this round, as no line does
	if keys := h.keys(&r, at, returning); len(keys) > 0 {
		r.Keys = append(keys, r.Keys...)
	}
	h.State.sortEvents(r.Events)
	if h.events = r.Events; len(h.events) > maxSpare {
		h.events = nil
	}

	if h.over != nil {
		if err := h.over(); err != nil {
			return Decision{}, err
		}
	}
	var d Decision
	own, err := h.decide(ctx, &r, &d)
	if err != nil {
		return Decision{}, err
	}
	h.keyed, h.lets = true, false
	h.noteWalk()
	h.main.Decided(r, d, own)
	h.settled(&r, &d, own)
	return d, nil
}

// keys returns the keys that differ from those in the state when the round opens. A host's first
// round checks all jobs, since another order may have given them their keys. If keys change with the
// pool's capacity, a round that changes it checks all jobs, so that the keys of all are those of the
// present capacity. If they change with time, each round checks the jobs that wait, unless their keys
// move along lines, and a round in which jobs may return to the queue checks all others, too.
func (h *Host) keys(r *Round, at Moment, returning bool) []JobKey {
	var keys []JobKey
	ask := func(rec *record) bool {
		key, curve := h.key(rec.job, at)
		along := rec.line
		if along == nil || along.Curve != curve {
			along = newLine(curve)
		}
		if key == rec.key {
			key = rec.key // a zero keeps its sign, as it is not told anew
		}
		if key != rec.key || along != rec.line {
			keys = append(keys, JobKey{rec.job.ID, key, along})
		}
		return true
	}
	withTime := h.moves.WithTime || h.lines
	switch {
	case !h.keyed, withTime && returning,
		h.moves.WithCapacity && !slices.Equal(at.Capacity, h.State.capacity):
		h.State.jobs.Scan(func(_ JobID, rec *record) bool { return r.moves && rec.phase == waiting || ask(rec) })
	case withTime && !r.moves:
		keys = make([]JobKey, 0, h.State.queue.Len())
		h.State.queue.ascend(nil, func(q queued) bool { return ask(h.State.jobs.Find(q.job.ID)) })
	}
	if r.moves || !withTime {
		for _, id := range r.Reordered {
			if known := h.State.jobs.Find(id); known != nil && known.phase == waiting {
				ask(known)
			}
		}
	}
	return keys
}

// untold reports whether nobody is told of the rounds.
func (h *Host) untold() bool {
	_, main := h.main.(*Linked)
	_, fallback := h.fallback.(*Linked)
	return main && fallback && h.watch == nil
}

// key returns a job's key, and the curve along which it moves if the state is to know; it notes in the
// host what changes the key.
func (h *Host) key(j *Job, at Moment) (key float64, curve Curve) {
	if h.byJobs || h.over != nil && h.over() != nil { // a round that is over is not decided
		return 0, Curve{}
	}
	key, moves := h.order(j, at)
	h.moves.WithCapacity = h.moves.WithCapacity || moves.WithCapacity
	if moves.Curve.kind != noCurve && h.untold() {
		h.lines = true
		return key, moves.Curve
	}
	h.moves.WithTime, h.bare = h.moves.WithTime || moves.WithTime, true
	return key, Curve{}
}

// rankEvent gives the job of an event its key.
func (h *Host) rankEvent(e *Event, at Moment) {
	key, curve := h.key(e.Job, at)
	e.Key, e.line = key, newLine(curve)
}

// capacityAfter returns the capacity of the slots that are up after the events of a round, which may
// be in any order and are not validated yet. The result must not be changed.
func (s *State) capacityAfter(events []Event) Vector {
	var last map[SlotID]*Event // of each slot, the one that is applied last
	for i := range events {
		e := &events[i]
		if e.Kind != SlotAdded && e.Kind != SlotLost && e.Kind != SlotChanged {
			continue
		}
		if last == nil {
			last = map[SlotID]*Event{}
		}
		if before := last[e.Slot.ID]; before == nil || before.Kind.class() <= e.Kind.class() {
			last[e.Slot.ID] = e
		}
	}
	if last == nil {
		return s.capacity
	}
	capacity := slices.Clone(s.capacity)
	for id, e := range last {
		if id >= 0 && int(id) < len(s.slots) && s.profile.Up(id) {
			capacity.AddScaled(s.slots[id].Capacity, -1)
		}
		if e.Kind != SlotLost && len(e.Slot.Capacity) == len(capacity) {
			capacity.AddScaled(e.Slot.Capacity, 1)
		}
	}
	return capacity
}

// returns reports whether the event may bring jobs back to the queue other than the one in its
// field Job.
func (e Event) returns() bool {
	switch e.Kind {
	case SlotAdded, SlotLost, SlotChanged, StartFailed:
		return true
	default:
		return false
	}
}

// decide stores the decision in d, and reports whether it is the main policy's own. The round and
// the decision are passed by address because copies would be a large part of what a round costs.
func (h *Host) decide(ctx context.Context, r *Round, d *Decision) (own bool, err error) {
	h.failure = nil
	if h.State.idle(r) {
		return false, h.take(ctx, r, nothing{}, d)
	}
	main := h.main
	if h.givenUp != nil {
		main = failing{h.givenUp}
	}
	if err = h.take(ctx, r, main, d); err == nil {
		h.patience.succeeded()
		d.By = h.spec.Name
		return true, nil
	}
	var refused *refusedError
	if !errors.As(err, &refused) {
		return false, err
	}
	if ctx.Err() != nil { // whatever error the decider returned
		return false, errors.Join(context.Cause(ctx), err)
	}
	if errors.Is(err, ErrTooLarge) {
		return false, err
	}
	h.failure = refused.err
	if err = refused.err; h.givenUp == nil {
		if err = h.patience.failedWith(err); errors.Is(err, ErrGivenUp) {
			h.givenUp = err
			h.letWait(r)
		}
	}
	fallback := h.fallback.Spec().Name
	h.refused(Refusal{Now: r.Now, Policy: h.spec.Name, Fallback: fallback, Err: err})
	if err = h.take(ctx, r, h.fallback, d); err != nil {
		if ctx.Err() != nil {
			return false, errors.Join(context.Cause(ctx), err)
		}
		return false, fmt.Errorf("fallback policy %s failed as well: %w", fallback, err)
	}
	d.By = fallback
	h.State.memo = nil // the fallback's memo is not for the main policy
	return false, nil
}

// letWait adds to a round that main was given up in what lets the jobs wait again that it held.
func (h *Host) letWait(r *Round) {
	h.lets = true // until a round is decided
	events := h.State.heldByPolicy(r)
	at := Moment{Now: r.Now, Capacity: h.State.capacityAfter(r.Events)}
	for i := range events {
		h.rankEvent(&events[i], at)
	}
	r.Events = append(r.Events, events...)
	h.State.sortEvents(r.Events)
}

// refusedError says that the round was valid but the decision was refused.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// take opens the round, lets the decider act, closes the round, and stores the decision in d. It
// returns a [refusedError] if the round was valid but the decider made no decision or an impossible
// one.
func (h *Host) take(ctx context.Context, r *Round, decider Decider, d *Decision) error {
	t, err := h.State.begin(r)
	if err != nil {
		return err
	}
	t.breaks, t.most = h.breaks, h.most
	if err = decider.Decide(ctx, t); err != nil {
		t.Rollback()
		return &refusedError{err}
	}
	if err = t.close(d); err != nil {
		return &refusedError{err}
	}
	return nil
}

// nothing decides the rounds in which the queue is empty: it takes no action.
type nothing struct{}

func (nothing) Spec() PolicySpec                           { return PolicySpec{} }
func (nothing) Decide(context.Context, *Transaction) error { return nil }
func (nothing) Decided(Round, Decision, bool)              {}

// failing decides no round, for the same reason each time.
type failing struct{ why error }

func (failing) Spec() PolicySpec                             { return PolicySpec{} }
func (f failing) Decide(context.Context, *Transaction) error { return f.why }
func (failing) Decided(Round, Decision, bool)                {}

// GivenUp returns why the policy is asked no more, so that the fallback decides; nil: it is asked.
func (h *Host) GivenUp() error { return h.givenUp }
