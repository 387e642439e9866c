package track

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// lasted is how long a job has run, and what it stated, for its user's record. Users may edit their
// jobs while these run, so the clock is ours from the first look that saw the run, and what the job
// was planned by does not change any more.
type lasted struct {
	since  backfill.Time // as its queue said at first, but not after that look
	ahead  backfill.Time // how long its claim was idle before it began to run
	stated *observe.Spec // what it was planned by; nil: it was not

	// started is when the queue says that the run began. A run that is followed by another between two
	// looks is believed to be over once: again counts these.
	started backfill.Time
	again   int

	// suspended is for how long it was seen to be suspended, until the last look that saw it run, in
	// which it was or not.
	suspended backfill.Time
	looked    backfill.Time
	paused    bool

	outlived backfill.Time // how long it had run, as its user's record was last told that it runs on
}

// unseenRestarts is how often a job is believed to have begun anew that was not seen to be idle.
const unseenRestarts = 1

// times takes the time of a job's run.
func (c *comparison) times(j *Job) {
	g, l, now := j.Group, j.lasted, c.b.now.Now
	if !g.Runs() {
		c.lastOf(j)
		j.lasted = nil
		return
	}
	if l == nil || l.started != g.Started && l.again < unseenRestarts {
		if l != nil && c.lastOf(j) {
			c.delta.Taught = append(c.delta.Taught, c.pastRun(j, unknownRun)) // the next run has the same ID
		}
		fresh := &lasted{since: now, started: g.Started, looked: now}
		if g.Started > 0 {
			fresh.since = min(now, g.Started)
		}
		fresh.ahead = j.idle(fresh.since)
		if j.Phase != Unknown {
			fresh.ahead, fresh.stated = min(fresh.ahead, j.ahead), j.Spec
		}
		if l != nil {
			fresh.again, fresh.stated = l.again+1, cmp.Or(l.stated, fresh.stated)
		}
		l, j.lasted = fresh, fresh
	}
	if l.stated == nil && (j.Phase == Running || j.Phase == Lent) {
		l.stated = j.Spec
	}
	if r := j.run; r != nil && !r.free.IsZero() {
		return // its slot is free, whatever its schedd believes
	}
	if l.paused {
		l.suspended += max(0, now-l.looked)
	}
	l.looked, l.paused = now, g.IsSuspended()
}

// paused returns for how long a job's run has been seen to be suspended.
func (j *Job) paused() backfill.Time {
	if j.run == nil || j.lasted == nil {
		return 0
	}
	return j.lasted.suspended
}

// runsFor returns the run time that counts for a running job: what it was planned by, or up to twice
// that if its user states more by now. It never becomes shorter: whoever states little, so that
// others are promised his place, and then much would break what they were promised, with each edit.
// What a job that stated nothing states while it runs is not read.
func (j *Job) runsFor(estimate backfill.Time) backfill.Time {
	if l := j.lasted; l != nil && l.stated != nil {
		estimate = min(estimate, 2*l.stated.Estimate)
	}
	return max(j.estimated, estimate)
}

// outlives reports a job that runs on beyond the time that it stated when it was planned, whatever
// its user has edited since, and though it may have left the plan: at first, and each time when it
// has run for twice as long.
func (c *comparison) outlives(j *Job) {
	if j.lasted != nil {
		c.outlived(j, c.b.now.Now, 2*j.lasted.outlived)
	}
}

// lastOf tells of a run that is over how long it was when it was last seen, if that was longer than
// its job stated: whatever ends a run, and though nobody knows when, a lie counts in full. It
// returns whether the record was told of this run, now or before.
func (c *comparison) lastOf(j *Job) bool {
	l := j.lasted
	if l == nil {
		return false
	}
	c.outlived(j, l.looked, l.outlived+1)
	return l.outlived > 0
}

// outlived reports that a job ran on beyond what it stated until an instant, and for at least a
// time.
func (c *comparison) outlived(j *Job, until, least backfill.Time) {
	l := j.lasted
	if l.stated == nil || l.stated.Estimate == 0 {
		return
	}
	if ran := l.ran(until); ran > l.stated.Estimate+c.b.s.StartSlack && ran >= least {
		l.outlived = ran
		c.delta.Outliving = append(c.delta.Outliving, c.pastRun(j, ran))
	}
}

// ran is how long the job itself ran until an instant: not while its claim was idle ahead of it.
func (l *lasted) ran(until backfill.Time) backfill.Time {
	return until - l.since - l.suspended - l.ahead
}

// pastRun returns a job's run, with the job as it was planned when the run began, but without the
// time for which its claim was idle ahead of it.
func (c *comparison) pastRun(j *Job, ran backfill.Time) negotiator.PastRun {
	as := *j
	if l := j.lasted; l != nil && l.stated != nil {
		as.Spec, as.ahead = l.stated, 0
	}
	if as.Spec == nil { // it never was in a plan
		as.Spec = j.Group.Spec
	}
	return negotiator.PastRun{Job: c.b.described(&as), Ran: ran}
}

// outlivedOff tells the record of a job that is in no plan any more, and ran on beyond what it
// stated, that this run is over.
func (c *comparison) outlivedOff(j *Job) {
	if c.lastOf(j) {
		c.delta.Taught = append(c.delta.Taught, c.pastRun(j, unknownRun))
	}
}
