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
// schedd: the first proc stands for all, with a Group made of theirs. The others are in no plan.
func (b *Belief) joinGangs(schedd string, groups []*observe.Group) {
	clusters := map[observe.JobKey][]observe.Member{}
	for _, g := range groups {
		for _, key := range g.Jobs {
			if g.Spec.Parallel {
				of := observe.JobKey{Schedd: key.Schedd, Cluster: key.Cluster}
				clusters[of] = append(clusters[of], observe.Member{Key: key, Group: g})
			}
		}
	}
	maps.DeleteFunc(b.gangs, func(of observe.JobKey, _ joined) bool {
		return of.Schedd == schedd && len(clusters[of]) < 2
	})
	for of, members := range clusters {
		if len(members) < 2 {
			continue
		}
		slices.SortFunc(members, func(a, b observe.Member) int { return a.Key.Compare(b.Key) })
		if !slices.Equal(b.gangs[of].members, members) {
			b.gangs[of] = joined{members, observe.Join(members, b.s.Schema.Resources)}
		}
		first := b.jobs[members[0].Key]
		first.Group = b.gangs[of].all
		for _, m := range members[1:] {
			b.jobs[m.Key].leader = first
		}
	}
}

// isPart notes that a job is planned with as a part of a gang, and not by itself any more.
func (c *comparison) isPart(j *Job) {
	c.withdraw(j)
	if !j.leader.Group.Runs() {
		c.leaveOut(j, "is a part of gang "+c.Name(j.leader))
	}
}
