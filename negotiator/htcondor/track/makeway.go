package track

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Scavengers run on what is idle, and make way at once for any other job. Nobody is charged for what they
// have, but for concurrency limits and what their schedds may run. Their schedds are told to vacate them, see
// package claims: unlike a claim that waits at the startd, that also ends those of which a job needs only a
// license, or that are in the way of a gang, and lets each have its time for leaving.

// makingWay are the scavengers that make way, and for whom; 0: whoever it was is not known any more. Waits
// says until when the jobs that were started have to wait for that, as far as is known.
type makingWay struct {
	leaving map[backfill.JobID]backfill.JobID
	waits   map[backfill.JobID]backfill.Time
}

func newMakingWay() makingWay {
	return makingWay{map[backfill.JobID]backfill.JobID{}, map[backfill.JobID]backfill.Time{}}
}

// scavenges tells whether jobs of a Spec are scavengers. Gangs are not: their claims are not given back one
// by one.
func scavenges(s *observe.Spec) bool { return s.Scavenger && !s.Parallel }

// gangScavenges is why a gang is left out that says that it is a scavenger.
const gangScavenges = "is a scavenger of the parallel universe: only jobs of other universes can make way at once"

// Scavenges tells whether the job is a scavenger, as the negotiator was told: while it runs it stays what it
// was.
func (j *Job) Scavenges() bool { return j.scavenges }

// makeRoom notes that scavengers make way for a job that was started. It returns the jobs that make way
// and are none.
func (b *Belief) makeRoom(j *Job, m negotiator.Match) (others []backfill.JobID) {
	for _, id := range m.Displaces {
		if victim := b.byID[id]; victim != nil && victim.scavenges {
			b.way.leaving[id] = j.ID
		} else {
			others = append(others, id)
		}
	}
	if len(others) < len(m.Displaces) || len(m.Displaces) == 0 && m.At > b.now.Now {
		b.way.waits[j.ID] = max(m.At, b.now.Now)
	}
	return others
}

// WaitOf returns until when a job that was started has to wait at the latest, as far as is known, for
// scavengers to leave its slots; false if it need not.
func WaitOf(b *Belief, id backfill.JobID) (until backfill.Time, waits bool) {
	until, waits = b.way.waits[id]
	return until, waits
}

// Leaving returns the scavengers that were told to make way, by ID.
func Leaving(b *Belief) (all []*Job) {
	for _, id := range slices.Sorted(maps.Keys(b.way.leaving)) {
		if j := b.byID[id]; j != nil && j.Phase == Running {
			all = append(all, j)
		}
	}
	return all
}

// Leaves tells whether scavengers have yet to make way for a job that was started.
func Leaves(b *Belief, heir backfill.JobID) bool {
	for victim, one := range b.way.leaving {
		if j := b.byID[victim]; one == heir && j != nil && j.Phase == Running {
			return true
		}
	}
	return false
}

// Heir returns for whom a scavenger makes way; 0 if that is not known.
func Heir(b *Belief, victim backfill.JobID) backfill.JobID { return b.way.leaving[victim] }

// VacateTime returns for how many seconds a running scavenger may take to leave; false if that is not known,
// as no look has seen its slot.
func VacateTime(b *Belief, j *Job) (backfill.Time, bool) {
	o := b.now.Slots[b.claimOf(j.ID)]
	if o == nil || o.Claim == nil {
		return 0, false
	}
	longest := b.vacate(o)
	if own := j.Group.Spec.Vacate; own != nil {
		longest = min(longest, backfill.Time(*own))
	}
	return longest, true
}

// scavenger returns the claim of a running scavenger.
func (c *claimed) scavenger(j *Job) (claim preempt.Claim, ok bool) {
	claim.Slot = c.b.claimOf(j.ID)
	if claim.Vacate, ok = VacateTime(c.b, j); !ok {
		return claim, false
	}
	o := c.b.now.Slots[claim.Slot]
	claim.Host, claim.Ad, claim.Since = o.Host, o.Claim, min(o.ClaimedSince, c.b.now.Now)
	return claim, true
}

// forgetWay forgets those who have left, and those who need not wait any more. Whoever only observes tells
// nobody to leave: they run on.
func (c *comparison) forgetWay() {
	if c.b.s.Observe {
		for _, id := range slices.Sorted(maps.Keys(c.b.way.leaving)) {
			c.goesOn(id)
		}
		clear(c.b.way.leaving)
	}
	maps.DeleteFunc(c.b.way.leaving, func(id, _ backfill.JobID) bool {
		j := c.b.byID[id]
		return j == nil || j.Phase != Running
	})
	maps.DeleteFunc(c.b.way.waits, func(id backfill.JobID, _ backfill.Time) bool {
		j := c.b.byID[id]
		return j == nil || j.Phase != Running || j.Group.Runs()
	})
}

// hasLeft tells whether a scavenger that runs no more, or never did, was told to make way.
func (c *comparison) hasLeft(j *Job) bool {
	heir, leaves := c.b.way.leaving[j.ID]
	if !leaves {
		return false
	}
	name := "a job"
	if other := c.b.byID[heir]; other != nil {
		name = c.b.Name(other)
	}
	c.b.log.Info("a scavenger has made way", "job", c.b.Name(j), "slots", list(j.Places), "for", name)
	return true
}

// restoreWay takes up that a saved scavenger makes way.
func (b *Belief) restoreWay(former SavedJob, id backfill.JobID) {
	switch j := b.byID[id]; {
	case j == nil || j.Phase != Running:
	case j.scavenges && former.Yields:
		b.way.leaving[id] = 0
	case former.Until > 0:
		b.way.waits[id] = min(former.Until, 2*backfill.MaxTime)
	}
}

// mayRetire tells whether the ad of a slot lets jobs retire.
func mayRetire(slot *classad.ClassAd) bool {
	_, given := slot.Lookup(observe.Retirement)
	n, plain := slot.Literal(observe.Retirement).Number()
	return given && (!plain || n > 0)
}
