package track

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Jobs that never run would take a group's part from its other jobs, if they counted in its sums:
// such that match nothing, are deferred by a day, or want a slot that is busy. The last are known by
// the others that start before them. Who has had such jobs for tryFor has all his jobs count as such
// but those of kinds of which one has started since: he could submit others all the time, under
// invented names.

// passing is since when others start before jobs of a user, and when he last had jobs.
type passing struct{ since, last backfill.Time }

// notePassed notes whose jobs others came before in the last cycle.
func (b *Belief) notePassed() {
	started, now := b.started, b.now.Now
	b.started = nil
	ids := make([]backfill.JobID, len(started))
	for i, j := range started {
		ids[i] = j.ID
	}
	passed := b.order.Passed(ids)
	if passed == nil {
		return
	}
	var spec *observe.Spec
	var user *passing
	for _, j := range b.line {
		if j.Phase != Waiting || !b.knows(j) || b.Early(j) {
			continue
		}
		if j.Group.Spec != spec {
			spec = j.Group.Spec
			if user = b.passed[spec.User()]; user != nil {
				user.last = now
			}
		}
		if len(started) == 0 || !passed(j.ID) {
			continue
		}
		if user == nil {
			user = &passing{now, now}
			b.passed[spec.User()] = user
		}
		delete(b.starts, spec)
	}
	for _, j := range started {
		b.starts[j.Spec] = now
	}
	for name, p := range b.passed {
		if now-p.last >= b.vainFor() || now < p.last {
			delete(b.passed, name)
		}
	}
	for kind, at := range b.starts {
		if now-at >= b.vainFor() || now < at {
			delete(b.starts, kind)
		}
	}
}

// passedOver tells whether a waiting job does not count in the sums of its group.
func (b *Belief) passedOver(j *Job) bool {
	if b.Early(j) || j.CannotRun() {
		return true
	}
	user := b.passed[j.Group.Spec.User()]
	return user != nil && b.now.Now-user.since >= b.tryFor() && b.starts[j.Group.Spec] == 0
}
