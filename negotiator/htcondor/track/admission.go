package track

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Accounting is who has used how much of the pool, and what that allows. The zero Accounting allows
// everything and keeps no account.
type Accounting struct {
	// Accountant keeps the account; nil if none is kept.
	Accountant *accountant.Accountant
	// Limits are the pool's concurrency limits.
	Limits *accountant.Limits
}

// admit reports jobs that are new to the negotiator, unless something keeps them out of the plan.
func (c *comparison) admit(fresh []*Job) {
	slices.SortFunc(fresh, (*Job).Compare)
	var sound []*Job
	for _, j := range fresh {
		if why := c.unfit(j); why != "" {
			c.leaveOut(j, why)
		} else {
			sound = append(sound, j)
		}
	}
	c.account(slices.DeleteFunc(slices.Clone(sound), c.b.Early))
	if len(c.delta.SlotsUp) > 0 { // until the next plan nothing is known of any job
		for _, j := range c.b.all {
			j.hopeless = nil
		}
	}
	limited := c.limit(sound)
	for _, j := range c.b.all {
		if j.Phase != Waiting {
			continue
		}
		if why, out := limited[j.ID]; out {
			c.leavesPlan(j, why)
		}
		j.early = j.early && c.b.Early(j)
	}
	for _, j := range c.edited {
		if j.Phase == Waiting {
			c.tellChanged(c.b.report(j, Waiting, c.b.ahead(j)))
		}
	}
	for _, j := range sound {
		if why, out := limited[j.ID]; out {
			c.leaveOut(j, why)
		} else {
			c.tellSubmitted(c.b.report(j, Waiting, c.b.ahead(j)))
		}
	}
	c.b.openOrder()
}

// leavesPlan takes a waiting job out of the plan, since a limit keeps it from ever starting. What it was
// promised it is owed, as some limits come back.
func (c *comparison) leavesPlan(j *Job, why string) {
	c.tellRemoved(j.ID)
	j.Phase = Unknown
	c.b.goesUnused(j, c.b.tryFor())
	if j.promised > 0 {
		j.owed, j.yielded = true, true
	}
	c.leaveOut(j, why)
}

// leaveOut notes why a job is not in the plan.
func (c *comparison) leaveOut(j *Job, why string) {
	c.kept = append(c.kept, unplanned{j.ID, j.Key, j.Group, backfill.AsReason(why), c.b.several(), j.Phase == Lent})
}

// unfit returns why a job cannot be planned with; "" if it can.
func (c *comparison) unfit(j *Job) string {
	if wrong := j.Group.Spec.Wrong; wrong != nil {
		return "cannot be planned with: " + wrong.Error()
	}
	if j.Group.Spec.Scavenger && j.Group.Spec.Parallel {
		return gangScavenges
	}
	return c.barred(j)
}

// barred returns what keeps a job out of the plan for a time; "" if nothing does.
func (c *comparison) barred(j *Job) string {
	if c.awaitsLease(j) {
		return awaiting(j)
	}
	return cmp.Or(c.b.Undue(j), c.isRefused(j), c.unwelcome(j))
}

// Refused are jobs that wait because their schedd did not start them, although it was told of their
// matches: by key; and by the text of their Spec, if it starts none that are planned by the same.
// Gangs are by user those for whose slots their schedd did not ask, or that it did not start. Rivals
// are by schedd the waiting gangs that others must not start before.
type Refused struct {
	Jobs   map[observe.JobKey]Refusal
	Kinds  map[string]Refusal
	Gangs  map[Owner]Refusal
	Rivals map[string][]*Job
}

// Refusal says how often matches in a row came to nothing, and until when no other is made. Of jobs
// that are planned by the same, only the job Tried may be matched then. Asked says of gangs that their
// schedd was given claims.
type Refusal struct {
	Times int
	Until time.Time
	Tried observe.JobKey
	Asked bool
}

// isRefused returns why a job waits that its schedd did not start; "" if it need not.
func (c *comparison) isRefused(j *Job) string {
	if why := c.gangWaits(j); why != "" {
		return why
	}
	if len(c.refused.Jobs) == 0 && len(c.refused.Kinds) == 0 {
		return ""
	}
	until := func(r Refusal) string { return c.b.clock(backfill.Time(r.Until.Unix())) }
	now := c.b.now.Began
	if r, refused := c.refused.Jobs[j.Key]; refused && now.Before(r.Until) {
		return fmt.Sprintf("its schedd did not start it %d times; it is tried again at %s", r.Times, until(r))
	}
	r, refused := c.refused.Kinds[j.Group.Spec.Text]
	if !refused || j.Key == r.Tried && !now.Before(r.Until) {
		return ""
	}
	why := "its schedd does not start jobs like it, such as " + r.Tried.Name(c.b.several())
	if now.Before(r.Until) {
		why += "; one is tried again at " + until(r)
	}
	return why
}

// unwelcome returns why a job's submitter keeps it out of the plan; "" if it does not. Who has
// logged in may advertise himself, at the address of a program with jobs in others' names. A schedd
// advertises a new user some seconds after his first job. A job in the plan stays while its
// submitter's ad is missing, as after a restart of the collector, unless it is another's by now.
func (c *comparison) unwelcome(j *Job) string {
	s, name := c.b.Schedd(j.Key.Schedd), j.Submitter()
	submitter, advertised := s.Submitters[name]
	before, now := j.Spec, j.Group.Spec
	switch planned := j.Phase == Waiting && before.Submitter() == now.Submitter() && before.User() == now.User(); {
	case submitter.Barred() != "":
		return "is of the submitter " + name + ", of which " + submitter.Barred()
	case planned:
	case !advertised && c.b.now.Constrained:
		return "is of the submitter " + name + ", whose ad is not there yet: NEGOTIATOR_SUBMITTER_CONSTRAINT must be true of it"
	case !s.Advertises(j.Group):
		return "is of the submitter " + name + ", whom its schedd does not advertise for " + now.User()
	}
	return ""
}

// account charges submitters with what has run until now, and divides the pool between groups by
// what their waiting jobs and the fresh ones want.
func (c *comparison) account(fresh []*Job) {
	a := c.b.s.Accounting.Accountant
	if a == nil {
		return
	}
	if err := a.Update(c.b.now.Began, c.b.Use()); err != nil {
		c.b.log.Error("the account of what is used cannot be kept", "error", err)
		c.out.Problems = append(c.out.Problems, err.Error())
	}
	wants := map[string]float64{}
	var waiting tally[*observe.Spec]
	for _, j := range c.b.all {
		if j.Phase == Waiting && !c.b.Early(j) && !j.scavenges {
			waiting.add(j.Group.Spec)
		}
	}
	for _, j := range fresh {
		if !scavenges(j.Group.Spec) {
			waiting.add(j.Group.Spec)
		}
	}
	for spec, n := range waiting.all {
		wants[spec.Submitter()] += float64(n) * c.b.wants(spec)
	}
	if err := a.Divide(c.b.total(), wants); err != nil {
		c.b.log.Error("the pool cannot be divided between groups", "error", err)
		c.out.Problems = append(c.out.Problems, err.Error())
	}
}

// Use returns what the running jobs of each submitter use, those too that cannot be planned with, but for
// scavengers, for which nobody is charged.
func (b *Belief) Use() map[string]accountant.Use {
	use := map[string]accountant.Use{}
	for _, j := range b.all {
		slots, weight, runs := b.charges(j)
		if _, waits := b.way.waits[j.ID]; !runs || waits || b.takeovers.byJob[j.ID] != nil || b.isFree(j) {
			continue // who takes over, or waits for others to leave, has nothing yet
		}
		spec := j.charged()
		u := use[spec.Submitter()]
		u.Slots, u.Weight = u.Slots+slots, u.Weight+weight
		use[spec.Submitter()] = u
	}
	for past := range b.gone {
		spec := past.charged()
		u := use[spec.Submitter()]
		u.Slots, u.Weight = u.Slots+max(1, len(past.Group.Hosts)), u.Weight+b.weight(past)
		use[spec.Submitter()] = u
	}
	for h := range b.vacated {
		u := use[h.spec.Submitter()]
		u.Slots, u.Weight = u.Slots+1, u.Weight+b.weightOf(h)
		use[h.spec.Submitter()] = u
	}
	return use
}

// FairShare returns the queue's order by user priority: whoever has used less comes first, and jobs
// of one submitter come in the order of their JobPrio. Only the negotiator of this belief may use
// it.
func (b *Belief) FairShare() negotiator.Order {
	b.order = accountant.NewOrder(b.s.Accounting.Accountant,
		func(j *backfill.Job) accountant.Waiting { return b.share(b.byID[j.ID]) })
	return negotiator.OrderOfCycle(b.order.Key)
}

// share returns what a waiting job counts for in its submitter's share of the pool.
func (b *Belief) share(j *Job) accountant.Waiting {
	if j == nil || j.Group == nil {
		return accountant.Waiting{} // a foreign claim, which never waits
	}
	spec := j.Group.Spec
	passed, vain := b.passedOver(j)
	return accountant.Waiting{
		ID: j.ID, Submitter: spec.Submitter(), Weight: b.wants(spec), Prio: j.Group.Prio,
		User: spec.User(), Passed: passed, Vain: vain,
	}
}
