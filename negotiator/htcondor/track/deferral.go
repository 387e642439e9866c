package track

import (
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A job that may not run before a time is planned before it, so that a slot is kept for it in a full
// pool. It is not planned arbitrarily early: while a slot is kept, jobs that would run for longer
// cannot have it. A job that cools down comes last of all, but for the last minutes, as schedds tell
// short cool-downs from long ones.
const (
	deferredAhead = 24 * 3600
	coolingAhead  = 5 * 60
)

// idle returns how long a claim that begins at a time is idle until its job begins to run.
func (j *Job) idle(from backfill.Time) backfill.Time { return j.Group.Deferral.Idle(from) }

// ahead returns for how long the claim of a waiting job is idle if it is had as soon as possible.
func (b *Belief) ahead(j *Job) backfill.Time { return j.idle(max(b.now.Now, b.release(j))) }

// release returns the earliest time at which a job may be matched; 0: any. A job that has a time of
// its own can be matched so early that its slot is claimed as early as the job permits. A job that
// cools down can be in the second after, by its schedd's clock; gangs need not, as their schedd
// starts them anyway.
func (b *Belief) release(j *Job) (at backfill.Time) {
	if d := j.Group.Deferral; d.Time > 0 {
		at = max(0, d.Time-d.Prep-b.s.StartSlack)
	}
	if cool := j.Group.Cools; cool > 0 && !j.Group.Spec.Parallel {
		at = max(at, cool+1)
	}
	return min(at, backfill.MaxTime)
}

// begins returns when a job enters the plan that may not run before a time; 0 if there is no such
// time.
func (b *Belief) begins(j *Job) backfill.Time {
	at := b.release(j)
	from := at - deferredAhead
	if at <= j.Group.Cools+1 {
		from = at - coolingAhead
	}
	return min(at, max(from, b.unused[j.Group.Spec.User()].until))
}

// Early tells whether a job may not be matched yet.
func (b *Belief) Early(j *Job) bool { return b.now.Now < b.release(j) }

// whyEarly says why a job waits that may not be matched yet; "" of others.
func (b *Belief) whyEarly(j *Job) string {
	switch at := b.release(j); {
	case at <= b.now.Now:
		return ""
	case at <= j.Group.Cools+1:
		return "cools down until " + b.clock(j.Group.Cools) + " (JobCoolDownExpiration)"
	default:
		return "is deferred until " + b.clock(j.Group.Deferral.Time) + " (DeferralTime)"
	}
}

// Undue returns why a job that may run at some times only cannot be planned with now; "" if it can.
// A job that has missed its time is never started by the stock negotiator either, unless it is
// edited or gets another time (cron jobs do, from their schedd).
func (b *Belief) Undue(j *Job) string {
	d := j.Group.Deferral
	switch {
	case d.Time > 0 && b.now.Now >= d.Time+d.Window:
		return fmt.Sprintf("has missed its time, %s (DeferralTime), or up to %d s later (DeferralWindow)",
			b.clock(d.Time), d.Window)
	case b.now.Now < b.begins(j):
		why := b.whyEarly(j)
		if u := b.unused[j.Group.Spec.User()]; b.now.Now < u.until {
			why += "; no place is kept for it before " + b.clock(u.until) + ", as its user left one unused"
		}
		return why
	}
	return ""
}

// clock formats a time in the zone of this machine; without the date if it is today's.
func (b *Belief) clock(t backfill.Time) string {
	at, format := time.Unix(int64(t), 0).In(b.now.Began.Location()), "2006-01-02 15:04:05 MST"
	if at.Format(time.DateOnly) == b.now.Began.Format(time.DateOnly) {
		format = "15:04:05 MST"
	}
	return at.Format(format)
}
