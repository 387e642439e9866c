package negotiator

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// remeasure has jobs planned with what they request of the slots that they match now, if that depends on the
// slot and has just been found out, or has changed with the slots. A job that runs keeps what it has until
// it is back in the queue.
func (n *Negotiator) remeasure() {
	changed := n.matchmaker.Remeasured()
	if len(changed) == 0 {
		return
	}
	now := map[int]matchmaker.Autocluster{}
	for _, c := range changed {
		now[c.ID] = c
	}
	var listed backfill.JobSet
	for i := range n.arrivals {
		a := &n.arrivals[i]
		listed.Add(a.job.ID)
		if c, found := now[a.cluster.ID]; found {
			a.cluster = c
		}
	}
	for _, id := range n.jobs.ids() {
		k := n.jobs.Find(id)
		c, found := now[k.cluster]
		switch {
		case !k.clustered || !found || listed.Has(id):
		case n.queued(id) && n.reported.Add(id):
			n.arrivals = append(n.arrivals, arrival{kind: backfill.Changed, job: k.job, cluster: c})
		default:
			n.stale = append(n.stale, id)
		}
	}
	for _, id := range n.scavengers.book.IDs() {
		if c, found := now[n.scavengers.jobs[id].cluster]; found {
			j, _ := n.scavengers.book.Job(id)
			j.Request = c.Request
			n.scavengers.book.Put(j)
		}
	}
}
