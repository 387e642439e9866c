package wire

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// WithoutLimits returns a state and the round that comes next for a plugin that knows of no limits:
// without rows, and with jobs that take of none. Jobs for which rows have no room have no candidates:
// in the queue's order each job is counted, with what runs, and is left out if the rows have less than
// that, whenever it would run. So jobs that are not left out can be placed by slots alone.
func WithoutLimits(s backfill.Snapshot, r backfill.Round) (backfill.Snapshot, backfill.Round) {
	none := backfill.CandidateSet{ID: len(s.Candidates)}
	for _, set := range r.Candidates {
		none.ID = max(none.ID, set.ID+1)
	}
	out := leftOut(s, r)
	bare := func(j *backfill.Job) *backfill.Job {
		if j == nil || j.Takes == nil {
			return j
		}
		c := *j
		if c.Takes = nil; out[j] {
			c.Candidates = none.ID
		}
		return &c
	}
	s.Rows, s.Jobs, s.Candidates = nil, slices.Clone(s.Jobs), append(slices.Clip(s.Candidates), none)
	for i := range s.Jobs {
		s.Jobs[i].Job = bare(s.Jobs[i].Job)
	}
	r.Rows, r.Events, r.Candidates = nil, slices.Clone(r.Events), append(slices.Clip(r.Candidates), none)
	for i := range r.Events {
		r.Events[i].Job = bare(r.Events[i].Job)
	}
	return s, r
}

// leftOut returns the jobs, of a state and of the events of the round that comes next, for which rows
// have no room.
func leftOut(s backfill.Snapshot, r backfill.Round) map[*backfill.Job]bool {
	left := make([]int64, len(s.Rows))
	for _, row := range s.Rows {
		left[row.ID] = row.Height
	}
	take := func(j *backfill.Job) {
		for _, t := range j.Takes {
			left[t.Row] -= t.Amount
		}
	}
	gone := map[backfill.JobID]bool{}
	var jobs []backfill.JobState
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case backfill.Completed, backfill.Removed:
			gone[e.JobID] = true
		case backfill.Found:
			gone[e.Job.ID] = true
			take(e.Job)
		case backfill.Changed, backfill.Submitted:
			gone[e.Job.ID] = e.Kind == backfill.Changed
			jobs = append(jobs, backfill.JobState{Job: e.Job, Key: e.Key})
		default:
		}
	}
	for _, j := range s.Jobs {
		switch {
		case gone[j.Job.ID] || len(j.Job.Takes) == 0:
		case j.Running: // one that comes back in the round may run again
			take(j.Job)
		default:
			jobs = append(jobs, j)
		}
	}
	slices.SortStableFunc(jobs, func(a, b backfill.JobState) int {
		planned := func(j backfill.JobState) int { return min(len(j.Placement), 1) }
		return cmp.Or(planned(b)-planned(a), cmp.Compare(a.Key, b.Key), backfill.Compare(a.Job, b.Job))
	})
	out := map[*backfill.Job]bool{}
	for _, j := range jobs {
		out[j.Job] = slices.ContainsFunc(j.Job.Takes, func(t backfill.Take) bool { return t.Amount > left[t.Row] })
		if !out[j.Job] || j.Placement != nil { // a reservation may stay where it is
			take(j.Job)
		}
	}
	return out
}
