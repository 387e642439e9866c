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
	if len(l.fresh) > 0 {
		l.gone = slices.DeleteFunc(l.gone, func(id backfill.RowID) bool { return !l.isGone(id) })
	}
	for _, name := range d.LimitsGone {
		id := l.byName[name]
		delete(l.byName, name)
		l.former[name] = id
		l.gone, l.rows[id].Height = append(l.gone, id), backfill.MaxAmount
		l.changed = append(l.changed, l.row(id))
	}
	if len(l.fresh)+len(d.LimitsGone) > 0 {
		clear(l.translated)
	}
}

// unusedRows returns the rows of limits that are gone and that no job names any more.
func (n *Negotiator) unusedRows() (free []backfill.RowID) {
	l := &n.limits
	if len(l.gone) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, list := range l.lists {
		for _, t := range list.takes {
			if _, gone := l.former[t.Limit]; gone {
				used[t.Limit] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(l.gone), func(id backfill.RowID) bool { return used[l.rows[id].Name] })
}

// takersOfFresh returns the jobs that are known and take of a limit that has just come.
func (n *Negotiator) takersOfFresh() (all []*Job) {
	fresh := map[*Take]bool{}
	for first, list := range n.limits.lists {
		if slices.ContainsFunc(list.takes, func(t Take) bool { return n.limits.fresh[t.Limit] }) {
			fresh[first] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	n.jobs.Scan(func(_ backfill.JobID, k *known) bool {
		if k.job != nil && len(k.job.Takes) > 0 && fresh[&k.job.Takes[0]] {
			all = append(all, k.job)
		}
		return true
	})
	return all
}

// retake adds to the arrivals the jobs that are known and take of a limit that has just come. They
// wait and run as before; a promised start is lifted only if the limit has no room for it.
func (n *Negotiator) retake(d *Delta) {
	clear(n.limits.moved)
	if len(n.limits.fresh) == 0 || n.predictions.anew { // then all jobs arrive anyway
		return
	}
	concerned := n.takersOfFresh()
	if len(concerned) == 0 {
		return
	}
	runs := map[backfill.JobID]backfill.RunningJob{}
	for run := range n.State().Running() {
		runs[run.Job.ID] = run
	}
	ends := map[backfill.JobID]backfill.Time{}
	for _, end := range d.Ends {
		ends[end.Job] = max(n.predictions.expectedEnd(end, d.Now), n.jobs.get(end.Job).Lease)
	}
	isBack := n.returning(d)
	for _, job := range concerned {
		run, running := runs[job.ID]
		if running && n.stands(job.ID) {
			continue // it takes of the limit once it runs, or until it has left soon
		}
		end, moved := ends[job.ID]
		returns := running && isBack(job.ID, run.Placement)
		if n.reported.Has(job.ID) && !moved && !returns {
			continue
		}
		if !running && slices.Equal(n.limits.takes(job.Takes), n.State().Job(job.ID).Takes) {
			continue // it has taken of the limit's row all the time
		}
		a := arrival{kind: backfill.Changed, job: job, limited: true}
		if running && !returns {
			a.kind, a.placement, a.start, a.end = backfill.Found, run.Placement, run.Start, cmp.Or(end, run.End)
		}
		if moved {
			n.limits.moved[job.ID] = true
		}
		n.reported.Add(job.ID)
		n.arrivals = append(n.arrivals, a)
	}
}
