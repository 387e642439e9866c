package track

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// unseen is for how long a claim may have no slot in the collector, whose ads are late.
const unseen = 5 * time.Second

// usesLease handles a job that runs under a lease, unless it is the holder of its claim. It returns
// false if the job runs like any other.
func (c *comparison) usesLease(j *Job, at []Place) bool {
	l := c.b.leaseFor(j, at)
	if l == nil {
		return false
	}
	claim := j.Group.Hosts[0]
	h, inPlace := c.b.lending.holders[claim], j.Phase == Running && slices.Equal(at, j.Places)
	switch another := h != nil && h.job.ID != j.ID; {
	case another && h.lease.lease == l: // even if it was about to get a claim of its own
		c.lent(j, h)
		return true
	case inPlace && j.lease == nil: // it is locked to its claim
		return false
	case inPlace:
		c.hold(j, claim)
		return false
	default:
		c.strangers = append(c.strangers, j)
		return true
	}
}

// hold makes a running job the holder of its claim.
func (c *comparison) hold(j *Job, claim string) {
	h := c.b.lending.holders[claim]
	if h != nil && h.job.ID == j.ID {
		h.start = j.Start
		return
	}
	if h != nil {
		c.letGo(h) // its claim is gone: the slot has a new one
	}
	c.b.lending.releaseJob(j.ID) // it has one place, whatever other claim it is said to run on
	c.b.lending.bind(c.holderOf(j), claim)
}

// holderOf makes a holder of a job's place.
func (c *comparison) holderOf(j *Job) *holder {
	return &holder{lease: j.lease, job: c.b.described(j), spec: j.Spec, start: j.Start, since: c.b.now.Began}
}

// lent notes that a job runs on a claim in the place of its holder: it is not in the plan.
func (c *comparison) lent(j *Job, h *holder) {
	if j.Phase == Lent {
		return
	}
	c.over(j)
	c.unhold(j)
	switch j.Phase {
	case Running: // it was on its way elsewhere, and its place there is free
		c.tellCompleted(j.ID)
		c.delta.Ran[j.ID] = unknownRun
	case Waiting:
		c.tellRemoved(j.ID)
	case Unknown, Lent:
	}
	if j.Phase != Unknown {
		c.renumber(j)
	}
	j.Spec, j.Places, j.servedBy = j.Group.Spec, []Place{{Slot: h.lease.Slot, Chunks: 1}}, nil
	j.Phase, j.Start = Lent, j.Group.Started
}

// strangersSettle finds the holders of claims on which jobs run that nobody chose: the schedd took
// them in place of the jobs that were chosen, which it may do under a lease. Such a job's place is
// that of a job which has not started, or was over before it was seen to run, and which needs as
// much. If there is none, the job becomes the holder itself once its slot names it.
func (c *comparison) strangersSettle() (again []*Job) {
	if len(c.strangers) == 0 {
		return nil
	}
	slices.SortFunc(c.strangers, (*Job).Compare)
	late := c.late()
	for _, j := range c.strangers {
		at := c.b.places(j.Group)
		l, claim := c.b.leaseFor(j, at), j.Group.Hosts[0]
		h := c.b.lending.take(l.Slot, func(h *holder) bool { return h.lease.lease == l && j.FitsIn(h.spec) })
		if h == nil {
			if displaced := c.displacedBy(j, late[l]); displaced != nil {
				h = c.takeOver(displaced)
				again = append(again, displaced)
			}
		}
		if h == nil && !c.b.s.Observe && !c.isNamed(j) { // it would be a place more
			c.withdraw(j)
			j.run.adrift = saidToRun(j)
			c.leaveOut(j, j.run.adrift)
			continue
		}
		if h == nil {
			c.over(j)
			c.unhold(j)
			j.lease, j.Places, j.Start = l.term(), at, min(cmp.Or(max(0, j.Group.Started), c.b.now.Now), c.b.now.Now)
			c.tellFound(negotiator.Running{Job: c.b.report(j, Running, j.idle(j.Start)), Placement: c.b.placement(at), Start: j.Start})
			c.hold(j, claim)
			continue
		}
		if old := c.b.lending.holders[claim]; old != nil && old != h {
			c.letGo(old)
		}
		c.b.lending.bind(h, claim)
		c.lent(j, h)
	}
	return again
}

// FitsIn tells whether a job, as its queue has it, needs no more on a slot than one of a Spec.
func (j *Job) FitsIn(s *observe.Spec) bool {
	for i, amount := range j.Group.Spec.Request {
		if amount > s.Request[i] {
			return false
		}
	}
	return true
}

// late returns the jobs that were to start under leases and do not run, by lease, sorted.
func (c *comparison) late() map[*lease][]*Job {
	late := map[*lease][]*Job{}
	for id := range c.flights {
		if j := c.b.byID[id]; j != nil && j.lease != nil && c.isLate(j) {
			late[j.lease.lease] = append(late[j.lease.lease], j)
		}
	}
	for _, jobs := range late {
		slices.SortFunc(jobs, (*Job).Compare)
	}
	return late
}

// isLate tells whether a job was to start, is still in its queue, and does not run.
func (c *comparison) isLate(j *Job) bool {
	return j.Phase == Running && !j.Group.Runs() && j.Seen(c.b.now.Number)
}

// displacedBy returns the first of the jobs that were to start under a lease in whose place another
// fits; nil if there is none.
func (c *comparison) displacedBy(other *Job, late []*Job) *Job {
	for _, j := range late {
		if _, flies := c.flights[j.ID]; flies && j.lease != nil && c.isLate(j) && other.FitsIn(j.Spec) {
			return j
		}
	}
	return nil
}

// takeOver makes a holder of the place of a job that did not start. The job waits again, under
// another ID.
func (c *comparison) takeOver(j *Job) *holder {
	h := c.holderOf(j)
	c.over(j)
	j.Phase, j.Places, j.lease = Unknown, nil, nil
	return h
}

// letGo ends a holder: its claim is gone.
func (c *comparison) letGo(h *holder) {
	c.b.lending.release(h)
	if j := c.b.byID[h.job.ID]; j != nil && j.Phase == Running {
		j.lease = nil // it goes on to its end
		return
	}
	c.tellCompleted(h.job.ID)
	c.delta.Ran[h.job.ID] = unknownRun
}

// holds keeps the place of a job that has left its queue, if its claim may go on under a lease. It
// returns false if the place is free.
func (c *comparison) holds(j *Job) bool {
	if j.lease == nil || !c.b.lending.inUse(j.lease.lease) {
		return false
	}
	if !c.b.lending.holds(j.ID) {
		c.b.lending.keep(c.holderOf(j))
	}
	return true
}

// leasesEnd lets holders go whose claims are gone, or are free and take up no more jobs, tells the
// negotiator until when the others' places are kept, and forgets leases that nobody uses. Call it when all else was compared: a job
// must not be reported twice.
func (c *comparison) leasesEnd() {
	record := &c.b.lending
	if len(record.leases) == 0 {
		return
	}
	used := c.usedClaims()
	c.bindLoose(used)
	for _, name := range slices.Sorted(maps.Keys(record.holders)) {
		if h := record.holders[name]; !used[name] && (c.claimGone(h) || c.b.now.Now > h.lease.last) {
			c.letGo(h)
		}
	}
	for slot := range record.loose {
		record.drop(slot, func(h *holder) bool {
			gone := c.b.now.Began.Sub(h.since) >= unseen || c.b.now.Now > h.lease.last
			if gone {
				c.letGo(h)
			}
			return gone
		})
	}
	c.tellLeases()
	for _, j := range c.b.all {
		if j.Phase == Lent {
			c.leaveOut(j, fmt.Sprintf("runs on a claim that slot %s has lent to %s", j.Places[0].Slot, j.Submitter()))
		}
	}
}

// usedClaims returns the slots on which jobs of lent claims run.
func (c *comparison) usedClaims() map[string]bool {
	used := map[string]bool{}
	for _, j := range c.b.all {
		if (j.Phase == Lent || j.lease != nil && j.Phase == Running) && j.Group.Runs() && len(j.Group.Hosts) == 1 {
			used[j.Group.Hosts[0]] = true
		}
	}
	return used
}

// bindLoose finds the claims of holders whose slots were not seen before: those of the same lease
// that have no holder.
func (c *comparison) bindLoose(used map[string]bool) {
	if len(c.b.lending.loose) == 0 {
		return
	}
	var free []*observe.Slot
	for name, o := range c.b.observed {
		if c.b.lending.loose[o.Host] != nil && o.Claimed && o.Missing.IsZero() && c.b.lending.holders[name] == nil && !used[name] {
			free = append(free, o)
		}
	}
	slices.SortFunc(free, func(a, b *observe.Slot) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range free {
		h := c.b.lending.take(o.Host, func(h *holder) bool {
			return h.claimedBy(o.Claimer) && h.start <= o.ClaimedSince+clockSkew
		})
		if h != nil {
			c.b.lending.bind(h, o.Name)
		}
	}
}

// clockSkew is by how many seconds the clocks of a startd and of the negotiator may differ.
const clockSkew = 5

// claimGone tells whether a holder's claim is gone, on which no job is known to run.
func (c *comparison) claimGone(h *holder) bool {
	o, host := c.b.Slot(h.slot), c.b.Slot(h.lease.Slot)
	switch {
	case o == nil:
		return c.b.now.Began.Sub(h.since) >= unseen
	case !o.Missing.IsZero():
		// If nothing was heard of the startd at all, its claims may go on.
		return host == nil || host.Missing.IsZero() || c.longGone(host)
	default:
		return !o.Claimed || !h.claimedBy(o.Claimer)
	}
}

// vacated iterates over the holders whose jobs have ended, in no order.
func (b *Belief) vacated(yield func(h *holder) bool) {
	for _, h := range b.lending.all() {
		if j := b.byID[h.job.ID]; (j == nil || j.Phase != Running) && !yield(h) {
			return
		}
	}
}

// Lent counts the claims that are lent under a lease.
func (b *Belief) Lent(key LeaseKey) int {
	if l := b.lending.leases[key]; l != nil {
		return l.lent
	}
	return 0
}

// unhold says that a job stands for no claim any more: it does not run there.
func (c *comparison) unhold(j *Job) {
	if j.lease != nil {
		c.b.lending.releaseJob(j.ID)
		j.lease = nil
	}
}
