package track

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Takeover is a job on its way to the place of others, which make way for it. Its schedd holds a
// claim that waits at the startd until they have left.
type Takeover struct {
	// Victims are the jobs that make way, as they stand in the plan, and Slots their slots, static
	// or dynamic ones, in the same order.
	Victims []backfill.JobID
	Slots   []string
	// Host is the slot of the plan, and At when the last of them has left, as far as is known.
	Host string
	At   backfill.Time
}

// takeovers are the jobs that take over, and for whom each victim makes way.
type takeovers struct {
	byJob    map[backfill.JobID]*Takeover
	byVictim map[backfill.JobID]backfill.JobID
	ads      map[string]raised // by slot
}

func newTakeovers() takeovers {
	return takeovers{map[backfill.JobID]*Takeover{}, map[backfill.JobID]backfill.JobID{}, map[string]raised{}}
}

// TakeoverOf returns what a job on its way takes over; nil if its place is free.
func TakeoverOf(b *Belief, id backfill.JobID) *Takeover { return b.takeovers.byJob[id] }

// takeOverFrom notes that a job that was started has the place of others.
func (b *Belief) takeOverFrom(j *Job, m negotiator.Match) {
	t := &Takeover{Victims: slices.Clone(m.Displaces), Host: j.Places[0].Slot, At: m.At}
	for _, id := range t.Victims {
		t.Slots = append(t.Slots, b.claimOf(id))
		b.takeovers.byVictim[id] = j.ID
	}
	b.takeovers.byJob[j.ID] = t
}

// claimOf names the static or dynamic slot of a job that runs, or stands in the plan for a claim
// that is lent; "": it is not known.
func (b *Belief) claimOf(id backfill.JobID) string {
	if holders := b.lending.byJob[id]; len(holders) == 1 {
		return holders[0].slot
	}
	j := b.byID[id]
	if j == nil || j.Phase != Running || !j.Group.Runs() || len(j.Group.Hosts) != 1 {
		return ""
	}
	return j.Group.Hosts[0]
}

// endTakeover forgets that a job takes over. The jobs that have not left go on, as far as is known:
// their schedds are told nothing, but no claim waits for their slots any more. One that is idle has made
// way, which is said when it is looked at: its heir may have begun and ended since the last look.
func (c *comparison) endTakeover(id backfill.JobID) {
	t := c.b.takeovers.byJob[id]
	if t == nil {
		return
	}
	delete(c.b.takeovers.byJob, id)
	for _, victim := range t.Victims {
		if c.b.takeovers.byVictim[victim] == id && !c.isIdle(victim) {
			delete(c.b.takeovers.byVictim, victim)
			c.goesOn(victim)
		}
	}
}

// isIdle tells whether a job that ran is seen to be back in its queue, and not reported yet.
func (c *comparison) isIdle(id backfill.JobID) bool {
	j := c.b.byID[id]
	return j != nil && j.Phase == Running && j.Seen(c.b.now.Number) && !j.Group.Runs()
}

// goesOn reports that a job that was to make way runs on.
func (c *comparison) goesOn(id backfill.JobID) {
	j := c.b.byID[id]
	if j == nil || j.Phase != Running || !j.Group.Runs() || !j.Seen(c.b.now.Number) || c.told.Has(id) ||
		slices.ContainsFunc(j.Places, func(at Place) bool { return !c.b.isUp(at.Slot) }) {
		return
	}
	start := min(j.Start, c.b.now.Now)
	c.tellFound(negotiator.Running{Job: c.b.report(j, Running, j.ahead), Placement: c.b.placement(j.Places), Start: start})
}

// tookOver reports a job that runs where others have made way for it. Its slot may be larger than
// what it asks for: that of the job before.
func (c *comparison) tookOver(j *Job) {
	t := c.b.takeovers.byJob[j.ID]
	if t == nil {
		return
	}
	delete(c.b.takeovers.byJob, j.ID)
	for i, id := range t.Victims {
		if h := c.b.lending.holders[t.Slots[i]]; h != nil && h.job.ID == id && slices.Contains(j.Group.Hosts, t.Slots[i]) {
			c.letGo(h)
		}
	}
	c.growTo(j)
	j.Start = min(max(0, j.lasted.since), c.b.now.Now)
	c.b.log.Info("a job has taken over", "job", c.b.Name(j), "slots", j.Group.Hosts)
	c.tellFound(negotiator.Running{
		Job: c.b.report(j, Running, j.lasted.ahead), Placement: c.b.placement(j.Places), Start: j.Start,
	})
}

// growTo has a job be planned with all that its dynamic slot has.
func (c *comparison) growTo(j *Job) {
	o := c.b.Slot(j.Group.Hosts[0])
	if o == nil || !o.Dynamic || j.lasted == nil || j.Spec == nil {
		return
	}
	has, larger := slices.Clone(j.Spec.Request), false
	for i, resource := range c.b.s.Schema.Resources {
		if resource != observe.Claims && o.Free[i] > has[i] {
			has[i], larger = o.Free[i], true
		}
	}
	if !larger {
		return
	}
	spec := j.Spec.As(j.Spec.Charged(), has, j.Spec.Nodes, c.b.s.Schema.Resources)
	spec.Estimate, spec.Limit = j.Spec.Estimate, j.Spec.Limit
	j.lasted.stated = spec
}

// madeWay tells whether a job that runs no more has made way for another, and notes that it has.
func (c *comparison) madeWay(j *Job) bool {
	heir, yields := c.b.takeovers.byVictim[j.ID]
	if !yields {
		return false
	}
	delete(c.b.takeovers.byVictim, j.ID)
	name := ""
	if other := c.b.byID[heir]; other != nil {
		name = c.b.Name(other)
	}
	c.b.log.Info("a job has made way for another", "job", c.b.Name(j), "slots", list(j.Places), "for", name)
	return true
}

// yields tells whether a running job is to make way for another.
func (b *Belief) yields(id backfill.JobID) bool {
	_, yields := b.takeovers.byVictim[id]
	return yields
}

// forgetTakeovers forgets those of jobs that are not on their way any more, and victims that are
// gone.
func (c *comparison) forgetTakeovers() {
	all := &c.b.takeovers
	for _, id := range slices.Sorted(maps.Keys(all.byJob)) {
		if j := c.b.byID[id]; j == nil || j.Phase != Running {
			c.endTakeover(id)
		}
	}
	maps.DeleteFunc(all.byVictim, func(victim, heir backfill.JobID) bool {
		j := c.b.byID[victim]
		return j == nil && len(c.b.lending.byJob[victim]) == 0 || all.byJob[heir] == nil && (j == nil || j.Phase != Running)
	})
}

// WaitsAt tells whether an ad of a startd says that a job's claim waits for a slot, or that the
// slot vacates.
func WaitsAt(o *observe.Slot) bool {
	if o == nil || o.Claim == nil {
		return false
	}
	_, waits := o.Claim.Lookup("PreemptingUser")
	state, _ := o.Claim.Literal("State").Text()
	return waits || state == "Preempting"
}
