package claims

import (
	"cmp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// riding is how long a schedd has to fill a slot that was lent, until a look sees what it did. If it
// did nothing, it is not expected to for unfilled.
const (
	riding   = 2 * time.Second
	unfilled = 5 * time.Minute
)

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

// reserve notes the waiting jobs' places in the plan, and when its slots end.
func (c *State) reserve(plan negotiator.Checkpoint) {
	clear(c.planned)
	clear(c.ends)
	clear(c.settled)
	clear(c.held)
	clear(c.limited)
	c.guarantees, c.distrusted = plan.Guarantees, plan.Distrusted
	if c.lease == 0 {
		return
	}
	for _, s := range plan.Slots {
		if s.End != 0 {
			c.ends[s.Name] = s.End
		}
	}
	for _, j := range plan.Jobs {
		if j.Running {
			continue
		}
		if j.Held != "" {
			c.held[j.Job.ID] = true
			if backfill.OverLimit(j.Held) {
				c.limited[j.Job.ID] = true
			}
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

// Lend sets for how long after its match a claim takes up more jobs at most; 0: every claim is locked
// to its job. Hidden says that queues have jobs that no look at the pool shows.
func (c *State) Lend(most time.Duration, hidden bool) {
	c.lease, c.hidden = most, hidden
	clear(c.single)
	if most == 0 {
		clear(c.deaf)
	}
}

// TellLeases takes the leases in that were granted since the last call. It returns what the
// negotiator must be told of them before anything else, see [track.Belief.Grant]; false if that is
// nothing.
func (c *State) TellLeases() (negotiator.Delta, bool) {
	if len(c.leases) == 0 {
		return negotiator.Delta{}, false
	}
	granted := c.leases
	c.leases = nil
	d := c.belief.Grant(granted)
	return d, len(d.Found)+len(d.Removed) > 0
}

// lending is a slot that is about to be lent, and for which flights.
type lending struct {
	track.Lease
	// ad is the slot's ad for the schedd, and lock says when the claim is locked, see [Grant].
	ad   *classad.ClassAd
	lock string
	// fills says that the schedd may fill what is left of the slot, and granted that a claim was
	// granted: then it fills the slot with the other flights.
	fills, granted bool
}

// group are flights to which a slot is lent together: they are alike, and take equally long.
type group struct {
	track.LeaseKey
	estimate backfill.Time
}

// lendings chooses which slots are lent for the flights that are to start there now: if more jobs
// like these wait, or the slot has fewer claims than there are flights.
func (c *State) lendings(flights []*flight, offers map[string]*Offer) map[*flight]*lending {
	if c.lease == 0 {
		return nil
	}
	groups, order := map[group][]*flight{}, []group{}
	for _, f := range flights {
		if !c.lendable(f) {
			continue
		}
		key := group{leaseKey(f), c.estimate(f.job.Spec)}
		o, others := offers[key.Slot], groups[key]
		if o == nil || !o.Open || len(others) > 0 && !alike(others[0].job.Spec, f.job.Spec) {
			continue
		}
		if len(others) == 0 {
			order = append(order, key)
		}
		groups[key] = append(others, f)
	}
	if len(groups) == 0 {
		return nil
	}
	lent, q, deaf := map[*flight]*lending{}, c.countWaiting(), map[string]*observe.Spec{}
	alone := map[string]int{} // how many groups want a slot
	for _, f := range flights {
		for _, at := range f.rest {
			alone[at.Slot]++
		}
	}
	for _, key := range order {
		flights, o := groups[key], offers[key.Slot]
		l := c.lend(key.LeaseKey, flights, o, q, alone[key.Slot] == len(flights))
		switch {
		case l != nil:
			for _, f := range flights {
				lent[f] = l
			}
			delete(c.deaf, key.Slot)
		case lends(o.Ad):
			delete(c.deaf, key.Slot)
		default:
			deaf[key.Slot] = flights[0].job.Spec
		}
	}
	c.noteDeaf(deaf, q)
	return lent
}

// lendable tells whether the claim of a flight's job may be lent.
func (c *State) lendable(f *flight) bool {
	return c.borrows(f.job.Spec) && f.over == nil && len(f.rest) == 1 && f.job.Group.Deferral.Time == 0 && !f.handed()
}

// borrows tells whether jobs of a Spec take part in leases now. Those of users whose stated run times do
// not count do not: a schedd that takes another job for a claim goes by what the job states.
func (c *State) borrows(s *observe.Spec) bool { return borrows(s) && !c.distrusted[s.User()] }

// borrows tells whether jobs of a Spec take part in leases. Those with concurrency limits do not:
// what counts the limits does not hear of a job that uses the claim of another. Nor do scavengers: who has a
// claim that is lent need not make way.
func borrows(s *observe.Spec) bool {
	return !s.Scavenger && !s.Parallel && s.Nodes == 1 && s.Limits == "" && !s.BySlot && s.Wrong == nil
}

// estimate is for how long the plan takes a job of a Spec to run.
func (c *State) estimate(s *observe.Spec) backfill.Time {
	return cmp.Or(s.Estimate, c.s.DefaultEstimate)
}

// alike tells whether a job of the second Spec can take the place of a job of the first, whose
// claim is lent. Jobs of two schedds never have the same Spec.
func alike(a, b *observe.Spec) bool {
	return a == b || borrows(b) && sameQueue(a, b) && slices.Equal(a.Request, b.Request)
}

// sameQueue tells whether jobs of two Specs are negotiated for together: a schedd may give the claim
// of one to the other.
func sameQueue(a, b *observe.Spec) bool {
	return a.Submitter() == b.Submitter() && a.Schedd() == b.Schedd()
}

// ride notes that the schedd is expected to start a flight's job on what is left of a slot that was
// lent to it.
func (c *State) ride(f *flight) {
	f.rides, f.moved = c.now, c.now
	f.why = "its schedd is filling slot " + f.rest[0].Slot
}

// stopRiding lets flights have claims of their own that the last look should have seen to run, on
// slots that were lent. If their schedd has filled nothing there, CLAIM_PARTITIONABLE_LEFTOVERS
// must be off, or less was left of the slot than it seemed, and nothing rides there for a while.
func (c *State) stopRiding() {
	began := c.belief.Snapshot().Began
	for _, f := range c.flights {
		if f.rides.IsZero() || began.Sub(f.rides) < riding {
			continue
		}
		if key := leaseKey(f); c.belief.Lent(key) < 2 {
			c.single[key.Slot] = c.now.Add(unfilled)
		}
		f.rides = time.Time{}
	}
}

// isSingle tells whether each job on a slot gets a claim of its own, since its schedds do not fill
// it.
func (c *State) isSingle(slot string) bool { return c.single[slot].After(c.now) }

// leaseKey names the lease under which a flight's job may start.
func leaseKey(f *flight) track.LeaseKey {
	return track.LeaseKey{Slot: f.rest[0].Slot, Schedd: f.job.Key.Schedd, Submitter: f.job.Submitter()}
}
