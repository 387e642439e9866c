package claims

import (
	"fmt"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Offer is a slot at the moment when it is handed over: its whole ad, what it can give, and the
// claim ids that its startd advertises.
type Offer struct {
	Ad   *classad.ClassAd
	Free backfill.Vector
	Open bool
	// Claimed says that somebody has the slot: Free is what he has, and Claims are those that may wait for it.
	Claimed bool
	Claims  []string // secrets

	used    bool             // some of the claims that it advertises are used
	follows *classad.ClassAd // see following; nil: nobody has asked yet
	taken   backfill.Vector  // what the grants of this time take; nil: there are none
	jobs    int64            // how many they are
}

// take subtracts what a chunk takes from what is free. From then on the ad of a partitionable slot is one
// that says so, as its startd will before it is asked for the next claim: START and further jobs judge by it. The
// devices that it lists as available are those that the startd does not give to the chunk's job.
func (o *Offer) take(resources []string, amounts backfill.Vector, job *classad.ClassAd) {
	o.Free.AddScaled(amounts, -1)
	if o.taken == nil {
		o.taken = make(backfill.Vector, len(amounts))
	}
	o.taken.AddScaled(amounts, 1)
	o.jobs++
	if ad := placed(o.Ad, resources, amounts, 1); ad != o.Ad {
		negotiator.Deal(ad, resources, job, amounts)
		o.Ad, o.follows = ad, nil
	}
}

// placed returns the ad of a slot on which further jobs run that take so much; that of a static slot does
// not change.
func placed(ad *classad.ClassAd, resources []string, taken backfill.Vector, jobs int64) *classad.ClassAd {
	if partitionable, _ := ad.Literal("PartitionableSlot").Bool(); !partitionable || jobs == 0 {
		return ad
	}
	ad = ad.Clone()
	negotiator.Place(ad, resources, taken, jobs)
	return ad
}

// use is what a claim was handed out for, and when.
type use struct {
	slot    string
	request backfill.Vector
	job     *classad.ClassAd
	at      time.Time
}

// leaveUsed takes the claims that were handed out already, and what they were handed out for, from
// what a slot offers: its ad is older.
func (c *State) leaveUsed(o *Offer) {
	var fresh []string
	for _, id := range o.Claims {
		if u, used := c.used[id]; used {
			o.take(c.s.Schema.Resources, u.request, u.job)
			o.used = true
			continue
		}
		fresh = append(fresh, id)
	}
	o.Claims = fresh
	o.taken, o.jobs = nil, 0
}

// Grant is a claim for one chunk of a job, to be given to its schedd.
type Grant struct {
	// Job is what users call the job. Cluster and Proc name the one that the chunk belongs to.
	Job           string
	Cluster, Proc int64
	Submitter     string
	// Claim is the claim id, a secret, or those of several slots, see [Grant.ids]; Slot is the slot, and
	// Ad the slot's ad for the schedd.
	Claim, Slot string
	Ad          *classad.ClassAd
	// Limits are the job's concurrency limits. Lock is an expression over the slot's ad: while it is
	// true, the schedd uses the claim, and what is left of a partitionable slot, for no other job; ""
	// stands for never, as START says what is allowed.
	Limits, Lock string
	// Preempts says who has the slot, in the words of the match log; "": nobody.
	Preempts string

	flight  *flight
	request backfill.Vector // what it takes of what the slot has free
}

// ids returns the claim ids. There are several if the grant takes over several slots.
func (g Grant) ids() []string { return strings.Fields(g.Claim) }

// noteUsed notes that the claims of a grant are handed out.
func (c *State) noteUsed(g Grant) {
	for _, id := range g.ids() {
		c.used[id] = use{slot: g.Slot, request: g.request, job: g.flight.job.Spec.Ad, at: c.now}
	}
}

// locked is the lock of a claim that is for its job alone.
const locked = "true"

// Lent tells whether the claim may be used for other jobs.
func (g Grant) Lent() bool { return g.Lock != locked }

// Format prints a grant without the claim.
func (g Grant) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "job %d.%d on slot %s", g.Cluster, g.Proc, g.Slot)
}

// MarshalText returns a grant without the claim.
func (g Grant) MarshalText() ([]byte, error) { return fmt.Append(nil, g), nil }

// Grants are grants to send, by schedd and submitter.
type Grants map[string]map[string][]Grant

// Grant takes claims for the flights, the jobs under way, out of what the slots offer, by the
// slots' names. In a flight that gets none it notes why. If a slot that a flight waits for serves
// another flight now, the time that the first may stand still begins anew. The schedds count as
// being told from now on, until [State.Told].
func (c *State) Grant(now time.Time, ready Ready, offers map[string]*Offer) Grants {
	c.now = now
	for _, o := range offers {
		c.leaveUsed(o)
	}
	grants := c.grantAll(ready, offers)
	for schedd, bySubmitter := range grants {
		for _, all := range bySubmitter {
			for _, g := range all {
				g.flight.telling = true
				c.noteUsed(g)
				c.telling[schedd] = append(c.telling[schedd], g)
			}
		}
	}
	return grants
}

func (c *State) grantAll(flights []*flight, offers map[string]*Offer) Grants {
	bySchedd := Grants{}
	served, gangs := map[string]bool{}, map[string]bool{} // by slot; by schedd that is given a gang's slots
	lent := c.lendings(flights, offers)
	for _, f := range flights {
		schedd, gang := f.job.Key.Schedd, f.job.Group.Spec.Parallel
		if gang {
			if why := c.mustWait(f, gangs[schedd]); why != "" {
				f.why = why
				continue
			}
		}
		l := lent[f]
		if l != nil && l.granted && l.fills && len(offers[l.Slot].Claims) == 0 {
			c.ride(f)
			continue
		}
		grants, why := c.grantOrTakeOver(f, offers, l)
		if why != "" {
			f.why = c.whyWaits(f, why)
			continue
		}
		for _, g := range grants {
			served[g.Slot] = true
		}
		if l != nil && !l.granted {
			l.granted = true
			c.leases = append(c.leases, l.Lease)
			c.log.Debug("lent", "slot", l.Slot, "schedd", l.Schedd, "submitter", l.Submitter, "until", l.Until,
				"jobs", len(l.Jobs))
		}
		gangs[schedd] = gangs[schedd] || gang
		if bySchedd[schedd] == nil {
			bySchedd[schedd] = map[string][]Grant{}
		}
		submitter := f.job.Submitter()
		bySchedd[schedd][submitter] = append(bySchedd[schedd][submitter], grants...)
	}
	for _, f := range flights {
		for _, at := range f.rest {
			if served[at.Slot] {
				f.moved = c.now
				break
			}
		}
	}
	return bySchedd
}

// grantOrTakeOver is grant, or takeOver for a job that takes over.
func (c *State) grantOrTakeOver(f *flight, offers map[string]*Offer, l *lending) (grants []Grant, why string) {
	if f.over != nil {
		return c.takeOver(f, offers)
	}
	return c.grant(f, offers, l)
}

// grant takes what is left to hand over of a flight out of the offers, lent if l is not nil, or
// returns why it cannot: all of the resources must be free. If a slot advertises fewer claim ids
// than chunks, some chunks are granted now, and the others when the slot has new ids, which it
// makes as the first are used.
func (c *State) grant(f *flight, offers map[string]*Offer, l *lending) (grants []Grant, why string) {
	j := f.job
	for _, at := range f.rest {
		if why = c.withheld(f, at.Slot, at.Chunks, offers[at.Slot]); why != "" {
			return nil, why
		}
	}
	for _, at := range f.rest {
		o := offers[at.Slot]
		for _, claim := range o.Claims[:min(at.Chunks, len(o.Claims))] {
			grant := Grant{
				Job: c.belief.Name(j), Cluster: j.Key.Cluster, Proc: j.Group.Proc(j.Key, len(f.claims)+len(grants)),
				Submitter: j.Submitter(), Claim: claim, Slot: at.Slot, Ad: o.Ad, Limits: j.Spec.Limits, Lock: locked,
				flight: f, request: j.Spec.Request,
			}
			if f.lent = l != nil; f.lent {
				grant.Ad, grant.Lock = placed(l.ad, c.s.Schema.Resources, o.taken, o.jobs), l.lock
			}
			grants = append(grants, grant)
			o.take(c.s.Schema.Resources, j.Spec.Request, j.Spec.Ad)
			o.Claims, o.used = o.Claims[1:], true
		}
	}
	return grants, ""
}

// withheld returns why a slot does not give a job its chunks now; "" if it does. It notes if the clock
// has closed the slot: to wait for it would be in vain. A job that is given its chunks is charged with
// what its limits come to there now.
func (c *State) withheld(f *flight, slot string, chunks int, o *Offer) string {
	j := f.job
	switch {
	case c.isLeftOut(slot, j, c.now):
		return "slot " + slot + " is left out for a while: starts fail there"
	case o == nil:
		return "slot " + slot + " is not advertised"
	case j.Spec.Parallel && c.stale(slot):
		return "slot " + slot + " was a gang's until a moment ago"
	case !o.Open:
		return "slot " + slot + " is not free yet"
	case !c.wants(o.following(), j.Spec.Ad, c.now) && (o.used || o.jobs > 0) && c.lacks(f, chunks, o) == "":
		f.closed = true // until the next cycle, which sees which devices are left
		return "its Requirements are not true of what other starts leave of slot " + slot
	case !c.wants(o.following(), j.Spec.Ad, c.now):
		f.closed = c.wants(o.following(), j.Spec.Ad, f.since)
		return "its Requirements are not true of slot " + slot + " any more"
	case !c.admits(o.following(), j.Spec.Ad, c.now):
		f.closed = c.admits(o.following(), j.Spec.Ad, f.since)
		return "START of slot " + slot + " does not admit it any more"
	case !c.admits(o.Ad, j.Spec.Ad, c.now):
		return "START of slot " + slot + " admits it once its startd has looked at the clock"
	case len(o.Claims) == 0 || len(o.Claims) < chunks && o.used:
		return "slot " + slot + " has no claim to give yet"
	}
	if short := c.lacks(f, chunks, o); short != "" {
		return "slot " + slot + " has " + short
	}
	if j.LimitedBySlot() {
		if why := c.limits.Readmit(j, c.limitsOn(o.Ad, j)); why != "" {
			f.barred = true
			return why
		}
	}
	return ""
}

// lacks says of which resource a slot has less free than a job that starts there needs for its chunks: it may be given back, or its ad
// may not say so yet. It is "" if there is enough.
func (c *State) lacks(f *flight, chunks int, o *Offer) string {
	for i, amount := range f.job.Spec.Request {
		if need := amount * int64(chunks); need > o.Free[i] {
			return fmt.Sprintf("%d %s free, not yet the %d that are needed", o.Free[i], c.s.Schema.Resources[i], need)
		}
	}
	return ""
}
