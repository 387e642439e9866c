package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Shallow is added to a seed to limit the depth of the plan to a few jobs, or how much work it holds,
// or both. In every other pool jobs enter it by the queue's order. A policy that does not follow [backfill.Planning] is given no limit.
const Shallow uint64 = 1 << 51

// planning returns how far the policy plans in the pool of a seed.
func planning(seed uint64) backfill.Planning {
	if seed&Shallow == 0 {
		return backfill.Planning{}
	}
	p := backfill.Planning{Depth: 1 + int(seed/2%6), Reorder: seed%2 == 0, Horizon: backfill.Time(seed/4%3) * 20}
	if p.Horizon == 40 {
		p.Depth = 0
	}
	return p
}

// depth reports a job that was left without a promise although the plan had room for it before the
// round's starts; of a plan with a horizon, only if its user has no promise. In calm pools it also
// reports a plan that is deeper than it may be and, without a horizon, a job that entered it before one
// that is to come first. Call it before the run's record of the guarantees is
// brought up to date.
func (r *Run) depth() {
	planned := 0
	var entered, left []backfill.JobState
	started, reserved := map[backfill.JobID]bool{}, map[backfill.JobID]bool{}
	for _, s := range r.decision.Started {
		started[s.Job.ID] = true
	}
	for _, a := range r.decision.Actions {
		reserved[a.Job] = reserved[a.Job] || a.Kind == backfill.ActReserve
	}
	for _, j := range r.snap.Jobs {
		_, before := r.guarantees[j.Job.ID]
		switch {
		case j.Running && !started[j.Job.ID] || j.Held != "":
		case j.Promised || j.Running && reserved[j.Job.ID]: // a lifted promise may have ended with the start
			planned++
			if !before {
				entered = append(entered, j)
			}
		case !j.Running:
			left = append(left, j)
		}
	}
	left = slices.DeleteFunc(left, r.mayWait)
	limit := r.snap.Planning.Depth
	room, bounded := limit == 0 || planned < limit, r.snap.Planning.Horizon > 0
	switch {
	case bounded && room:
		r.eachUser(left, started, reserved)
	case len(left) > 0 && room:
		r.find(Guaranteed, left[0].Job, "job %d waits without a guarantee", left[0].Job.ID)
	case !r.Driver.calm() || limit == 0:
	case planned > limit:
		r.find(Guaranteed, nil, "%d jobs were planned and the plan has a depth of %d", planned, limit)
	case !bounded && len(entered) > 0 && len(left) > 0:
		last, first := slices.MaxFunc(entered, r.enters), slices.MinFunc(left, r.enters)
		if r.enters(first, last) < 0 {
			r.find(Guaranteed, first.Job, "job %d waits without a guarantee, and job %d, which comes behind it, got one",
				first.Job.ID, last.Job.ID)
		}
	}
}

// eachUser reports a user who has jobs among those that were left without a promise, and none that
// had one before the round's starts.
func (r *Run) eachUser(left []backfill.JobState, started, reserved map[backfill.JobID]bool) {
	promised := map[string]bool{}
	for _, j := range r.snap.Jobs {
		if j.Promised && (!j.Running || started[j.Job.ID]) || j.Running && started[j.Job.ID] && reserved[j.Job.ID] {
			promised[j.Job.Labels["owner"]] = true
		}
	}
	for _, j := range left {
		if !promised[j.Job.Labels["owner"]] {
			r.find(Guaranteed, j.Job, "job %d waits, and its user %q has no guarantee", j.Job.ID, j.Job.Labels["owner"])
			return
		}
	}
}

// enters compares two jobs by the order in which they enter the plan.
func (r *Run) enters(a, b backfill.JobState) int {
	if r.snap.Planning.Reorder {
		return before(a, b)
	}
	return backfill.Compare(a.Job, b.Job)
}
