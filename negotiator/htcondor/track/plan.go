package track

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Broken is a guarantee that a lease or a limit has broken: the job left the plan, since it was
// expected to start under the lease, and did not, or it was held or left out while the limit was too low
// for it. The negotiator does not know of such a guarantee any more.
type Broken struct {
	Job           string
	Promised, Now backfill.Time // the latest starts, as they were promised before and after
	Cause         string        // lease or limit
}

// TakePlan takes in the negotiator's plan: which jobs no slot can run, and what was promised. It
// returns the guarantees that leases and limits have broken. Jobs that only wait need not be in the
// plan.
func (b *Belief) TakePlan(plan negotiator.Checkpoint) (broken []Broken) {
	b.notePromises(plan)
	for _, j := range b.inPlan {
		if j.Phase == Waiting { // unless the plan says otherwise, it only waits
			j.hopeless, j.starts = nil, 0
			j.promise(negotiator.JobCheckpoint{}, 0)
		}
	}
	b.inPlan = b.inPlan[:0]
	for _, p := range plan.Jobs {
		if j := b.byID[p.Job.ID]; j != nil {
			b.inPlan = append(b.inPlan, j)
			broken = append(broken, j.promise(p, b.s.StartSlack)...)
			j.hopeless, j.starts = nil, p.Start
			b.book(j)
			switch {
			case p.Held == "" || p.Unknown != "":
			case p.Unmatched:
				j.hopeless = &hopeless{j.Spec, "matches no slot"}
			default:
				j.hopeless = &hopeless{j.Spec, p.Held}
			}
		}
	}
	return broken
}

// promise notes what the plan promises to a job. It returns the guarantee that the job had before
// it left the plan for a lease or a limit, if that is broken: not by a start that is late by no more than the slack.
func (j *Job) promise(p negotiator.JobCheckpoint, slack backfill.Time) (broken []Broken) {
	latest := p.Guarantee
	switch {
	case p.Running && j.promised > 0 && p.Start <= j.promised+slack:
		latest = min(p.Start, j.promised)
	case p.Running:
		latest = p.Start
	case !p.Promised:
		latest = 0
	}
	if backfill.OverLimit(p.Held) && j.promised > 0 {
		j.owed, j.yielded = true, true
	}
	if j.owed && latest == 0 {
		return nil // it may be promised something in another plan
	}
	if j.owed && j.promised > 0 && latest > j.promised {
		broken = []Broken{{p.Job.Name, j.promised, latest, "lease"}}
		if j.yielded {
			broken[0].Cause = "limit"
		}
	}
	j.promised, j.owed, j.yielded = latest, false, false
	return broken
}

// CannotRun tells whether no slot is known that can run a job.
func (j *Job) CannotRun() bool {
	return j.hopeless != nil && (j.hopeless.spec == j.Group.Spec || j.hopeless.spec.Text == j.Group.Spec.Text)
}
