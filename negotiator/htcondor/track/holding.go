package track

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// A limit is held for jobs that wait in the plan, so that whatever is started exceeds none. One
// that could start now and does not, since the plan keeps its slot for others, holds it for the
// time tryFor at most; then its user's jobs come after those of others for vainFor, or he would
// hold it with one job after the other. A job that was promised a start within tryFor keeps what it
// holds, for twice that time at most. A user's next job goes on where the last left off that did not
// start, or he would hold a limit with jobs that he puts on hold and edits by turns.

func (b *Belief) tryFor() backfill.Time { return backfill.Time(2 * b.s.Patience / time.Second) }

func (b *Belief) vainFor() backfill.Time { return triesAgain * b.tryFor() }

// triesAgain is after how many times as long it is forgotten that limits were held.
const triesAgain = 8

// spent is for how long, at some time, limits had been held for jobs of a user that did not start.
type spent struct{ held, at backfill.Time }

// spentBy returns for how long limits were held for jobs of a user that did not start, less what is
// forgotten.
func (c *comparison) spentBy(user string) backfill.Time {
	s := c.b.spent[user]
	return max(0, s.held-(c.b.now.Now-s.at+triesAgain-1)/triesAgain)
}

// stopsHolding notes for how long a job held limits that leaves the plan unstarted, was edited, or
// could not start any more.
func (c *comparison) stopsHolding(j *Job) {
	now := c.b.now.Now
	held := backfill.Time(0)
	if j.tried > 0 {
		held = now - j.tried
	}
	if j.kept > 0 {
		held = max(held, (now-j.kept)/2)
	}
	j.kept, j.tried = 0, 0
	if user := j.Group.Spec.User(); held > c.spentBy(user) {
		c.b.spent[user] = spent{min(held, c.b.tryFor()), now}
	}
}

// holding returns the waiting jobs for which a limit may be held: those that ask anew, and those
// that keep what they hold.
func (c *comparison) holding() (asking, kept []*Job) {
	var charges tally[charge]
	waiting := func(j *Job) bool { return j.Phase == Waiting && !c.b.Early(j) }
	for _, j := range c.b.all {
		if waiting(j) {
			charges.add(c.chargeOf(j))
		}
	}
	candidates := make([]accountant.Candidate, len(charges.things))
	for i, what := range charges.things {
		candidates[i] = what.candidate(1)
	}
	bounded := c.b.s.Accounting.Accountant.Bounded(c.b.s.Accounting.Limits, candidates)
	for _, j := range c.b.all {
		switch {
		case !waiting(j) || !bounded[charges.find(c.chargeOf(j))]:
		case c.keeps(j):
			kept = append(kept, j)
		default:
			asking = append(asking, j)
		}
	}
	return asking, kept
}

// keeps tells whether a job keeps what it holds of limits, since it was promised a start soon.
func (c *comparison) keeps(j *Job) bool {
	now, soon := c.b.now.Now, c.b.tryFor()
	if j.early || j.owed || j.promised < now || j.starts == 0 || j.starts > now+soon {
		j.kept = 0
		return false
	}
	if j.kept == 0 {
		j.kept = now - 2*c.spentBy(j.Group.Spec.User())
	}
	return now-j.kept < 2*soon
}

// tries notes whether a job for which a limit is held could start now.
func (c *comparison) tries(j *Job, could bool) {
	switch {
	case !could && j.tried > 0:
		c.stopsHolding(j)
	case !could:
	case j.tried == 0 && j.Phase == Waiting:
		j.tried = c.b.now.Now - c.spentBy(j.Group.Spec.User())
	}
}

// isVain tells whether a limit was held in vain for a job that could start, and notes for whom.
func (c *comparison) isVain(j *Job) bool {
	vain := j.Phase == Waiting && j.tried > 0 && c.b.now.Now-j.tried >= c.b.tryFor()
	if vain {
		c.b.vain[j.Group.Spec.User()] = c.b.now.Now
	}
	return vain
}

// forgive forgets for whom limits were held in vain some time ago.
func (c *comparison) forgive() {
	for user, at := range c.b.vain {
		if c.b.now.Now-at >= c.b.vainFor() || c.b.now.Now < at {
			delete(c.b.vain, user)
		}
	}
	for user, s := range c.b.spent {
		if c.spentBy(user) == 0 || c.b.now.Now < s.at {
			delete(c.b.spent, user)
		}
	}
}

// holder tells users for which job a limit is held.
func (b *Belief) holder(j *Job) string {
	text := b.Name(j)
	if owner := j.Group.Spec.Labels["owner"]; owner != "" {
		text += " of " + owner
	}
	if j.Phase == Waiting && j.starts > b.now.Now {
		return text + ", which starts at " + b.clock(j.starts)
	}
	return text + ", which waits"
}
