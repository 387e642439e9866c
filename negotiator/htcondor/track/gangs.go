package track

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// joined is a gang of several procs, and the Group that stands for all of them.
type joined struct {
	members []observe.Member
	all     *observe.Group
}

// joinGangs makes one job of all procs of a cluster, if they are a gang, among what a schedd
// was read to have: the first proc that is not on hold stands for all, with a Group made of theirs.
// The others are in no plan. A gang has a seat if any of its procs has.
func (b *Belief) joinGangs(schedd string, r observe.Reading) {
	clusters := map[observe.JobKey][]observe.Member{}
	for _, g := range r.Groups {
		if !g.Spec.Parallel {
			continue
		}
		for _, key := range g.Jobs {
			gang := observe.JobKey{Schedd: key.Schedd, Cluster: key.Cluster}
			clusters[gang] = append(clusters[gang], observe.Member{Key: key, Group: g})
		}
	}
	seen := func(m observe.Member) bool {
		j := b.jobs[m.Key]
		return present(m) && j != nil && j.Seen(r.Number)
	}
	maps.DeleteFunc(clusters, func(_ observe.JobKey, members []observe.Member) bool {
		alone := len(members) == 1 && members[0].Key.Proc == 0
		return alone || !slices.ContainsFunc(members, seen)
	})
	maps.DeleteFunc(b.gangs, func(gang observe.JobKey, _ joined) bool {
		return gang.Schedd == schedd && clusters[gang] == nil
	})
	for gang, members := range clusters {
		slices.SortFunc(members, func(a, b observe.Member) int { return a.Key.Compare(b.Key) })
		if !slices.Equal(b.gangs[gang].members, members) {
			b.gangs[gang] = joined{members, observe.Join(members, b.s.Schema.Resources, b.gangs[gang].all)}
		}
		all := b.gangs[gang].all
		first := b.find(all.Jobs[0])
		first.Group, first.look = all, r.Number
		for _, m := range members {
			if j := b.jobs[m.Key]; j != first && seen(m) {
				j.leader = first
			}
		}
	}
}

// present tells whether a proc of a gang is a job by itself, waiting or running: one that is on
// hold only counts as a part of its gang.
func present(m observe.Member) bool { return !m.Group.OnHold() }

// Owner is a user of a schedd.
type Owner struct{ Schedd, User string }

// gangWaits returns why a gang is not planned with now, since its schedd does not ask for its slots,
// did not start it, or would start another in its place; "" if it is. One that names another
// scheduler, as its user may write, is never started.
func (c *comparison) gangWaits(j *Job) string {
	if !j.Group.Spec.Parallel {
		return ""
	}
	s := c.b.Schedd(j.Key.Schedd)
	if !s.Serves(j.Group) {
		return "its schedd does not ask for the slots of its Scheduler, " + j.Submitter()
	}
	for _, r := range c.refused.Rivals[j.Key.Schedd] {
		if r.Phase == Waiting && r.Robs(j) {
			return "its schedd would start gang " + c.b.Name(r) + " in its place, which is before it in the queue there"
		}
	}
	r, paused := c.refused.Gangs[Owner{j.Key.Schedd, j.User()}]
	if !paused || !c.b.now.Began.Before(r.Until) || !r.Asked && s.Asks(j.Group) {
		return ""
	}
	until := c.b.clock(backfill.Time(r.Until.Unix()))
	if r.Asked {
		return fmt.Sprintf("its schedd did not start its user's gangs %d times; it is tried again at %s", r.Times, until)
	}
	return fmt.Sprintf("its schedd did not ask for the slots of its user's gangs %d times; it is tried again at %s, "+
		"or when its schedd asks", r.Times, until)
}

// Robs tells whether a gang may get the claims of another of its schedd, which serves its gangs by
// JobPrio, the larger first, then by submit time and ID.
func (j *Job) Robs(o *Job) bool {
	spec, its := j.Group.Spec, o.Group.Spec
	return spec.Parallel && spec.Wrong == nil && j.Key.Schedd == o.Key.Schedd &&
		cmp.Or(cmp.Compare(o.Group.Prio, j.Group.Prio), j.Compare(o)) < 0 &&
		spec.Nodes <= its.Nodes && spec.Request.Within(its.Request)
}

// isPart notes that a job is planned with as a part of a gang, and not by itself any more.
func (c *comparison) isPart(j *Job) {
	c.withdraw(j)
	if !j.leader.Group.Runs() {
		c.leaveOut(j, "is a part of gang "+c.b.Name(j.leader))
	}
}
