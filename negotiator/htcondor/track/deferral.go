package track

import (
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// idle returns how long a claim that begins at a time is idle until its job begins to run.
func (j *Job) idle(from backfill.Time) backfill.Time { return j.Group.Deferral.Idle(from) }

// begins returns when a job that has a time of its own enters the plan: early enough that its slot
// can be claimed as early as the job permits.
func (b *Belief) begins(j *Job) backfill.Time {
	return j.Group.Deferral.Time - j.Group.Deferral.Prep - b.s.StartSlack
}

// Undue returns why a job that has a time of its own cannot be planned with now; "" if it can. A
// job that has missed its time is never started by the stock negotiator either, unless it is
// edited or gets another time (cron jobs do, from their schedd).
func (b *Belief) Undue(j *Job) string {
	d := j.Group.Deferral
	switch {
	case d.Time == 0:
		return ""
	case b.now.Now < b.begins(j):
		return "is deferred until " + b.clock(d.Time) + " (DeferralTime)"
	case b.now.Now >= d.Time+d.Window:
		return fmt.Sprintf("has missed its time, %s (DeferralTime), or up to %d s later (DeferralWindow)",
			b.clock(d.Time), d.Window)
	}
	return ""
}

// clock formats a time in the zone of this machine.
func (b *Belief) clock(t backfill.Time) string {
	return time.Unix(int64(t), 0).In(b.now.Began.Location()).Format("2006-01-02 15:04:05 MST")
}
