package track

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// claimed is what a look tells of claimed slots and of submitters: a [preempt.Claims], good until
// the next look.
type claimed struct {
	b       *Belief
	flights map[backfill.JobID]Flight
}

// claims returns who has which slot; nil if no job can be displaced. Whoever only observes
// displaces nobody: each plan would anew, in vain.
func (c *comparison) claims() preempt.Claims {
	if !c.b.now.Preempts && !c.b.now.Scavenges || c.b.s.Observe || c.b.s.Accounting.Accountant == nil {
		return nil
	}
	return &claimed{c.b, c.flights}
}

// Claim returns the claim that a running job has. Where no job makes way but scavengers, only those have
// one.
func (c *claimed) Claim(id backfill.JobID) (claim preempt.Claim, ok bool) {
	if j := c.b.byID[id]; j != nil && j.scavenges {
		return c.scavenger(j)
	}
	if !c.b.now.Preempts {
		return claim, false
	}
	heir, waited := c.heir(id)
	if _, flies := c.flights[id]; flies || c.b.yields(id) && !waited || c.b.takeovers.byJob[id] != nil {
		return claim, false
	}
	o := c.b.now.Slots[c.b.claimOf(id)]
	if o == nil || o.Claim == nil || !o.Claimed || !o.Missing.IsZero() || o.Cleaning || o.Overlaps || !c.b.isUp(o.Host) {
		return claim, false
	}
	if j := c.b.byID[id]; j != nil && (j.Spec == nil || j.Spec.Parallel || len(c.b.lending.byJob[id]) == 0 && !j.has(o)) {
		return claim, false
	}
	if claim = c.b.claim(o); waited {
		if !c.isHeirs(o.Name, claim.User, heir) {
			return claim, false
		}
		claim.Heir = &heir
	}
	claim.Ad = c.b.raised(o, Has(c.b, id))
	return claim, true
}

// Has returns what a running job has by the plan, where amounts are rounded up: its dynamic slot
// may have less of some resource. It is nil if there is no such job.
func Has(b *Belief, id backfill.JobID) backfill.Vector {
	if holders := b.lending.byJob[id]; len(holders) == 1 {
		return holders[0].spec.Request
	}
	if j := b.byID[id]; j != nil && j.Spec != nil {
		return j.Spec.Request
	}
	return nil
}

// raised is a claimed slot's ad with the amounts that its job has by the plan, as jobs that wait
// are rounded up, too. It stays the same as long as the slot's does.
type raised struct {
	from, ad *classad.ClassAd
	has      backfill.Vector
}

func (b *Belief) raised(o *observe.Slot, has backfill.Vector) *classad.ClassAd {
	ads := b.takeovers.ads
	if r := ads[o.Name]; r.from == o.Claim && slices.Equal(r.has, has) {
		return r.ad
	}
	r := raised{o.Claim, o.Claim, has}
	if o.Dynamic {
		r.ad = Raise(o.Claim, b.s.Schema.Resources, o.Free, has)
	}
	if len(ads) > 2*len(b.now.Slots)+100 {
		clear(ads)
	}
	ads[o.Name] = r
	return r.ad
}

// Raise returns the ad of a dynamic slot that has so much free, and at least so much.
func Raise(ad *classad.ClassAd, resources []string, free, least backfill.Vector) *classad.ClassAd {
	for i, resource := range resources {
		if i >= len(least) || resource == observe.Claims || least[i] <= free[i] {
			continue
		}
		ad = ad.Clone()
		ad.SetInt(negotiator.Attribute(resource), least[i])
	}
	return ad
}

// claim reads the ad of a claimed slot.
func (b *Belief) claim(o *observe.Slot) preempt.Claim {
	text := func(name string) string { t, _ := o.Claim.Literal(name).Text(); return t }
	number := func(name string) float64 { n, _ := o.Claim.Literal(name).Number(); return n }
	// What is left to retire goes on while the ad stands.
	age := backfill.Time(max(0, b.now.Began.Sub(o.Changed).Seconds()))
	claim := preempt.Claim{
		Slot: o.Name, Host: o.Host, Ad: o.Claim, Rank: number("CurrentRank"), Since: min(o.ClaimedSince, b.now.Now),
		User:       cmp.Or(text("PreemptingAccountingGroup"), text("PreemptingUser"), text("AccountingGroup"), text("RemoteUser")),
		Retirement: max(0, backfill.Time(number("RetirementTimeRemaining"))-age),
		Vacate:     b.vacate(o), Sooner: true, Waited: WaitsAt(o), Partial: o.Dynamic,
	}
	if waits := text("PreemptingUser"); waits != "" {
		claim.Rank = number("PreemptingRank")
	}
	claim.Weight, _ = b.weightOfSlot(o.Name)
	return claim
}

// longestVacate bounds what an ad can say of the time for leaving, in seconds.
const longestVacate = 7 * 24 * 3600

// vacate returns for how many seconds the job of a slot may take to leave; ads have an expression.
func (b *Belief) vacate(o *observe.Slot) backfill.Time {
	scope := classad.Scope{My: o.Claim, Host: b.s.World.Host(b.now.Began), MaxSteps: classad.FewSteps}
	n, isNumber := scope.Attr("MachineMaxVacateTime").Number()
	if !isNumber || !(n > 0) {
		return 0
	}
	return backfill.Time(min(n, longestVacate))
}

// Submitter returns in whose name a job is negotiated for, as slots name it once it has them.
func (c *claimed) Submitter(id backfill.JobID) string {
	if j := c.b.byID[id]; j != nil && j.Group != nil && !j.Group.Spec.Parallel {
		return j.Group.Spec.Submitter()
	}
	return ""
}

// Standing returns what expressions see of a submitter.
func (c *claimed) Standing(submitter string) preempt.Standing {
	s := c.b.s.Accounting.Accountant.Standing(submitter)
	return preempt.Standing{
		Prio: s.Prio, InUse: s.InUse, Floor: s.Floor, Group: s.Group, GroupInUse: s.GroupInUse, GroupQuota: s.GroupQuota,
		NegotiatingGroup: s.Group, Autoregroup: s.Autoregroup,
	}
}

// HasRoom tells whether a submitter's part has room for more.
func (c *claimed) HasRoom(submitter string, granted, weight float64) bool {
	return c.b.s.Accounting.Accountant.HasRoom(submitter, granted, weight)
}
