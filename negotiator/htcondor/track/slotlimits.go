package track

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Concurrency limits may depend on the slot, as an expression in the job's ad says. While such a job
// waits, the plan knows nothing of them: the negotiator asks which slots leave room for it as a cycle
// goes on. From its start on it has a Spec of its own, with the limits that they come to there, by which
// it is charged while it runs.

// settlement is a Spec whose limits depend on the slot, and what they come to.
type settlement struct {
	spec   *observe.Spec
	limits string
}

// mostSettled bounds the settlements that are remembered, by which jobs that take the same share a Spec.
const mostSettled = 10_000

// limitsOn returns what limits of a Spec come to that depend on the slot. The meter may be nil.
func (b *Belief) limitsOn(s *observe.Spec, slot *classad.ClassAd, m *classad.Meter) string {
	limits, _ := classad.Scope{
		My: s.Ad, Target: slot, Host: b.s.World.Host(b.now.Began), MaxSteps: classad.FewSteps, Meter: m,
	}.Attr(negotiator.SlotLimits).Text()
	return limits
}

// settled returns the Spec by which jobs of one whose limits depend on the slot are charged that have
// these places; the same if that is not known.
func (b *Belief) settled(s *observe.Spec, at []Place, m *classad.Meter) *observe.Spec {
	if len(at) == 0 || b.slots[at[0].Slot] == nil || b.slots[at[0].Slot].reported == nil {
		return s
	}
	return b.settledTo(s, b.limitsOn(s, b.slots[at[0].Slot].reported.Ad, m))
}

// settledTo returns the Spec by which jobs of one whose limits depend on the slot are charged where they
// come to these.
func (b *Belief) settledTo(s *observe.Spec, limits string) *observe.Spec {
	what := settlement{s, limits}
	known := b.limiting.settled[what]
	if known == nil {
		if len(b.limiting.settled) >= mostSettled {
			clear(b.limiting.settled)
		}
		known = s.On(what.limits)
		b.limiting.settled[what] = known
	}
	return known
}

// LimitedBySlot tells whether the limits of a job depend on the slot on which it starts.
func (j *Job) LimitedBySlot() bool { return j.Spec != nil && (j.Spec.BySlot || j.Group.Spec.BySlot) }

// Admit charges a job that has just been started with what its limits come to on its slot, if they depend
// on that, or returns why they have no room for it beside the other starts of the cycle.
func (p *Limits) Admit(j *Job) (why string) {
	if p == nil || !j.LimitedBySlot() {
		return ""
	}
	j.Spec = p.b.settled(j.unsettled(), j.Places, nil)
	return p.bounds.Admit(p.b.candidate(p.b.chargeOf(j)))
}

// unsettled returns the Spec of a job that has just been started without what its limits come to.
func (j *Job) unsettled() *observe.Spec {
	if sameText(j.Spec, j.Group.Spec) { // it may have those of a start that failed
		return j.Group.Spec
	}
	return j.Spec
}

// Readmit charges a job that was admitted with what its limits come to when its slot is handed over, or
// returns why they have no room for it. The plan's slot is a whole one and of a moment ago: of what is
// left of a partitionable slot, and by the clock, they may be others.
func (p *Limits) Readmit(j *Job, limits string) (why string) {
	if p == nil || limits == j.Spec.Limits {
		return ""
	}
	before := p.b.chargeOf(j)
	after := before
	after.spec = p.b.settledTo(j.unsettled(), limits)
	if why = p.bounds.Move(p.b.candidate(before), p.b.candidate(after)); why == "" {
		j.Spec = after.spec
	}
	return why
}

// mostAsked is how many slots are looked at to tell a user which limit has no room, and mostSteps about how
// many steps that may take for all users in a look: 10 ms. Beyond that nobody is told.
const mostAsked, mostSteps = 100, 200_000

// lackingBySlot returns which limit has no room for jobs of a Spec, wherever they would start; "" if
// there is a slot with room, or too many to look at.
func (p *Limits) lackingBySlot(j *Job) (why string) {
	spec := j.Group.Spec
	why, known := p.bySlot[spec]
	if known || len(p.b.slots) > mostAsked || p.meter.Steps() > mostSteps {
		return why
	}
	for _, name := range slices.Sorted(maps.Keys(p.b.slots)) {
		if !p.b.isUp(name) {
			continue
		}
		on := p.b.chargeOf(j)
		on.spec = p.b.settled(spec, []Place{{Slot: name}}, &p.meter)
		lacks := p.bounds.Lacks(p.b.candidate(on))
		if why == "" || lacks == "" {
			why = lacks
		}
		if lacks == "" {
			break
		}
	}
	p.bySlot[spec] = why
	return why
}
