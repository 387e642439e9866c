package track

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A place that is kept for a job before its earliest start is idle in the end, and costs its user
// nothing. If he puts the job off, or takes it away, no place is kept ahead for any job of his for as
// long as this one was, or longer: the time doubles with each. Meanwhile such jobs come into the
// plan at their earliest start.

// tryFor is for how long a user may try in vain before he has to leave to others what he tried.
func (b *Belief) tryFor() backfill.Time { return backfill.Time(2 * b.s.Patience / time.Second) }

// vainFor is for how long he has to.
func (b *Belief) vainFor() backfill.Time { return 8 * b.tryFor() }

// booking is a place that is kept for a job before its earliest start.
type booking struct {
	since backfill.Time // when it was first seen in a plan
	start backfill.Time // in the last plan
	due   backfill.Time // when the job begins to run at the earliest
	spec  *observe.Spec // of the job
}

// unused says that nothing is planned ahead of its earliest start for a user, and for how long that
// is in all.
type unused struct{ until, lasts backfill.Time }

// longestUnused bounds for how long nothing is planned ahead for a user, in seconds. If he lets no
// other place go unused for as long afterwards, the next time is as short as the first.
const longestUnused = 24 * 3600

// book notes that the last plan has a place for a job that may not start yet, or notes that the
// place was given up, as the job was edited.
func (b *Belief) book(j *Job) {
	k := j.booked
	if k != nil && j.Phase == Waiting && !k.spec.SameAd(j.Spec) && (j.starts == 0 || j.starts > k.start+b.tryFor()) {
		b.goesUnused(j, b.tryFor())
		return
	}
	switch {
	case j.Phase != Waiting || j.starts == 0:
	case k != nil:
		k.start, k.spec = j.starts, j.Spec
	case j.early:
		j.booked = &booking{since: b.now.Now, start: j.starts, due: b.mayRun(j), spec: j.Spec}
	}
}

func sameText(a, b *observe.Spec) bool { return a == b || a.Text == b.Text }

// editedAhead notes that a job was put off for which a place is kept, or needs less than that.
func (c *comparison) editedAhead(j *Job) {
	if j.booked == nil || !c.b.edited(j) {
		return
	}
	old, now := j.booked.spec, j.Group.Spec
	if c.unfit(j) != "" || c.b.release(j) > j.released || now.Nodes < old.Nodes || !old.Request.Within(now.Request) {
		c.b.goesUnused(j, c.b.tryFor())
		return
	}
	soon := c.b.now.Now + c.b.tryFor() // by when it starts if its place is of use
	j.booked.due = min(j.booked.due, max(c.b.mayRun(j), soon))
}

// mayRun returns when a job begins to run at the earliest.
func (b *Belief) mayRun(j *Job) backfill.Time { return max(b.release(j), j.Group.Deferral.Time) }

// leavesUnused notes that a job has left its queue, if a place is kept for it or it is idle on its
// claim there.
func (c *comparison) leavesUnused(j *Job) {
	s := c.b.Schedd(j.Key.Schedd)
	if s == nil || s.Moved || !s.Read || j.look < s.AskedSince {
		return // it may be there still
	}
	completed := j.Group != nil && j.Group.Runs() && j.stopped <= j.look && c.b.now.Now >= c.b.mayRun(j)
	switch {
	case j.Phase != Running:
		c.b.goesUnused(j, c.b.tryFor())
	case !completed:
		c.b.goesUnused(j, 0)
	}
}

// goesUnused notes that a place was kept for a job in vain, unless that is so later than it may be
// after its time. Several places of a user count as one until the time is over.
func (b *Belief) goesUnused(j *Job, later backfill.Time) {
	k, now := j.booked, b.now.Now
	j.booked = nil
	if k == nil || now >= k.due+later {
		return
	}
	user := j.Group.Spec.User()
	before := b.unused[user]
	if now < before.until {
		return
	}
	lasts := min(max(b.vainFor(), now-k.since, 2*before.lasts), longestUnused)
	b.unused[user] = unused{now + lasts, lasts}
	b.log.Info("a place that was kept for a job was not used", "job", b.Name(j), "user", user,
		"none is kept ahead until", b.clock(now+lasts))
}

// forgiveUnused forgets who let places go unused long ago.
func (b *Belief) forgiveUnused() {
	for user, u := range b.unused {
		if over := u.until + longestUnused; b.now.Now >= over || b.now.Now < u.until-u.lasts {
			delete(b.unused, user)
		}
	}
}
