package claims

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// riding is how long a schedd has to fill a slot that was lent, until a look sees what it did.
const riding = 2 * time.Second

// reservation is a waiting job's place in the plan, on one slot.
type reservation struct {
	job        backfill.JobID
	start, end backfill.Time
}

// TakePlan takes in the plan that the matches of the next [State.Start] belong to. From it follows
// how long slots can be lent. It returns the guarantees that leases have broken.
func (c *State) TakePlan(plan negotiator.Checkpoint) []track.Broken {
	c.reserve(plan)
	return c.belief.TakePlan(plan)
}

// reserve notes the waiting jobs' places in the plan.
func (c *State) reserve(plan negotiator.Checkpoint) {
	clear(c.planned)
	clear(c.settled)
	c.guarantees = plan.Guarantees
	if c.lease == 0 {
		return
	}
	for _, j := range plan.Jobs {
		if j.Running {
			continue
		}
		if j.Held != "" || j.Placement != nil {
			c.settled[j.Job.ID] = true
		}
		for _, at := range j.Placement {
			for _, slot := range at.Slots() {
				c.planned[slot] = append(c.planned[slot], reservation{j.Job.ID, j.Start, j.End})
			}
		}
	}
}

// Lend sets for how long a claim is lent at most; 0: every claim is locked to its job.
func (c *State) Lend(most time.Duration) {
	c.lease = most
	clear(c.single)
	if most == 0 {
		clear(c.deaf)
	}
}

// TellLeases takes the leases in that were granted since the last call. It returns what the
// negotiator must be told of them before anything else, see [track.Belief.Grant]; false if there
// are none.
func (c *State) TellLeases() (negotiator.Delta, bool) {
	if len(c.leases) == 0 {
		return negotiator.Delta{}, false
	}
	granted := c.leases
	c.leases = nil
	return c.belief.Grant(granted), true
}

// Granted tells whether there are leases that the negotiator must be told of.
func (c *State) Granted() bool { return len(c.leases) > 0 }

// lending is a slot that is about to be lent, and for which flights.
type lending struct {
	track.Lease
	// ad is the slot's ad with leaseAttribute.
	ad *classad.ClassAd
	// granted says that a claim was granted: the schedd may fill the slot with the others.
	granted bool
}

// lendings chooses which slots are lent for the flights that are to start there now. A slot is lent
// if its START heeds leases, if more jobs like these wait or the slot has fewer claims than there
// are flights, and if nobody else has a place there before the lease ends.
func (c *State) lendings(flights []*flight, offers map[string]*Offer) map[*flight]*lending {
	if c.lease == 0 {
		return nil
	}
	groups, deaf := map[track.LeaseKey][]*flight{}, map[string]*observe.Spec{}
	for _, f := range flights {
		if !c.lendable(f) {
			continue
		}
		key := leaseKey(f)
		o, group := offers[key.Slot], groups[key]
		switch {
		case o == nil || !o.Open:
		case !lends(o.Ad):
			deaf[key.Slot] = f.job.Spec
		case len(group) == 0 || alike(group[0].job.Spec, f.job.Spec):
			groups[key] = append(group, f)
			delete(c.deaf, key.Slot)
		}
	}
	if len(groups)+len(deaf) == 0 {
		return nil
	}
	lent, waits := map[*flight]*lending{}, c.countWaiting()
	c.noteDeaf(deaf, waits)
	for key, group := range groups {
		if l := c.lend(key, group, offers[key.Slot], waits); l != nil {
			for _, f := range group {
				lent[f] = l
			}
		}
	}
	return lent
}

// lendable tells whether the claim of a flight's job may be lent.
func (c *State) lendable(f *flight) bool {
	return borrows(f.job.Spec) && len(f.rest) == 1 && f.job.Group.Deferral.Time == 0 && !f.handed()
}

// borrows tells whether jobs of a Spec take part in leases. Those with concurrency limits do not:
// what counts the limits does not hear of a job that uses the claim of another.
func borrows(s *observe.Spec) bool {
	return !s.Parallel && s.Nodes == 1 && s.Limits == "" && s.Estimate > 0
}

// alike tells whether a job of the second Spec can take the place of a job of the first, whose
// claim is lent. Jobs of two schedds never have the same Spec.
func alike(a, b *observe.Spec) bool {
	return a == b || borrows(b) && a.Submitter() == b.Submitter() && slices.Equal(a.Request, b.Request) &&
		a.Schedd() == b.Schedd()
}

// queue counts the jobs that wait, by their Spec.
type queue map[*observe.Spec]*waiting

// waiting are the jobs of a Spec that wait: how many, how many of them are in the plan without a
// reservation, and the least and the largest of their JobPrio.
type waiting struct {
	jobs, open  int
	least, most int64
}

func (c *State) countWaiting() queue {
	q := queue{}
	for j := range c.belief.Jobs() {
		if j.Phase != track.Waiting && !j.AwaitsLease() || c.belief.Early(j) {
			continue
		}
		s, prio := j.Group.Spec, j.Group.Prio
		w := q[s]
		if w == nil {
			w = &waiting{least: prio, most: prio}
			q[s] = w
		}
		w.jobs++
		w.least, w.most = min(w.least, prio), max(w.most, prio)
		if j.Phase == track.Waiting && !c.settled[j.ID] {
			w.open++
		}
	}
	return q
}

// like returns the jobs that can take the place of one with this Spec, and whether any others wait
// for whatever becomes free.
func (q queue) like(spec *observe.Spec) (like waiting, others bool) {
	for s, w := range q {
		switch {
		case !alike(spec, s):
			others = others || w.open > 0
		case like.jobs == 0:
			like = *w
		default:
			like.jobs += w.jobs
			like.least, like.most = min(like.least, w.least), max(like.most, w.most)
		}
	}
	return like, others
}

// ride notes that the schedd is expected to start a flight's job on what is left of a slot that was
// lent to it.
func (c *State) ride(f *flight) {
	f.rides, f.moved = c.now, c.now
	f.why = "its schedd is filling slot " + f.rest[0].Slot
}

// stopRiding lets flights have claims of their own that the last look should have seen to run, on
// slots that were lent. If their schedd has filled nothing there, CLAIM_PARTITIONABLE_LEFTOVERS
// must be off, and nothing rides there again.
func (c *State) stopRiding() {
	began := c.belief.Snapshot().Began
	for _, f := range c.flights {
		if f.rides.IsZero() || began.Sub(f.rides) < riding {
			continue
		}
		if key := leaseKey(f); c.belief.Lent(key) < 2 {
			c.single[key.Slot] = true
		}
		f.rides = time.Time{}
	}
}

// Single tells whether each job on a slot gets a claim of its own, since its schedds do not fill
// it.
func (c *State) Single(slot string) bool { return c.single[slot] }

// leaseKey names the lease under which a flight's job may start.
func leaseKey(f *flight) track.LeaseKey {
	return track.LeaseKey{Slot: f.rest[0].Slot, Schedd: f.job.Key.Schedd, Submitter: f.job.Submitter()}
}
