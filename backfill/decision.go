package backfill

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Cause is why a guarantee did not bind.
type Cause uint8

// The only causes that lift a guarantee.
const (
	CauseNone Cause = iota
	CauseSlotLost
	CauseSlotChanged
	CauseOverrun
	CauseStartFailed
	CauseStartLate
	CauseJobChanged
	CausePolicyChanged
)

var causeNames = [...]string{"none", "slot lost", "slot changed", "overrun", "start failed", "start late", "job changed", "policy changed"}

func (c Cause) String() string { return nameOf(causeNames[:], int(c)) }

// nameOf is a name by its number, whatever number another process sent.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown " + strconv.Itoa(i)
}

// How says in which way a job came to start.
type How uint8

// The ways, as algorithms and papers count them.
const (
	// ByQueue: it came to the front of the queue.
	ByQueue How = iota
	// AtHead: no other job waited when it arrived.
	AtHead
	// ByBackfill: after the starts of its round a job that is earlier in the
	// queue's order still waits.
	ByBackfill
)

var howNames = [...]string{"queue", "head", "backfill"}

func (h How) String() string { return nameOf(howNames[:], int(h)) }

// Started is a job that a decision starts.
type Started struct {
	Job       *Job
	Placement Placement
	How       How
	Promised  bool
	Guarantee Time // the latest start, if Promised

	key   float64
	alone bool
}

// Broken is a guarantee that could not be kept.
type Broken struct {
	Job           *Job
	Promised, Now Time // the latest start as it was and as it is
	Cause         Cause
}

// HeldJob is a job that left the queue without running.
type HeldJob struct {
	Job    *Job
	Reason string
}

// ReasonNeverFits is why the state itself holds a job that not even an empty
// pool could run. It returns by itself when the slots or its candidates come to
// fit it.
const ReasonNeverFits = "fits on no slot of the pool, even an empty one"

// Decision is an accepted round: what the policy did, and what follows.
type Decision struct {
	Now      Time
	Revision uint64 // of the state that it led to
	By       string // the policy that took it
	// Actions are the journal. It holds until the next cycle is opened on the
	// state.
	Actions []Action
	Started []Started
	Held    []HeldJob
	Broken  []Broken
}

var errCycleOver = errors.New("the cycle is over")

// Close ends the cycle. The decision is accepted, and the state is what it made
// of it, or refused whole, and the state is as it was when the cycle was
// opened. Events that the policy did not take are applied.
func (c *Cycle) Close() (Decision, error) {
	for c.err == nil {
		if _, more := c.Next(); !more {
			break
		}
	}
	if c.err == nil {
		c.err = c.settle()
	}
	if c.err == nil {
		c.giveWay()
	}
	if c.err != nil {
		err := c.err
		c.Rollback()
		return Decision{}, err
	}
	c.s.revision++
	c.s.memo, c.s.void = c.remembered, c.void
	c.s.profile.Forget(c.round.Now)
	c.s.freed.forget(c.round.Now)
	c.classify()
	c.end(errCycleOver)
	d := Decision{Now: c.round.Now, Revision: c.s.revision, Started: c.started, Held: c.stillHeld(), Broken: c.broken}
	if len(c.actions) > 0 {
		d.Actions = c.actions
	}
	return d, nil
}

// settle checks what only the end of a round can show: no planned start was
// left unused, and every guarantee holds or was lifted.
func (c *Cycle) settle() error {
	if p, ok := c.s.planned.Min(); ok && p.at <= c.round.Now {
		return fmt.Errorf("job %d is planned for %d and was not started", p.job.ID, p.at)
	}
	if !c.s.guarantees {
		return nil
	}
	for _, b := range c.broken { // by starts
		if b.Cause == CauseNone {
			return fmt.Errorf("job %d starts at %d, but was promised to start at %d at the latest", b.Job.ID, b.Now, b.Promised)
		}
	}
	for _, u := range c.undo {
		r := c.s.jobs.Find(u.job)
		switch {
		case u.do != nil || r == nil:
		case r.phase == waiting:
			if err := c.keepGuarantee(r); err != nil {
				return err
			}
		case r.phase == held && r.promised:
			next := *r
			next.promised, next.guarantee = false, 0
			c.set(r.job.ID, &next)
		}
	}
	return nil
}

// giveWay puts the ends of the jobs that were backfilled where their runs are expected
// to end, and gives up the reservations that do not hold any more. What the policy
// remembers rests on what was; in the next cycle it makes other reservations.
func (c *Cycle) giveWay() {
	if len(c.backfilled) == 0 {
		return
	}
	c.remembered = nil
	var slots []SlotID
	for _, p := range c.backfilled {
		next, _ := c.s.jobs.Get(p.job.ID)
		next.end = p.at
		c.set(p.job.ID, &next)
		slots = append(slots, slotsOf(next.placement)...)
	}
	were := map[JobID]record{}
	c.s.planned.Scan(func(p planned) bool {
		were[p.job.ID], _ = c.s.jobs.Get(p.job.ID)
		return true
	})
	for _, p := range c.displace(slots, CauseOverrun) {
		c.void = append(c.void, were[p.job.ID])
	}
}

// stillHeld lists the jobs that were held and are so in the end, each once: a
// later event of the round may have brought one back, edited or removed it.
func (c *Cycle) stillHeld() (jobs []HeldJob) {
	for _, h := range c.held {
		r, ok := c.s.jobs.Get(h.Job.ID)
		is := ok && r.job == h.Job && r.phase == held
		if is && !slices.ContainsFunc(jobs, func(o HeldJob) bool { return o.Job == h.Job }) {
			jobs = append(jobs, HeldJob{Job: r.job, Reason: r.hold})
		}
	}
	return jobs
}

// keepGuarantee checks one waiting job's guarantee, or promises anew what was
// lifted.
func (c *Cycle) keepGuarantee(r *record) error {
	switch {
	case r.placement == nil:
		return fmt.Errorf("job %d is left without a reservation, and the policy gives guarantees", r.job.ID)
	case r.lifted == CauseNone && !r.promised:
		return fmt.Errorf("job %d was given no guarantee", r.job.ID)
	case r.lifted == CauseNone && r.start > r.guarantee:
		return fmt.Errorf("job %d is planned for %d, but was promised to start at %d at the latest", r.job.ID, r.start, r.guarantee)
	case r.lifted == CauseNone:
		return nil
	}
	next := *r
	next.lifted = CauseNone
	if late := r.promised && r.start > r.guarantee; late || !r.promised {
		next.promised, next.guarantee = true, r.start
		if late {
			c.broken = append(c.broken, Broken{Job: r.job, Promised: r.guarantee, Now: r.start, Cause: r.lifted})
		}
	}
	c.set(r.job.ID, &next)
	return nil
}

// overtakes reports whether a job that comes before the started one still waits:
// by the queue's order, or by the order of jobs where that is what was promised.
func (c *Cycle) overtakes(s *Started) (overtakes bool) {
	first, waits := c.s.queue.Min()
	last, _ := c.s.queue.Max()
	if !c.s.guarantees || first.key == s.key && last.key == s.key { // equal keys are in order of jobs
		return waits && cmp.Or(cmp.Compare(first.key, s.key), Compare(first.job, s.Job)) < 0
	}
	c.s.queue.Scan(func(q queued) bool {
		overtakes = Compare(q.job, s.Job) < 0
		return !overtakes
	})
	return overtakes
}

// classify says how each started job came to start.
func (c *Cycle) classify() {
	for i := range c.started {
		s := &c.started[i]
		switch {
		case c.overtakes(s):
			s.How = ByBackfill
		case s.alone:
			s.How = AtHead
		default:
			s.How = ByQueue
		}
	}
}
