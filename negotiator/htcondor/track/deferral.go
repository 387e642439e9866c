package track

import (
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// idle returns how long a claim that begins at a time is idle until its job begins to run.
func (j *Job) idle(from backfill.Time) backfill.Time { return j.Group.Deferral.Idle(from) }

// begins returns when a job enters the plan that may not run before a time, and why it waits until
// then; 0 if there is no such time. A job that has a time of its own enters early enough that its
// slot can be claimed as early as the job permits. A job that cools down can be matched in the
// second after, by its schedd's clock. Gangs do not cool down: the schedd starts them anyway.
func (b *Belief) begins(j *Job) (at backfill.Time, why string) {
	if d := j.Group.Deferral; d.Time > 0 {
		at, why = d.Time-d.Prep-b.s.StartSlack, "is deferred until "+b.clock(d.Time)+" (DeferralTime)"
	}
	if cool := j.Group.Cools; cool > 0 && cool+1 > at && !j.Group.Spec.Parallel {
		at, why = cool+1, "cools down until "+b.clock(cool)+" (JobCoolDownExpiration)"
	}
	return at, why
}

// Undue returns why a job that may run at some times only cannot be planned with now; "" if it can.
// A job that has missed its time is never started by the stock negotiator either, unless it is
// edited or gets another time (cron jobs do, from their schedd).
func (b *Belief) Undue(j *Job) string {
	d := j.Group.Deferral
	if d.Time == 0 && j.Group.Cools < b.now.Now {
		return "" // as nearly all jobs
	}
	if d.Time > 0 && b.now.Now >= d.Time+d.Window {
		return fmt.Sprintf("has missed its time, %s (DeferralTime), or up to %d s later (DeferralWindow)",
			b.clock(d.Time), d.Window)
	}
	if at, why := b.begins(j); b.now.Now < at {
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
