package negotiator

import (
	"cmp"
	"maps"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Expected is a job that a play submits although nobody has: such as one of the past that may come
// again. Its ID must be one that no known job has.
type Expected struct {
	// Job is what the policy sees of it, in any of the forms that a job has: planned with predicted
	// run times or with the requested one.
	Job *backfill.Job
	// Ad is what the pool advertises of it, which an order's expression sees.
	Ad *Job
	// Uses are its predicted run times, and Requested is the one that it requests, without slack.
	Uses      estimate.Uses
	Requested backfill.Time
}

// Expecting returns an outlook that knows more jobs, which plays may submit.
func (o *Outlook) Expecting(jobs []Expected) *Outlook {
	if len(jobs) == 0 {
		return o
	}
	next := &Outlook{
		Predictions: o.Predictions, now: o.now, state: o.State(), order: o.order, jobs: o.jobs, resources: o.resources,
		unlike: o.unlike,
	}
	if next.of = maps.Clone(o.of); next.of == nil {
		next.of = make(map[backfill.JobID]predicted, len(jobs))
	}
	next.jobs = maps.Clone(o.jobs) // nil: no order needs them
	for _, e := range jobs {
		if e.Uses != (estimate.Uses{Order: e.Requested, Backfill: e.Requested, Running: e.Requested}) {
			next.of[e.Job.ID] = predicted{Uses: e.Uses, requested: e.Requested}
		}
		if next.jobs != nil {
			next.jobs[e.Job.ID] = e.Ad
		}
	}
	return next
}

// Taking changes where a play begins: another policy takes over at once, as in a [Change] with the
// same estimators. If only one of the two policies gives guarantees, jobs are planned with other run
// times from then on. Arrivals are planned as the new policy plans them.
func (o *Outlook) Taking(from ahead.Start, guarantees bool) ahead.Start {
	from.First = &backfill.Round{Now: o.now}
	for i, j := range from.Arrivals {
		from.Arrivals[i] = o.plannedUnder(j, guarantees)
	}
	if guarantees == o.guarantees || len(o.of) == 0 {
		return from
	}
	for _, was := range from.State.Snapshot().Jobs {
		e := backfill.Event{Kind: backfill.Changed, Job: o.plannedUnder(was.Job, guarantees)}
		if e.Job == was.Job {
			continue
		}
		if was.Running {
			u := o.unlike[was.Job.ID]
			e.Kind, e.Placement, e.Start = backfill.Found, was.Placement, was.Start
			began := was.Start
			if u.began != 0 {
				began = u.began
			}
			e.End = max(cmp.Or(u.end, began+runs(e.Job)), u.lease)
		}
		from.First.Events = append(from.First.Events, e)
	}
	return from
}

// plannedUnder returns a job as a policy plans it that gives guarantees, or gives none: the job
// itself if that is how it is planned already.
func (o *Outlook) plannedUnder(j *backfill.Job, guarantees bool) *backfill.Job {
	known, predicted := o.of[j.ID]
	if !predicted {
		return j
	}
	planned := *j
	planned.Limit = cmp.Or(j.Limit, known.requested+o.slack)
	planned.Estimate, planned.Running = known.requested+o.slack, 0
	if !guarantees && (known.Backfill != known.requested || known.Running != known.requested) {
		planned.Estimate = known.Backfill + o.slack
		if known.Running != known.Backfill {
			planned.Running = known.Running + o.slack
		}
	}
	if planned.Estimate == j.Estimate && planned.Running == j.Running {
		return j
	}
	return &planned
}
