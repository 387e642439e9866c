package track

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// LeaseKey names a lease: a submitter's jobs in a schedd's queue may use the slot's claims one after
// the other, in the schedd's order, and so what is left of a partitionable slot.
type LeaseKey struct{ Slot, Schedd, Submitter string }

// Lease is a lease that was granted, or granted anew for longer.
type Lease struct {
	LeaseKey
	// Until is when the lease ends: all jobs that use it have ended before.
	Until backfill.Time
	// Last is when a claim that is free may last take up a job.
	Last backfill.Time
	// Jobs are the flights that were handed over with it.
	Jobs []backfill.JobID
	// Served are the waiting jobs that the plan has on the slot before the lease ends, and when.
	// The schedd is expected to start them by then, so they leave the plan until that time.
	Served map[backfill.JobID]backfill.Time
}

// Grant takes leases in. It returns what the negotiator must be told before anything else happens, or
// what it plans meanwhile could be in their way: until when places are kept, if that is longer than
// their first jobs may take, and which jobs leave the plan.
func (b *Belief) Grant(granted []Lease) negotiator.Delta {
	c := &comparison{b: b}
	c.delta = &c.out.Delta
	c.delta.Now = b.now.Now
	for _, g := range granted {
		l := b.lending.extend(g.LeaseKey, g.Until, g.Last)
		lent := &term{lease: l, until: g.Until, last: g.Last}
		for _, id := range g.Jobs {
			if j := b.byID[id]; j != nil && j.Phase == Running {
				j.lease = lent
			}
		}
		for id, start := range g.Served {
			if j := b.byID[id]; j != nil && j.Phase == Waiting {
				c.tellRemoved(id)
				j.Phase, j.servedBy, j.serveAt = Unknown, l, start
				c.leaveOut(j, awaiting(j))
			}
		}
	}
	c.tellLeases()
	c.tellOnce()
	c.sort()
	b.makeView(slices.Concat(b.view.out, c.kept))
	return *c.delta
}

// awaitsLease tells whether a job is expected to start under a lease, and so is not planned.
func (c *comparison) awaitsLease(j *Job) bool {
	l := j.servedBy
	if l == nil {
		return false
	}
	if c.b.lending.inUse(l) && c.b.now.Now <= j.serveAt {
		return true
	}
	if j.Phase == Unknown {
		j.owed = j.Spec.SameAd(j.Group.Spec) // it was not edited
		c.b.log.Info("a job did not start under a lease by the time that was expected; it is planned again",
			"job", c.b.Name(j), "slot", l.Slot, "expected", time.Unix(int64(j.serveAt), 0).Format(time.TimeOnly))
	}
	j.servedBy = nil
	return false
}

// leaseFor returns the lease that covers a job where it runs; nil if there is none.
func (b *Belief) leaseFor(j *Job, at []Place) *lease {
	spec := j.Group.Spec
	if len(b.lending.leases) == 0 || j.scavenges || len(at) != 1 || at[0].Chunks != 1 || spec.Nodes != 1 || spec.Parallel || spec.Wrong != nil {
		return nil
	}
	return b.lending.leases[LeaseKey{at[0].Slot, j.Key.Schedd, j.Submitter()}]
}

// tellLeases reports until when the places of holders, and of jobs on their way, are kept, where that
// is new.
func (c *comparison) tellLeases() {
	found := map[backfill.JobID]backfill.Time{}
	for _, run := range c.delta.Found {
		found[run.Job.ID] = run.Job.Lease
	}
	using, told, late := map[*lease]bool{}, map[*term]bool{}, map[*term]bool{}
	tell := func(t *term, id backfill.JobID, start, estimate backfill.Time, run func() negotiator.Running) {
		using[t.lease] = true
		switch {
		case t.told >= t.until || found[id] >= t.until:
			return
		case t.told == 0 && start+cmp.Or(estimate, c.b.s.DefaultEstimate)+c.b.s.StartSlack >= t.until:
			return // its place lasts as long, anyway
		case c.told.Has(id) || !c.b.isUp(t.Slot):
			late[t] = true
		default:
			c.tellFound(run())
		}
		told[t] = true
	}
	for _, j := range c.b.all {
		if j.Phase == Running && j.lease != nil {
			tell(j.lease, j.ID, j.Start, j.estimated, func() negotiator.Running {
				return negotiator.Running{Job: c.b.described(j), Placement: c.b.placement(j.Places), Start: j.Start}
			})
		}
	}
	for _, h := range c.b.lending.all() {
		if j := c.b.byID[h.job.ID]; j != nil && j.Phase == Running {
			continue // told above
		}
		tell(h.lease, h.job.ID, h.start, h.job.Estimate, func() negotiator.Running {
			kept := *h.job
			kept.Lease, h.job = h.lease.until, &kept
			return negotiator.Running{
				Job: h.job, Placement: c.b.placement([]Place{{Slot: h.lease.Slot, Chunks: 1}}), Start: h.start,
			}
		})
	}
	for t := range told {
		if !late[t] {
			t.told = t.until
		}
	}
	maps.DeleteFunc(c.b.lending.leases, func(_ LeaseKey, l *lease) bool { return !using[l] })
}

// awaiting says why a job is not planned that is expected to start under a lease.
func awaiting(j *Job) string {
	return fmt.Sprintf("is to start on a claim that slot %s has lent to %s", j.servedBy.Slot, j.servedBy.Submitter)
}

// restoreLeases takes in the leases of an earlier negotiator that have not ended.
func (b *Belief) restoreLeases(saved []SavedLease) {
	for _, former := range saved {
		if key := (LeaseKey{former.Slot, former.Schedd, former.Submitter}); b.isUp(former.Slot) && b.now.Now < former.Until &&
			former.Until <= 2*backfill.MaxTime {
			b.lending.extend(key, former.Until, former.Until)
		}
	}
}
