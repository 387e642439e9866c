package claims

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// A schedd drops a match in silence if it does not want to run the job now: some of its rules can be
// read nowhere (START_VANILLA_UNIVERSE, startup limits). Then the startd is not asked for the claim.
// So does nothing happen if the schedd cannot reach the startd, or if that hangs. The job is to
// blame if it fails on slots of several hosts, or the slot cannot be left out: it waits for a while
// if it was refused twice, and so do all jobs that are planned by the same if several of them were,
// and none has started since. Then one of them is tried at a time. The pauses grow.
const longestRefusal = 2 * time.Minute

// refusal counts matches of a job, or of all jobs that are planned by the same, that came to
// nothing.
type refusal struct {
	times     int       // looks in a row that saw some
	at, until time.Time // of the last one; nothing is tried before until
	// job is of the first refusal, slot and host of the first on a host that is known to work; jobs
	// says that there were others of other jobs, slots that there were some on slots of other hosts
	// that work, or that no slot was left out for them.
	job         observe.JobKey
	slot, host  string
	jobs, slots bool
	// asked says of gangs that their schedd was given claims.
	asked bool
	// members are the jobs of a kind that were refused; some may have started or changed since.
	members map[observe.JobKey]bool
}

// refusals are by job, and by what jobs are planned by: the text of their Spec. Gangs that were
// started and for whose slots their schedd did not ask, or that it did not start on their claims, are
// by user: users can make jobs look like gangs that their schedd does not take for gangs, or have
// startds refuse them, and each would hold slots, and keep others from the schedd, for a minute.
type refusals struct {
	byJob  map[observe.JobKey]*refusal
	byKind map[string]*refusal
	gangs  map[track.Owner]*refusal
}

// longestUnasked is the longest pause of a user's gangs. Where their schedd asks, they do not wait.
const longestUnasked = time.Hour

// next returns the pause after a refusal.
func (r *refusal) next() time.Duration { return min(firstPause<<min(r.times-1, 10), longestRefusal) }

// addTo counts a flight's refusal that a look has found.
func (c *State) addTo(r *refusal, f *flight, began time.Time) {
	slot := f.job.Places[0].Slot
	host := c.hostOf(slot)
	if r.times == 0 {
		r.job = f.job.Key
	}
	if !r.at.Equal(began) {
		r.times++
	}
	r.at, r.jobs = began, r.jobs || f.job.Key != r.job
	if !c.works(slot) {
		return
	}
	if r.host == "" {
		r.slot, r.host = slot, host
	}
	r.slots = r.slots || host != r.host
}

// unstarted notes of which users gangs on their way, as the last look showed, have not started in all
// the time that they had: their schedds did not ask for the slots, or did not start them on their
// claims. No look counts twice for a user, however many gangs it concerns.
func (c *State) unstarted() {
	began := c.belief.Snapshot().Began
	for _, f := range c.inTurn() {
		s := c.belief.Schedd(f.job.Key.Schedd)
		if !f.job.Group.Spec.Parallel || f.job.Group.Runs() || s == nil || !s.Read || !f.handed() && s.Asks(f.job.Group) ||
			!f.job.Seen(c.belief.Snapshot().Number) || !c.overdue(f) {
			continue
		}
		owner := ownerOf(f.job)
		r := c.refused.gangs[owner]
		if r == nil {
			r = &refusal{}
			c.refused.gangs[owner] = r
		}
		if r.at.Equal(began) {
			continue
		}
		r.times, r.at, r.asked = r.times+1, began, f.handed()
		longest := longestUnasked
		if r.asked {
			longest = longPause
		}
		pause := min(firstPause<<min(r.times-1, 10), longest)
		r.until = began.Add(pause)
		c.log.Warn("a user's gangs wait for a while: the schedd does not ask for their slots, or does not start one",
			"user", owner.User, "schedd", owner.Schedd, "times", r.times, "pause", pause, "asked", r.asked)
	}
}

// refuse counts that a match came to nothing, as the last look showed.
func (c *State) refuse(f *flight) {
	c.countRefusal(f)
	c.pauseJob(f)
}

// refuseTakeover counts that a claim came to nothing that waited for others to make way. They may
// have ended for it, and would again, so the job is to blame and no slot is left out.
func (c *State) refuseTakeover(f *flight) {
	one, all := c.countRefusal(f)
	one.slots, all.slots = true, true
	c.pauseJob(f)
	c.pauseKind(f)
}

// countRefusal counts a refusal for a job, and for all that are planned by the same.
func (c *State) countRefusal(f *flight) (one, all *refusal) {
	began, kind := c.belief.Snapshot().Began, f.job.Group.Spec.Text
	one, all = c.refused.byJob[f.job.Key], c.refused.byKind[kind]
	if one == nil {
		one = &refusal{}
		c.refused.byJob[f.job.Key] = one
	}
	if all == nil {
		all = &refusal{members: map[observe.JobKey]bool{}}
		c.refused.byKind[kind] = all
	}
	all.members[f.job.Key] = true
	c.addTo(one, f, began)
	c.addTo(all, f, began)
	return one, all
}

// pauseJob has a job wait that was refused more than once, and not on the slots of one host alone.
func (c *State) pauseJob(f *flight) {
	one := c.refused.byJob[f.job.Key]
	if one == nil || one.times <= 1 || !one.slots {
		return
	}
	one.until = one.at.Add(one.next())
	c.log.Warn("a job waits for a while: its schedd does not start it", "job", c.belief.Name(f.job),
		"times", one.times, "pause", one.next())
}

// pauseKind has all jobs wait that are planned by the same as a flight's, if they are to blame.
func (c *State) pauseKind(f *flight) {
	if all := c.refused.byKind[f.job.Group.Spec.Text]; all != nil && all.jobs && all.slots {
		all.until = all.at.Add(all.next())
	}
}

// isIgnored tells whether it is not known of a failed start that the startd refused the claim. What
// becomes of gangs is known otherwise.
func isIgnored(f *flight) bool {
	return f.failed != refused && f.gone.IsZero() && !f.job.Group.Spec.Parallel
}

// isJobs tells whether a flight that came to nothing is a matter of its job, or of all that are
// planned by the same: they were refused on a slot of another host, too.
func (c *State) isJobs(f *flight) bool {
	all := c.refused.byKind[f.job.Group.Spec.Text]
	return all != nil && all.slots
}

// accept forgets the refusals of a job that its schedd has started, and of those that are planned by
// the same.
func (c *State) accept(j *track.Job) {
	kind := j.Group.Spec.Text
	for _, key := range c.refusedOf(kind) {
		delete(c.refused.byJob, key)
	}
	delete(c.refused.byKind, kind)
}

// forgetRefusals forgets those of long ago, of jobs that are gone, and those on a slot alone whose
// startd has restarted since.
func (c *State) forgetRefusals() {
	began := c.belief.Snapshot().Began
	old := func(r *refusal) bool {
		slot := c.belief.Slot(r.slot)
		restarted := !r.slots && slot != nil && slot.Restarted.After(r.at) && c.excuse(r.slot, slot.Restarted)
		return restarted || began.Sub(r.until) > suspicionEnd && began.Sub(r.at) > suspicionEnd
	}
	maps.DeleteFunc(c.refused.gangs, func(o track.Owner, r *refusal) bool {
		return c.belief.Schedd(o.Schedd) == nil || began.Sub(r.until) > suspicionEnd
	})
	maps.DeleteFunc(c.refused.byJob, func(key observe.JobKey, r *refusal) bool { return c.belief.JobOf(key) == nil || old(r) })
	maps.DeleteFunc(c.refused.byKind, func(kind string, r *refusal) bool { return old(r) || len(c.refusedOf(kind)) == 0 })
}

// refusedOf returns the jobs of a kind that were refused; first the one that is tried next.
func (c *State) refusedOf(kind string) (keys []observe.JobKey) {
	all := c.refused.byKind[kind]
	if all == nil {
		return nil
	}
	for key := range all.members {
		j := c.belief.JobOf(key)
		if c.refused.byJob[key] == nil || j == nil || j.Group.Spec.Text != kind {
			delete(all.members, key)
			continue
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b observe.JobKey) int {
		return cmp.Or(c.refused.byJob[a].until.Compare(c.refused.byJob[b].until), a.Compare(b))
	})
	return keys
}

// waiting returns which jobs wait because their schedd does not start them, and until when.
func (c *State) waiting() track.Refused {
	all := track.Refused{
		Jobs: map[observe.JobKey]track.Refusal{}, Kinds: map[string]track.Refusal{}, Gangs: map[track.Owner]track.Refusal{},
		Rivals: c.compete(),
	}
	now := c.belief.Snapshot().Began
	for key, r := range c.refused.byJob {
		if now.Before(r.until) {
			all.Jobs[key] = track.Refusal{Times: r.times, Until: r.until}
		}
	}
	for owner, r := range c.refused.gangs {
		all.Gangs[owner] = track.Refusal{Times: r.times, Until: r.until, Asked: r.asked}
	}
	for kind, r := range c.refused.byKind {
		if !r.until.IsZero() {
			all.Kinds[kind] = track.Refusal{Times: r.times, Until: r.until, Tried: c.refusedOf(kind)[0]}
		}
	}
	return all
}
