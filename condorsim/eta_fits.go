package condorsim

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// fitsOf returns where the schedule has waiting jobs, without playing it ahead: at their
// reservations, and the others at their earliest fits beside those before them. Reservations that
// rest on requested times move forward as far as predicted ones allow. It is what start times that
// are played are compared with.
func fitsOf(o *outlook.Outlook, asked []backfill.JobID) map[backfill.JobID]backfill.Time {
	s := o.State()
	found := map[backfill.JobID]backfill.Time{}
	if _, guarantees := s.Policy(); guarantees {
		return foreseen(o, s)
	}
	c, err := s.Open(backfill.Round{Now: s.Now()})
	if err != nil {
		return found
	}
	left := len(asked)
	for _, j := range s.FirstWaiting(s.Waiting()) {
		start, _, placed := c.Reservation(j)
		if !placed {
			at, where, ok := c.Earliest(j, s.Now())
			if !ok {
				continue
			}
			c.Reserve(j, at, where)
			start = at
		}
		found[j.ID] = start
		if slices.Contains(asked, j.ID) {
			if left--; left == 0 {
				break
			}
		}
	}
	return found
}

// foreseen returns the reservations of a policy that gives guarantees, each moved forward in the
// order of their starts as far as predicted run times allow. It changes the state.
func foreseen(o *outlook.Outlook, s *backfill.State) map[backfill.JobID]backfill.Time {
	found := map[backfill.JobID]backfill.Time{}
	round := backfill.Round{Now: s.Now()}
	var waiting []backfill.JobState
	foretold := false
	for _, j := range s.Snapshot().Jobs {
		known, predicted := o.Of(j.Job.ID)
		foretold = foretold || predicted
		switch {
		case j.Running:
			if predicted {
				if end := endOf(j, known, s.Now()); end < j.End {
					e := backfill.Event{Kind: backfill.EstimateChanged, JobID: j.Job.ID, End: end}
					round.Events = append(round.Events, e)
				}
			}
		case j.Placement != nil:
			found[j.Job.ID] = j.Start
			if predicted {
				shorter := *j.Job
				shorter.Estimate = known.Predicted
				j.Job = &shorter
			}
			waiting = append(waiting, j)
			round.Events = append(round.Events, backfill.Event{Kind: backfill.Changed, Job: j.Job, Key: j.Key})
		}
	}
	if !foretold {
		return found
	}
	slices.SortFunc(waiting, func(a, b backfill.JobState) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job, b.Job))
	})
	c, err := s.Open(round)
	if err != nil {
		return found
	}
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range waiting {
		if start, at, ok := c.Earliest(j.Job, s.Now()); ok {
			c.Reserve(j.Job, start, at)
			found[j.Job.ID] = min(start, j.Start)
		}
	}
	return found
}

// endOf returns when a running job ends by its prediction, corrected if it has outlived that.
func endOf(j backfill.JobState, known outlook.Prediction, now backfill.Time) backfill.Time {
	if end, within := known.Correction.End(j.Start, known.Predicted, known.Requested, now); within {
		return end
	}
	return j.End
}
