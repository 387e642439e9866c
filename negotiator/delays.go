package negotiator

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// A pool takes its time to start a job, and the job's place in the plan is longer for it by the start
// slack. How long it really takes is learned from the jobs that were started and began to run.

// learnDelays notes which jobs are now known to run, and since when.
func (n *Negotiator) learnDelays(d *Delta) {
	for _, b := range d.Began {
		if n.State().IsRunning(b.Job) {
			n.begins(b.Job, b.At)
		}
	}
	for i := range d.Found {
		n.begins(d.Found[i].Job.ID, d.Found[i].Start)
	}
}

// begins notes since when a job runs, and learns how long its start took if it is one of ours.
func (n *Negotiator) begins(id backfill.JobID, at backfill.Time) {
	k := n.jobs.Put(id)
	if k.matched != 0 {
		n.delays.Learn(at - k.matched)
	}
	k.matched, k.began = 0, at
}

// starts notes that a job is started in this cycle. A start that is tried again at once is still the
// first one.
func (n *Negotiator) starts(id backfill.JobID, now backfill.Time) {
	k := n.jobs.Put(id)
	if k.began = 0; k.matched == 0 {
		k.matched = now
	}
}

// stay forgets when jobs were started whose start has failed, if they are not started again at once.
func (n *Negotiator) stay(failed []backfill.JobID) {
	for _, id := range failed {
		if k := n.jobs.Find(id); k != nil && !n.State().IsRunning(id) {
			k.matched = 0
			if n.outdated(id) {
				n.stale = append(n.stale, id)
			}
		}
	}
}

// outdated reports that a job is planned with another run time than it would be now.
func (n *Negotiator) outdated(id backfill.JobID) bool {
	job, planned := n.jobs.get(id), n.State().Job(id)
	if job == nil || planned == nil {
		return false
	}
	now := *planned
	n.predictions.plan(&now, job)
	return now.Estimate != planned.Estimate
}

// Began returns since when a job runs; 0: that is not known, or it does not run.
func (n *Negotiator) Began(id backfill.JobID) backfill.Time {
	if k := n.jobs.Find(id); k != nil {
		return k.began
	}
	return 0
}

// Delays returns how long the last starts took.
func (n *Negotiator) Delays() estimate.Delays { return n.delays }
