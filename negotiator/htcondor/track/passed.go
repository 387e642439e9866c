package track

import (
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Jobs that never run would take a group's part from its other jobs, if they counted in its sums:
// such that match nothing, are deferred by a day, or want a slot that is busy. The last are known by
// the others that start before them. Who has had such jobs for tryFor has all his jobs count as such
// but those of kinds of which one has started since: he could submit others all the time, under
// invented names. Of these, kinds before which more others have started come later, so each has its
// turn to be tried, and those that can start are not kept behind those that cannot.

// passing is since when others start before jobs of a user, and when he last had jobs.
type passing struct{ since, last backfill.Time }

// futility is how many others start before jobs of a kind: in the last cycle with starts, and the mean of
// these numbers so far, of which each weighs half of the next.
type futility struct {
	last int
	mean float64
}

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
		if len(started) == 0 {
			continue
		}
		others := passed(j.ID)
		if others == 0 {
			continue
		}
		if user == nil {
			user = &passing{now, now}
			b.passed[spec.User()] = user
		}
		delete(b.starts, spec)
		if v := b.vain[spec]; others > v.last {
			b.vain[spec] = futility{others, v.mean}
		}
	}
	for _, j := range started {
		b.starts[j.Spec] = now
		delete(b.vain, j.Spec)
	}
	if len(started) > 0 {
		b.ageFutility()
	}
	b.forgetPassed()
}

// forgetPassed forgets users who have had no jobs, and kinds that have not started, for long.
func (b *Belief) forgetPassed() {
	now := b.now.Now
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

// ageFutility has the last cycle's numbers count in the means. Only cycles with starts tell anything.
func (b *Belief) ageFutility() {
	const none = 1e-6
	for kind, v := range b.vain {
		v = futility{mean: (v.mean + float64(v.last)) / 2}
		if b.vain[kind] = v; v.mean < none {
			delete(b.vain, kind)
		}
	}
}

// passedOver tells whether a waiting job does not count in the sums of its group, and how much less of a
// chance to start it has than others of its user.
func (b *Belief) passedOver(j *Job) (passed bool, vain float64) {
	if b.Early(j) || j.CannotRun() {
		return true, math.Inf(1)
	}
	spec := j.Group.Spec
	user := b.passed[spec.User()]
	return user != nil && b.now.Now-user.since >= b.tryFor() && b.starts[spec] == 0, b.vain[spec].mean
}
