package backfill

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Transaction is a round that is open on a state. The policy is given its [Cycle]. Whoever opened
// the transaction replays a journal in it, accepts it with [Transaction.Close], or takes it back
// with [Transaction.Rollback]. It must not be used after the next one was opened on the state.
type Transaction struct {
	*Cycle
	ended  error // how it ended; nil while it is open
	breaks bool  // see Host.BreakOff
	most   int64 // the same
}

var (
	errOpen       = errors.New("a cycle is open on the state: close it or roll it back first")
	errClosed     = errors.New("the cycle is over")
	errRolledBack = errors.New("the cycle was rolled back")
)

// maxSpare is the largest size of a buffer that is kept for the next round.
const maxSpare = 4096

// leastOlds is for how many old records room is made at first.
const leastOlds = 16

// Open begins a round on the state. It returns an error, and changes nothing, if another cycle is
// open on the state, or if the round contradicts itself or the state: time runs backwards, a job
// that does not run completes, an unknown slot is lost.
func (s *State) Open(r Round) (*Transaction, error) { return s.begin(&r) }

// begin is Open without a copy of the round.
func (s *State) begin(r *Round) (*Transaction, error) {
	if s.open {
		return nil, errOpen
	}
	if err := s.validate(r); err != nil {
		return nil, err
	}
	t := s.spare
	if t == nil {
		t = &Transaction{Cycle: new(Cycle)}
	}
	t.ended, t.breaks, t.most = nil, false, 0
	c := t.Cycle
	actions, started, lanes := c.actions[:0], c.started[:0], c.lanes[:0]
	undo, olds := c.undo[:0], c.olds[:0]
	*c = Cycle{}
	c.s, c.round, c.before, c.memo = s, *r, s.now, s.memo
	c.actions, c.started, c.lanes, c.undo, c.olds = actions, started, lanes, undo, olds
	s.memo, s.spare, s.open = nil, nil, true
	if s.nextOpening(s.now) <= r.Now { // what did not fit may fit now, though nothing else has happened
		c.memo = nil
		s.queue.forgetSweep()
	}
	s.follow(r.moves, s.now)
	s.now = r.Now
	s.queue.pass(r.Now)
	s.profile.AskFrom(r.Now)
	for _, b := range r.Bundles {
		s.addBundle(b)
		c.onUndo(s.dropLastBundle)
	}
	for _, set := range r.Candidates {
		candidates := set.Candidates
		old := s.setCandidates(set.ID, &candidates)
		c.onUndo(func() { s.unsetCandidates(set.ID, old) })
	}
	c.setRows(r.Rows)
	if r.Planning != nil {
		c.setPlanning(*r.Planning)
	}
	c.rekey(r.Keys)
	if len(s.wakes) > 0 && s.wakes[0] <= r.Now {
		old := s.wakes
		c.onUndo(func() { s.wakes = old })
		i, _ := slices.BinarySearch(s.wakes, r.Now+1)
		s.wakes = s.wakes[i:]
	}
	return t, nil
}

// State returns the state that the transaction is open on.
func (t *Transaction) State() *State { return t.s }

// Round returns the round that the transaction was opened with.
func (t *Transaction) Round() Round { return t.round }

// Replay repeats the actions of a journal, each after as many events as its After says. It stops at
// the first impossible one and returns the error, or the cause when ctx ends; the cycle has failed
// then. It looks at ctx before each action and each event, since one alone may take milliseconds.
func (t *Transaction) Replay(ctx context.Context, actions []Action) error {
	c := t.Cycle
	for i, a := range actions {
		if a.After < c.applied || a.After > len(c.round.Events) {
			c.fail("the journal goes from event %d to %d of %d", c.applied, a.After, len(c.round.Events))
		}
		for c.err == nil && c.applied < a.After && ctx.Err() == nil {
			c.Next()
		}
		if ctx.Err() != nil {
			c.fail("replayed %d of %d actions: %w", i, len(actions), context.Cause(ctx))
		}
		if c.replay(a); c.err != nil {
			return c.err
		}
	}
	return nil
}

func (c *Cycle) replay(a Action) {
	j := &Job{ID: a.Job}
	if r, ok := c.s.jobs.Get(a.Job); ok {
		j = r.job
	}
	switch a.Kind {
	case ActStart:
		c.Start(j, a.Placement)
	case ActReserve:
		c.Reserve(j, a.At, a.Placement)
	case ActRelease:
		c.Release(j)
	case ActGuarantee:
		c.Guarantee(j, a.At)
	case ActHold:
		c.Hold(j, a.Reason)
	case ActWake:
		c.Wake(a.At)
	case ActKeepFreed:
		c.Fast().KeepFreed(a.At)
	default:
		c.fail("unknown action %d", a.Kind)
	}
}

// Close applies the events that the policy did not take and ends the cycle. Either the decision is
// accepted and its actions stay, or an error says why it is refused and the state is as it was when
// the cycle was opened.
func (t *Transaction) Close() (Decision, error) {
	var d Decision
	err := t.close(&d)
	return d, err
}

// close is Close with a place for the decision, which it leaves as it is if it returns an error.
func (t *Transaction) close(d *Decision) error {
	c := t.Cycle
	if t.ended != nil {
		return t.ended
	}
	for c.err == nil && c.applied < len(c.round.Events) {
		c.Next()
	}
	if c.err == nil {
		c.err = c.settle()
	}
	if c.err == nil {
		c.giveWay()
	}
	if c.err != nil {
		err := c.err
		t.Rollback()
		return err
	}
	c.s.revision++
	c.s.memo, c.s.void = c.remembered, c.void
	c.s.profile.Forget(c.round.Now)
	c.s.freed.forget(c.round.Now)
	c.classify()
	replaced := c.replaced() // the old records are valid no longer than the cycle
	t.end(errClosed)
	d.Now, d.Revision, d.Held, d.Broken = c.round.Now, c.s.revision, c.stillHeld(), c.broken
	d.Lifted, d.Replaced = c.lifted, replaced
	if d.Actions = nil; len(c.actions) > 0 {
		d.Actions = c.actions
	}
	if d.Started = nil; len(c.started) > 0 {
		d.Started = c.started
	}
	return nil
}

// change is one change of the state, with what undoes it: the old record of a job, nil if there was
// no such job, or for other changes a function.
type change struct {
	job JobID
	old *record // in Cycle.olds: a million jobs that arrive at once have none, and records are large
	do  func()
}

// set replaces a job's record and keeps the old one for a rollback. A record without a job removes
// the job.
func (c *Cycle) set(id JobID, now *record) { _ = c.put(id, now, unchecked) }

// put is set; it returns an error and changes nothing if the new place must fit and is not free.
func (c *Cycle) put(id JobID, now *record, room room) error {
	if c.s.queue.moving && now.job != nil && now.phase != waiting { // it keeps the key that it has now
		if r := c.s.jobs.Find(id); r != nil && r.in(waiting) && r.job == now.job {
			now.key = c.s.keyOf(r)
		}
	}
	n := len(c.olds)
	if n == cap(c.olds) { // the old records so far stay where they are
		n, c.olds = 0, make([]record, 0, min(max(2*n, leastOlds), maxSpare))
	}
	old := &c.olds[:n+1][n] // filled in place, because copies of records cost much
	if err := c.s.set(id, now, room, old); err != nil {
		return err
	}
	if c.s.freed.keep > 0 {
		c.recordFreed(old, now)
	}
	if c.onSlots != nil && now.placement != nil {
		c.onSlots.add(id, now.placement)
	}
	if old.job != nil {
		c.olds = c.olds[:n+1]
	} else {
		old = nil
	}
	c.undo = append(c.undo, change{job: id, old: old})
	return nil
}

func (c *Cycle) onUndo(f func()) { c.undo = append(c.undo, change{do: f}) }

// Rollback ends the cycle and undoes all that it changed in the state; only the policy's memo is
// lost. It does nothing if the cycle has ended already.
func (t *Transaction) Rollback() {
	if t.ended != nil {
		return
	}
	c := t.Cycle
	c.s.now = c.before // who may start yet is by this instant
	c.s.queue.pass(c.before)
	for _, u := range slices.Backward(c.undo) {
		if u.do != nil {
			u.do()
		} else {
			_ = c.s.set(u.job, cmp.Or(u.old, new(record)), unchecked, new(record))
		}
	}
	c.s.queue.forgetSweep() // it was at the cycle's instant, and the next may be an earlier one
	c.s.left.forget()
	t.end(errRolledBack)
}

// end makes the cycle refuse all further actions with the given error, and keeps its memory for the
// next one.
func (t *Transaction) end(why error) {
	c := t.Cycle
	t.ended, c.s.open = why, false
	c.s.queue.list()
	c.s.planned.merge() // between cycles, reading a state must not write to it
	c.s.followOpenings()
	c.undo, c.err = c.undo[:0], why
	if cap(c.actions) <= maxSpare && cap(c.undo) <= maxSpare && cap(c.lanes) <= maxSpare {
		c.s.spare = t
	}
}
