package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Prediction is how long a job is taken to run, where that is not what it requests.
type Prediction struct{ Requested, Predicted backfill.Time }

// Predictions are what was foretold of jobs, as of a cycle. The zero value is nothing.
type Predictions struct {
	of    map[backfill.JobID]Prediction
	slack backfill.Time
}

// Expected is when and where a waiting job may be expected to start.
type Expected struct {
	Start     backfill.Time
	Placement backfill.Placement
}

// Predictions copies out what is foretold after the cycle, before the next one.
func (r *Report) Predictions() Predictions {
	p := r.predictions
	if p == nil || len(p.known) == 0 {
		return Predictions{}
	}
	of := make(map[backfill.JobID]Prediction, len(p.known))
	for id, known := range p.known {
		one := Prediction{Predicted: known.Backfill}
		switch {
		case p.guarantees: // the other two are what is requested
			one.Predicted = known.Order
		case r.State.IsRunning(id):
			one.Predicted = known.Running
		}
		if one.Requested = p.requested(p.jobs[id]); one.Predicted != one.Requested {
			of[id] = one
		}
	}
	return Predictions{of: of, slack: p.slack}
}

// Of is what was foretold of a job, if that is not what it requests.
func (p Predictions) Of(id backfill.JobID) (Prediction, bool) {
	one, known := p.of[id]
	return one, known
}

// Forecast says when waiting jobs start if all run for as long as foretold, under a
// policy that gives guarantees: its plan rests on what jobs request. Each job is placed
// anew with its predicted run time, in the order of the planned starts, and starts no
// later than planned. Under other policies the plan itself rests on predictions, and
// the forecast is empty. The state is used up; its jobs are walked once.
func (p Predictions) Forecast(s *backfill.State) map[backfill.JobID]Expected {
	if _, guarantees := s.Policy(); !guarantees || len(p.of) == 0 {
		return nil
	}
	round := backfill.Round{Now: s.Now()}
	var waiting []backfill.JobState
	for _, j := range s.Snapshot().Jobs {
		switch {
		case j.Running:
			if end := p.end(j, s.Now()); end < j.End {
				round.Events = append(round.Events, backfill.Event{Kind: backfill.EstimateChanged, Job: j.Job.ID, End: end})
			}
		case j.Placement != nil:
			waiting = append(waiting, j)
		}
	}
	slices.SortFunc(waiting, func(a, b backfill.JobState) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job, b.Job))
	})
	for i, j := range waiting {
		if known, foretold := p.of[j.Job.ID]; foretold {
			shorter := *j.Job
			shorter.Estimate = known.Predicted + p.slack
			waiting[i].Job = &shorter
		}
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Changed, Spec: waiting[i].Job, Key: j.Key})
	}
	c, err := s.Open(round)
	if err != nil {
		return nil
	}
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	expected := make(map[backfill.JobID]Expected, len(waiting))
	for _, j := range waiting {
		start, at, ok := c.Earliest(j.Job, s.Now())
		if ok {
			c.Reserve(j.Job, start, at)
		}
		if !ok || start > j.Start {
			start, at = j.Start, j.Placement
		}
		expected[j.Job.ID] = Expected{Start: start, Placement: at}
	}
	return expected
}

// end is when a running job is taken to end: what was foretold, doubled up to what it
// requests while it has outlived that.
func (p Predictions) end(j backfill.JobState, now backfill.Time) backfill.Time {
	known, foretold := p.of[j.Job.ID]
	if !foretold {
		return j.End
	}
	limit := known.Requested + p.slack
	for d := known.Predicted + p.slack; d < limit; d *= 2 {
		if j.Start+d > now {
			return j.Start + d
		}
	}
	return j.End
}
