package track

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A job's user may edit where its queue says that it runs, and would hold slots so that he does not
// use. A claimed slot's ad names its job, which only its startd writes. If slots say that they run a
// job, and its queue names others, the slots are believed: unless the queue says that the job is where it was
// sent, as the ads of its new slots may be late, and those of its former ones may be kept.

// locate has jobs that run be where slots say that they run them.
func (c *comparison) locate() {
	claims := map[observe.JobKey][]string{} // by the key of proc 0, since a gang's slots name whichever
	for name, o := range c.b.observed {
		if o.Claimed && o.Missing.IsZero() && !o.Data && o.Runs != (observe.JobKey{}) {
			key := o.Runs
			key.Proc = 0
			claims[key] = append(claims[key], name)
		}
	}
	for _, j := range c.b.all {
		if j.Group == nil || !j.Group.Runs() || j.leader != nil {
			continue
		}
		key := j.Key
		key.Proc = 0
		if names := claims[key]; len(names) > 0 {
			c.locateJob(j, names)
		}
	}
}

// locateJob does so for one job, given the slots that say that they run jobs of its cluster.
func (c *comparison) locateJob(j *Job, names []string) {
	g, spec := j.Group, j.Group.Spec
	if j.Phase == Running && j.Spec != nil {
		spec = j.Spec // whatever was edited
	}
	several := spec.Parallel
	if !several {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return c.b.Slot(name).Runs != j.Key })
	}
	others := 0
	for _, host := range g.Hosts {
		if !slices.Contains(names, host) {
			others++
		}
	}
	switch {
	case len(names) == 0 || others == 0 && (several || len(g.Hosts) <= 1):
		return
	case several && others < len(g.Hosts) && len(names) != spec.Nodes: // the ads of some are late, or were kept
		return
	case j.Phase == Running && slices.Equal(c.b.places(g), j.Places):
		return
	}
	slices.Sort(names)
	if !several {
		at := slices.IndexFunc(names, func(name string) bool { return j.runsAt(c.b.Slot(name).Host) })
		names = names[max(0, at):][:1]
	}
	if j.run == nil || !slices.Equal(j.run.hosts, names) {
		c.b.log.Warn("a job runs elsewhere than its queue says: its slots name it",
			"job", c.b.Name(j), "slots", names, "said", g.Hosts)
	}
	here := *g
	here.Hosts = names
	j.Group = &here
}
