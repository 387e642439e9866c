package track

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// joined is a gang of several procs, and the Group that stands for all of them.
type joined struct {
	members []observe.Member
	all     *observe.Group
}

// joinGangs makes one job of all procs of a cluster, if they are a gang, among the groups of a
// schedd: the first proc that is not on hold stands for all, with a Group made of theirs. The
// others are in no plan.
func (b *Belief) joinGangs(schedd string, groups []*observe.Group) {
	clusters := map[observe.JobKey][]observe.Member{}
	for _, g := range groups {
		for _, key := range g.Jobs {
			if g.Spec.Parallel {
				gang := observe.JobKey{Schedd: key.Schedd, Cluster: key.Cluster}
				clusters[gang] = append(clusters[gang], observe.Member{Key: key, Group: g})
			}
		}
	}
	maps.DeleteFunc(clusters, func(_ observe.JobKey, members []observe.Member) bool {
		alone := len(members) == 1 && members[0].Key.Proc == 0
		return alone || !slices.ContainsFunc(members, present)
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
		first := b.jobs[all.Jobs[0]]
		first.Group = all
		for _, m := range members {
			if j := b.jobs[m.Key]; j != first && present(m) {
				j.leader = first
			}
		}
	}
}

// present tells whether a proc of a gang is a job by itself, waiting or running: one that is on
// hold only counts as a part of its gang.
func present(m observe.Member) bool { return !m.Group.OnHold() }

// isPart notes that a job is planned with as a part of a gang, and not by itself any more.
func (c *comparison) isPart(j *Job) {
	c.withdraw(j)
	if !j.leader.Group.Runs() {
		c.leaveOut(j, "is a part of gang "+c.b.Name(j.leader))
	}
}
