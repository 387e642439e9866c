package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Expected is when and where a waiting job is expected to start.
type Expected struct {
	Start     backfill.Time
	Placement backfill.Placement
}

// Forecast returns when and where the jobs with a reservation start if all jobs run for their
// predicted times. It is nil without predictions, and unless the policy gives guarantees: such a
// policy plans with requested times, whereas the plans of others use predictions already.
//
// It places each job anew with its predicted run time, in the order of the planned starts. None
// starts later than planned. It changes the state s, so pass a clone.
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
				e := backfill.Event{Kind: backfill.EstimateChanged, JobID: j.Job.ID, End: end}
				round.Events = append(round.Events, e)
			}
		case j.Placement != nil:
			waiting = append(waiting, j)
		}
	}
	slices.SortFunc(waiting, func(a, b backfill.JobState) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job, b.Job))
	})
	for i, j := range waiting {
		if known, predicted := p.of[j.Job.ID]; predicted {
			shorter := *j.Job
			shorter.Estimate = known.Predicted + p.slack
			waiting[i].Job = &shorter
		}
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Changed, Job: waiting[i].Job, Key: j.Key})
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

// end returns when a running job is expected to end. If the job has run for its predicted time, the
// prediction is doubled until it is longer than the job has run, up to the requested time.
func (p Predictions) end(j backfill.JobState, now backfill.Time) backfill.Time {
	known, predicted := p.of[j.Job.ID]
	if !predicted {
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
