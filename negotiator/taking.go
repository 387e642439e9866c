package negotiator

import (
	"maps"
	"slices"

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

// Taking changes where a play begins, or goes on with the state of another play of this outlook:
// another policy takes over at once, as in a [Change] with the same estimators; see Under. Arrivals
// are planned as the new policy plans them.
func (o *Outlook) Taking(from ahead.Start, guarantees bool) ahead.Start {
	from.Arrivals = slices.Clone(from.Arrivals)
	for i, j := range from.Arrivals {
		if known, is := o.of[j.ID]; is {
			planned := o.replanned(j, known, !guarantees)
			from.Arrivals[i] = &planned
		}
	}
	from.First = &backfill.Round{Now: from.State.Now(), Events: o.replan(from.State, o.of, guarantees)}
	return from
}
