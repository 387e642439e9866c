package negotiator

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// learn makes the estimators learn from the jobs that completed, in order of jobs, before run times are
// predicted.
func (n *Negotiator) learn(d *Delta) {
	p := n.predictions
	p.learned = p.learned[:0]
	if p.set == nil {
		return
	}
	inOrder := func(a, b backfill.JobID) int { return backfill.Compare(n.State().Job(a), n.State().Job(b)) }
	for _, id := range slices.SortedFunc(slices.Values(d.Completed), inOrder) {
		ran, known := d.Ran[id]
		if !known {
			run, _ := n.State().Reason(id)
			ran = d.Now - run.At
		}
		if ran < 0 {
			continue
		}
		p.learn(PastRun{n.jobs.get(id), ran}, d.Now)
	}
	for _, run := range d.Taught {
		if run.Ran >= 0 {
			p.learn(run, d.Now)
		}
	}
}

// Learned iterates over the runs from which the estimators have learned, between two cycles.
func (n *Negotiator) Learned() iter.Seq[estimate.Ended] {
	if n.predictions.set == nil {
		return func(func(estimate.Ended) bool) {}
	}
	return n.predictions.set.History().All()
}

// learn makes the estimators learn from a run that ended now.
func (p *predictions) learn(run PastRun, now backfill.Time) {
	ended := estimate.Ended{Job: p.describe(run.Job), Ran: run.Ran, At: now}
	ended.Requested, ended.Stated = p.stated(run.Job), 0
	p.set.Learn(ended)
	p.learned = append(p.learned, ended)
}

// replan adds the known jobs to the arrivals, if their run times are to be predicted anew. Of the
// jobs that the delta reports it adds only those that get a new end, or are back in the queue.
func (n *Negotiator) replan(d *Delta) {
	if !n.predictions.anew {
		return
	}
	ends := map[backfill.JobID]backfill.Time{}
	for _, end := range d.Ends {
		ends[end.Job] = end.At
	}
	isBack := n.returning(d)
	for _, before := range n.State().Snapshot().Jobs {
		id := before.Job.ID
		if before.Pinned || before.Yields {
			continue
		}
		end, moved := ends[id]
		returns := before.Running && isBack(id, before.Placement)
		if n.reported.Has(id) && !moved && !returns {
			continue
		}
		a := arrival{kind: backfill.Changed, job: n.jobs.get(id), replanned: before.Job}
		if before.Running && !returns {
			a.kind, a.placement, a.start, a.end = backfill.Found, before.Placement, before.Start, end
		}
		n.arrivals = append(n.arrivals, a)
	}
}

// returning returns a function that reports whether the delta brings a running job, given with its
// placement, back to the queue.
func (n *Negotiator) returning(d *Delta) func(backfill.JobID, backfill.Placement) bool {
	lost := map[backfill.SlotID]bool{}
	for _, name := range d.SlotsDown {
		lost[n.inventory.ids[name]] = true
	}
	gone := map[backfill.JobID]bool{}
	for _, id := range slices.Concat(d.Completed, d.Removed) {
		gone[id] = true
	}
	for _, run := range d.Found {
		gone[run.Job.ID] = true
	}
	for _, job := range d.Changed { // those that come back arrive already
		gone[job.ID] = true
	}
	failed := map[backfill.JobID]bool{} // a pool may lose thousands of jobs at once
	for _, id := range d.StartFailed {
		failed[id] = true
	}
	isLost := func(c backfill.Chunks) bool { return lost[c.Slot] }
	return func(id backfill.JobID, at backfill.Placement) bool {
		return !gone[id] && (failed[id] || slices.ContainsFunc(at, isLost))
	}
}
