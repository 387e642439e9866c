package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// setLimits takes in the delta's limits, and notes which rows change, and which limits are fresh.
func (n *Negotiator) setLimits(d *Delta) {
	l := &n.limits
	clear(l.fresh)
	l.changed = nil
	if len(d.Limits)+len(d.LimitsGone) == 0 {
		return
	}
	free, asked := []backfill.RowID(nil), false
	for _, limit := range d.Limits {
		id, known := l.byName[limit.Name]
		if !known && !asked {
			free, asked = n.unusedRows(), true
		}
		if !known {
			id, free = l.number(limit.Name, free)
		}
		l.rows[id] = limit
		l.changed = append(l.changed, l.row(id))
	}
	for _, name := range d.LimitsGone {
		id := l.byName[name]
		delete(l.byName, name)
		l.gone, l.rows[id].Height = append(l.gone, id), backfill.MaxAmount
		l.changed = append(l.changed, l.row(id))
	}
	clear(l.translated)
}

// unusedRows returns the rows of limits that are gone and that no job names any more.
func (n *Negotiator) unusedRows() (free []backfill.RowID) {
	l, unused := &n.limits, map[string]bool{}
	if len(l.gone) == 0 {
		return nil
	}
	for _, id := range l.gone {
		unused[l.rows[id].Name] = true
	}
	n.jobs.Scan(func(_ backfill.JobID, k *known) bool {
		if k.job != nil {
			for _, t := range k.job.Takes {
				delete(unused, t.Limit)
			}
		}
		return len(unused) > 0
	})
	for _, id := range l.gone {
		if unused[l.rows[id].Name] {
			free = append(free, id)
		}
	}
	return free
}

// retake adds to the arrivals the jobs that are known and take of a limit that has just come. They
// wait and run as before; a promised start is lifted only if the limit has no room for it.
func (n *Negotiator) retake(d *Delta) {
	clear(n.limits.moved)
	if len(n.limits.fresh) == 0 || n.predictions.anew { // then all jobs arrive anyway
		return
	}
	concerned := map[backfill.JobID]bool{}
	n.jobs.Scan(func(id backfill.JobID, k *known) bool {
		if k.job != nil && slices.ContainsFunc(k.job.Takes, func(t Take) bool { return n.limits.fresh[t.Limit] }) {
			concerned[id] = true
		}
		return true
	})
	if len(concerned) == 0 {
		return
	}
	ends := map[backfill.JobID]backfill.Time{}
	for _, end := range d.Ends {
		ends[end.Job] = max(n.predictions.expectedEnd(end, d.Now), n.jobs.get(end.Job).Lease)
	}
	isBack := n.returning(d)
	for _, before := range n.State().Snapshot().Jobs {
		id := before.Job.ID
		end, moved := ends[id]
		returns := before.Running && isBack(id, before.Placement)
		if !concerned[id] || n.reported.Has(id) && !moved && !returns {
			continue
		}
		a := arrival{kind: backfill.Changed, job: n.jobs.get(id), limited: true}
		if !before.Running && slices.Equal(n.limits.takes(a.job.Takes), before.Job.Takes) {
			continue // it has taken of the limit's row all the time
		}
		if before.Running && !returns {
			a.kind, a.placement, a.start, a.end = backfill.Found, before.Placement, before.Start, cmp.Or(end, before.End)
		}
		if moved {
			n.limits.moved[id] = true
		}
		n.reported.Add(id)
		n.arrivals = append(n.arrivals, a)
	}
}
