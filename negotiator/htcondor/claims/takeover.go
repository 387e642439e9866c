package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// A flight whose job takes over needs a claim that waits: the private ad of a claimed slot has it.
// For one dynamic or static slot it is that slot's, and the job gets the slot as it is. If the job
// needs more than the slot has, it gets the partitionable slot with what its victims give back: its
// claim, and after it those of the victims' slots, with a blank behind each. The startd ends the
// victims: by and by, if only one slot is taken, else at once.

// unheard is for how long no startd may have said that a claim waits for its slot, while the job
// does not run.
const unheard = 15 * time.Second

// slots names the slots whose claims a flight still needs.
func (f *flight) slots(names map[string]bool) {
	for _, at := range f.rest {
		names[at.Slot] = true
	}
	if f.over != nil {
		for _, slot := range f.over.Slots {
			names[slot] = true
		}
	}
}

// due is when a flight that takes over, or waits for scavengers to leave, should begin to run, at the latest;
// it is moved for others.
func (f *flight) due() time.Time {
	if f.over == nil {
		return later(f.moved, f.until)
	}
	return later(f.moved, time.Unix(int64(f.over.At), 0))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// judgeTakeover finds out whether a flight that takes over goes on: its startds say that its claim
// waits, or they do not any more, since its schedd or they have given it up.
func (c *State) judgeTakeover(f *flight) {
	if !isTold(f) || f.job.Group.Runs() {
		return
	}
	s, waits := c.belief.Schedd(f.job.Key.Schedd), false
	for _, slot := range f.over.Slots {
		waits = waits || track.WaitsAt(c.Observed(slot))
	}
	switch {
	case waits:
		f.waited = c.belief.Snapshot().Began
	case s != nil && s.Since.Sub(later(f.moved, f.waited)) >= unheard:
		f.failed = refused
	}
}

// takeOver takes the claims for a flight that takes over out of the offers, or returns why it
// cannot.
func (c *State) takeOver(f *flight, offers map[string]*Offer) (grants []Grant, why string) {
	j, t := f.job, f.over
	for _, slot := range t.Slots {
		switch o := offers[slot]; {
		case slot == "" || o == nil:
			f.closed = true
			return nil, "slot " + cmp.Or(slot, t.Host) + ", which it takes over, is not advertised"
		case len(o.Claims) == 0:
			return nil, "slot " + slot + ", which it takes over, has no claim to give yet"
		case !o.Claimed:
			f.closed = true // it can start like any other
			return nil, "slot " + slot + ", which it takes over, is not claimed any more"
		case c.isLeftOut(t.Host, j, c.now):
			return nil, "slot " + t.Host + " is left out for a while: starts fail there"
		}
	}
	grant := Grant{
		Job: c.belief.Name(j), Cluster: j.Key.Cluster, Proc: j.Group.Proc(j.Key, 0), Submitter: j.Submitter(),
		Limits: j.Spec.Limits, Lock: locked, flight: f, request: j.Spec.Request,
	}
	if len(t.Slots) == 1 {
		o := offers[t.Slots[0]]
		as := c.withItsShare(o, t.Victims[0])
		suits := c.wants(as.following(), j.Spec.Ad, c.now) && c.admits(as.following(), j.Spec.Ad, c.now)
		if suits && c.lacks(f, 1, as) == "" && (!f.instead || c.fits(f, o)) {
			grant.Claim, grant.Slot, grant.Ad, grant.Preempts = o.Claims[0], t.Slots[0], o.Ad, userOf(o)
			o.Claims = o.Claims[1:]
			return []Grant{grant}, ""
		}
	}
	host := offers[t.Host]
	if host == nil || !host.Open || host.Claimed || len(host.Claims) == 0 {
		return nil, "slot " + t.Host + " is not free yet"
	}
	for _, slot := range t.Slots {
		if c.retires(offers[slot]) {
			f.moved = c.now
			return nil, "slot " + slot + ", which it takes over, still retires"
		}
	}
	whole := c.withVictims(host, t, offers)
	switch short := c.lacks(f, 1, whole); {
	case short != "":
		f.closed = !c.waitsForWay(f)
		return nil, "slot " + t.Host + " has with what it takes over " + short
	case !c.wants(whole.following(), j.Spec.Ad, c.now):
		f.closed = true
		return nil, "its Requirements are not true of slot " + t.Host + " any more"
	case !c.admits(whole.following(), j.Spec.Ad, c.now):
		f.closed = true
		return nil, "START of slot " + t.Host + " does not admit it any more"
	}
	var ids strings.Builder
	ids.WriteString(host.Claims[0] + " ")
	for _, slot := range t.Slots {
		ids.WriteString(offers[slot].Claims[0] + " ") // schedds do not see the last one without the blank
		offers[slot].Claims = offers[slot].Claims[1:]
	}
	host.Claims, host.used = host.Claims[1:], true
	grant.Claim, grant.Slot, grant.Ad, grant.request = ids.String(), t.Host, whole.Ad, missing(j.Spec.Request, host, whole)
	grant.Preempts = fmt.Sprintf("%d dslots", len(t.Slots))
	return []Grant{grant}, ""
}

// fits tells whether a claimed slot is no larger than what a job asks for: the plan has that and no more.
func (c *State) fits(f *flight, o *Offer) bool {
	if dynamic, _ := o.Ad.Literal("DynamicSlot").Bool(); !dynamic {
		return true
	}
	for i, resource := range c.s.Schema.Resources {
		if resource != observe.Claims && resource != "disk" && o.Free[i] > f.job.Spec.Request[i] {
			return false
		}
	}
	return true
}

// retires tells whether the job of a slot has anything left to retire, which goes on while the ad
// stands. A startd that is asked for several slots at once ends their jobs if what is left is no
// more than they may take to leave, MachineMaxVacateTime.
func (c *State) retires(o *Offer) bool {
	host, _ := c.hostAt(c.now)
	scope := classad.Scope{My: o.Ad, Host: host, MaxSteps: classad.FewSteps}
	left, _ := scope.Attr("RetirementTimeRemaining").Number()
	if heard, _ := o.Ad.Literal("LastHeardFrom").Int(); heard > 0 {
		left -= float64(max(0, c.now.Unix()-heard))
	}
	return left > 0
}

// withItsShare returns a claimed slot with at least what its job has by the plan, whose amounts are
// rounded up.
func (c *State) withItsShare(o *Offer, victim backfill.JobID) *Offer {
	if dynamic, _ := o.Ad.Literal("DynamicSlot").Bool(); !dynamic {
		return o
	}
	has := track.Has(c.belief, victim)
	as := &Offer{Ad: track.Raise(o.Ad, c.s.Schema.Resources, o.Free, has), Free: slices.Clone(o.Free)}
	for i := range has {
		as.Free[i] = max(as.Free[i], has[i])
	}
	as.Free[len(as.Free)-1] = 1
	return as
}

// withVictims returns a partitionable slot as it will be once it has back what victims have.
func (c *State) withVictims(host *Offer, t *track.Takeover, offers map[string]*Offer) *Offer {
	back := make(backfill.Vector, len(host.Free))
	for i, slot := range t.Slots {
		back.AddScaled(c.withItsShare(offers[slot], t.Victims[i]).Free, 1)
	}
	back[len(back)-1] = 0 // claims
	whole := &Offer{Ad: host.Ad.Clone(), Free: append(backfill.Vector(nil), host.Free...), Open: true}
	whole.Free.AddScaled(back, 1)
	for i, resource := range c.s.Schema.Resources {
		if name := negotiator.Attribute(resource); back[i] > 0 {
			whole.Ad.SetInt(name, whole.Free[i])
		}
	}
	return whole
}

// missing returns what a job takes of a partitionable slot besides what its victims give back.
func missing(request backfill.Vector, host, whole *Offer) backfill.Vector {
	takes := slices.Clone(request)
	for i := range takes {
		takes[i] = max(0, takes[i]-(whole.Free[i]-host.Free[i]))
	}
	return takes
}

// userOf returns who has a slot, in the words of the stock negotiator's match log.
func userOf(o *Offer) string {
	user, _ := o.Ad.Literal("RemoteUser").Text()
	if user == "" {
		user = "none"
	}
	if group, ok := o.Ad.Literal("AccountingGroup").Text(); ok {
		return user + " (AccountingGroup=" + group + ")"
	}
	return user
}
