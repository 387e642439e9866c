package track

import (
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A claim of no job that is known takes room all the same: it may belong to a schedd whose queue
// cannot be read, or be idle. It is reported as a job of its own, a foreign claim, but not at once:
// ads are late, and a claim that has just begun or ended looks the same. The exception is a
// negotiator that has just begun. It is told at once of claims that run a job: if it took all those
// slots for free, it would start jobs there that cannot start.
//
// A claim of a job that has ended is over, unless its startd still advertises it afterwards, and
// for long: the collector may keep the ad of a dynamic slot that was deleted.
const (
	foreignJobAfter   = 10 * time.Second
	foreignIdleAfter  = 30 * time.Second
	foreignEndedAfter = time.Minute // where the claim's job is known to have ended
	idleEstimate      = 10 * 60     // seconds that an idle claim, or one for data, is taken to last
	cleaningEstimate  = 60          // and one whose job has ended, from now on
)

// claimsDiffer reports claims that belong to no known job, and which of those reported before have
// ended or found their job.
func (c *comparison) claimsDiffer() {
	flying := map[string]bool{}
	for id := range c.flights {
		if j := c.b.byID[id]; j != nil {
			for _, at := range j.Places {
				flying[at.Slot] = true
			}
		}
	}
	var foreign []*observe.Slot
	for name, o := range c.b.observed {
		host := c.b.Slot(o.Host)
		if !o.Missing.IsZero() && !c.longGone(o) && (host == nil || !host.Missing.IsZero()) {
			continue // its startd was not heard of at all
		}
		known := c.b.known(o)
		s := c.b.slots[name]
		if s == nil {
			if known {
				continue
			}
			s = c.b.slot(name)
		}
		switch {
		case known && s.foreign != 0:
			c.tellCompleted(s.foreign)
			s.foreign, s.strangeSince = 0, time.Time{}
		case known:
			s.strangeSince = time.Time{}
		case s.foreign != 0:
		case s.strangeSince.IsZero() && (c.b.begun || o.Runs == observe.JobKey{}):
			s.strangeSince = c.b.now.Began
		case host != nil && host.Ad != nil && c.b.isUp(o.Host) && c.b.now.Began.Sub(s.strangeSince) >= c.foreignAfter(o, flying[o.Host]):
			foreign = append(foreign, o)
		}
	}
	slices.SortFunc(foreign, func(a, b *observe.Slot) int { return strings.Compare(a.Name, b.Name) })
	for _, o := range foreign {
		c.tellFound(c.foreign(o))
	}
}

// foreignAfter returns how long a claim of no known job is watched before it is planned around;
// flying says that a job is on its way to its slot.
func (c *comparison) foreignAfter(o *observe.Slot, flying bool) time.Duration {
	switch {
	case !c.b.begun:
		return 0
	case o.Cleaning:
		return foreignEndedAfter
	case !c.b.ended[o.Runs].IsZero():
		return foreignEndedAfter
	case o.Runs != observe.JobKey{}:
		return foreignJobAfter
	case flying: // it may be for a job on its way
		return 3 * c.b.s.Patience
	default:
		return foreignIdleAfter
	}
}

// known tells whether a slot's claim needs no place of its own in the plan: there is no claim, the
// slot is missing, the claim's job is recorded as running there, or it has ended and the slot's ad
// has not changed since.
func (b *Belief) known(o *observe.Slot) bool {
	if !o.Claimed || !o.Missing.IsZero() || b.lending.holders[o.Name] != nil {
		return true
	}
	j := b.jobs[o.Runs]
	ended, ran := b.ended[o.Runs]
	return j != nil && j.runsAt(o.Host) || ran && !o.Changed.After(ended)
}

// foreign makes a job that stands in the plan for a claim of no known job. How long the claim will
// last is a guess: a minute if its job has ended, ten minutes if it is idle or keeps data, else the
// default estimate. It stays in the plan for as long as it is there, and takes no more than its
// slot has, whatever its ad says.
func (c *comparison) foreign(o *observe.Slot) negotiator.Running {
	s, host := c.b.slots[o.Name], c.b.Slot(o.Host)
	s.foreign = c.b.nextID()
	ad := classad.New()
	all := int64(0)
	for i, resource := range c.b.s.Schema.Resources {
		amount := o.Free[i]
		switch {
		case resource == observe.Claims:
			amount = 1
		case o.Static:
			amount = host.Ad.Capacity[i]
		}
		amount = min(amount, c.b.slots[host.Name].reported.Capacity[i])
		ad.SetInt("Request"+negotiator.Attribute(resource), amount)
		all += min(amount, 1)
	}
	ad.SetBool("Requirements", true)
	name, estimate := "claim of "+o.Name, backfill.Time(0)
	if o.Runs != (observe.JobKey{}) {
		name = o.Runs.Name(true)
	}
	if o.Data || o.Runs == (observe.JobKey{}) {
		estimate = idleEstimate
	}
	if ad.Literal("RequestCpus").String() == "0" && (!o.Data || all == 0) { // nothing cannot be planned
		ad.SetInt("RequestCpus", 1)
	}
	began := o.ClaimedSince
	if began <= 0 || began > c.b.now.Now {
		began = c.b.now.Now
	}
	if o.Cleaning {
		estimate, began = cleaningEstimate, c.b.now.Now
	}
	c.b.log.Info("a claim of another is planned around; when it ends is a guess",
		"slot", o.Name, "of", o.Claimer, "as", name)
	return negotiator.Running{
		Job: &negotiator.Job{
			ID: s.foreign, Name: name, Submit: began, Nodes: 1, Estimate: estimate, Ad: ad,
			Position: backfill.QueuePosition{Queue: o.Name}, Labels: map[string]string{"owner": negotiator.Label(o.Claimer)},
		},
		Placement: negotiator.Placement{{Slot: c.b.slots[host.Name].reported, Count: 1}}, Start: began,
	}
}
