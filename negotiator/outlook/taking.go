package outlook

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Under returns the outlook under a policy that gives guarantees or not and, if the set is not nil,
// with other estimators; and the round with which a play under it begins: jobs that are planned with
// other run times then, as in the first cycle after such a change. The policy itself is for the rules
// of the play to name. Estimators that need more than a job's labels are not for this.
func (o *Outlook) Under(guarantees bool, set *estimate.Set) (*Outlook, *backfill.Round) {
	first := &backfill.Round{Now: o.now}
	known := o.known
	switch {
	case set != nil:
		known = o.predict(set)
		first.Events = o.replan(o.State(), known, guarantees)
	case guarantees != o.guarantees:
		first.Events = o.replan(o.State(), known, guarantees)
	}
	return o.with(Predictions{known: known, slack: o.slack, guarantees: guarantees}), first
}

// predict returns what estimators predict for all jobs, where that differs from what they request.
func (o *Outlook) predict(set *estimate.Set) map[backfill.JobID]negotiator.RunTimes {
	all := map[backfill.JobID]negotiator.RunTimes{}
	jobs := o.State().Snapshot().Jobs
	asked := func(j *backfill.Job) estimate.Job {
		return estimate.Job{Requested: o.Requested(j), Unestimated: j.Unestimated, Labels: j.Labels, Cpus: j.Width()}
	}
	for _, one := range jobs {
		if one.Running && !one.Pinned && set.HeedsRunning() {
			set.Started(estimate.Run{Job: asked(one.Job), Since: one.Start, Planned: one.Job})
		}
	}
	for _, before := range jobs {
		as := asked(before.Job)
		r, uses := as.Requested, set.Estimate(&as, o.now)
		if uses != (estimate.Uses{Order: r, Backfill: r, Running: r}) {
			all[before.Job.ID] = negotiator.RunTimes{
				Uses: uses, Requested: r, Runs: before.Running, Correction: set.Correction(),
			}
		}
	}
	return all
}

// Taking changes where a play begins, or goes on with the state of another play of this outlook:
// another policy takes over at once, as in a [negotiator.Change] with the same estimators; see Under.
// Arrivals are planned as the new policy plans them.
func (o *Outlook) Taking(from ahead.Start, guarantees bool) ahead.Start {
	from.Arrivals = slices.Clone(from.Arrivals)
	for i, j := range from.Arrivals {
		if known, predicted := o.known[j.ID]; predicted {
			planned := o.replanned(j, known, !guarantees)
			from.Arrivals[i] = &planned
		}
	}
	from.First = &backfill.Round{Now: from.State.Now(), Events: o.replan(from.State, o.known, guarantees)}
	return from
}

// replan returns the events with which a policy takes over a state: jobs that are planned with other
// run times under it, with the given predictions.
func (o *Outlook) replan(s *backfill.State, predicted map[backfill.JobID]negotiator.RunTimes, guarantees bool,
) (all []backfill.Event) {
	if len(predicted) == 0 && len(o.known) == 0 {
		return nil // all jobs are planned with what they request
	}
	for _, before := range s.Snapshot().Jobs {
		known, found := predicted[before.Job.ID]
		now := o.replanned(before.Job, known, found && !guarantees)
		if now.Estimate == before.Job.Estimate && now.Running == before.Job.Running && now.Limit == before.Job.Limit &&
			now.Correction == before.Job.Correction {
			continue
		}
		e := backfill.Event{Kind: backfill.Changed, Job: &now}
		if before.Running {
			u := o.unlike[now.ID]
			e.Kind, e.Placement, e.Start = backfill.Found, before.Placement, before.Start
			runs := cmp.Or(now.Running, now.Estimate)
			e.End = max(cmp.Or(u.end, cmp.Or(u.began, before.Start)+runs), u.lease)
		}
		all = append(all, e)
	}
	return all
}
