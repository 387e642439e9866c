package outlook

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Predictions are the predicted run times, after a cycle, of all jobs for which they differ from
// the requested ones. The zero value has none.
type Predictions struct {
	known      map[backfill.JobID]negotiator.RunTimes
	slack      backfill.Time
	guarantees bool // of the policy in charge
}

// Prediction is how long a job is expected to run, if that differs from what it requests.
type Prediction struct {
	Requested, Predicted backfill.Time
	// Correction is what is expected of the job once it has outlived that.
	Correction backfill.Correction
}

// Of returns the prediction of a job; false if the job is expected to run for as long as it
// requests. Under a policy that gives guarantees it is the one that the order uses, as the plan uses
// the requested time.
func (p Predictions) Of(id backfill.JobID) (Prediction, bool) {
	known, found := p.known[id]
	one := Prediction{Requested: known.Requested, Predicted: known.Backfill, Correction: known.Correction}
	switch {
	case p.guarantees:
		one.Predicted = known.Order
	case known.Runs:
		one.Predicted = known.Running
	}
	return one, found && one.Predicted != one.Requested
}

// Guarantees reports whether the policy in charge gives guarantees.
func (p Predictions) Guarantees() bool { return p.guarantees }

// RunTime returns for how long a job is taken to run in all: for the predicted time, also under a
// policy that plans with requested times, else for the requested one. The start slack is a part of
// plans and promises, and not of what is expected.
func (p Predictions) RunTime(j *backfill.Job) backfill.Time {
	switch known, predicted := p.known[j.ID]; {
	case !predicted:
		return max(1, p.planned(j)-p.slack)
	case p.guarantees:
		return known.Order
	default:
		return known.Running // also in a play in which a policy plans it otherwise
	}
}

// Requested returns the run time that a job requests.
func (p Predictions) Requested(j *backfill.Job) backfill.Time {
	if known, predicted := p.known[j.ID]; predicted {
		return known.Requested
	}
	return max(1, j.Estimate-p.slack)
}

// Planned returns for how long a job is planned that requests a run time.
func (p Predictions) Planned(requested backfill.Time) backfill.Time { return requested + p.slack }

// planned returns for how long a job is planned to run, once it runs.
func (p Predictions) planned(j *backfill.Job) backfill.Time {
	if p.guarantees || j.Running == 0 {
		return j.Estimate
	}
	return j.Running
}

// replanned returns a job with the run times with which it is planned, by a prediction or, if that
// is not to count, by what it requests. It is what a negotiator does, without the job's ad.
func (p Predictions) replanned(j *backfill.Job, known negotiator.RunTimes, predicted bool) backfill.Job {
	now, requested := *j, p.Requested(j)
	now.Estimate, now.Running, now.Correction = requested+p.slack, 0, 0
	if predicted && (known.Backfill != requested || known.Running != requested) {
		now.Estimate, now.Limit = known.Backfill+p.slack, cmp.Or(j.Limit, requested+p.slack)
		now.Correction = known.Correction
		if known.Running != known.Backfill {
			now.Running = known.Running + p.slack
		}
	}
	return now
}

// ordered wraps an order, so that it sees the run times that are predicted for it.
func (p Predictions) ordered(order backfill.Order) backfill.Order {
	if order == nil || len(p.known) == 0 {
		return order
	}
	seen := map[backfill.JobID]*backfill.Job{} // as the order sees them
	return func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
		known, predicted := p.known[j.ID]
		if !predicted || known.Order+p.slack == j.Estimate {
			return order(j, at)
		}
		ordered := seen[j.ID]
		if ordered == nil {
			copied := *j
			copied.Estimate = known.Order + p.slack
			ordered, seen[j.ID] = &copied, &copied
		}
		return order(ordered, at)
	}
}
