package claims

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// A slot on which starts fail is a suspect, and left out for a while, so that jobs go where they
// can run: its startd may refuse claims, or a schedd may be unable to reach it. It is a suspect for
// the schedd whose starts failed; for one user of it, if only matches of that user came to nothing:
// the schedd may have refused the jobs (refused.go). The pause grows with each failure; the first
// claim that is refused brings none. A successful start there clears the slot, and so does the first
// restart of its startd.
//
// A host is known to work for an hour after a start there. Which of two is to blame, a job or a host,
// only such hosts tell: a startd that starts nothing may have any number of slots and addresses, and
// say anything. Where no start has succeeded, one that fails leaves out the whole host, but only for
// its user: so a user finds the hosts that work, however many do not, and closes none to others.
const (
	firstPause   = 5 * time.Second
	longPause    = 5 * time.Minute
	suspicionEnd = time.Hour // without a failure
	knownToWork  = time.Hour
	manyUsers    = 4 // if starts of so many failed on a slot, it is left out for all
)

// whose are the jobs for which a slot is a suspect: those of a schedd, and of one user if that is not
// "".
type whose struct{ schedd, user string }

// is tells whether a job is one of them.
func (w whose) is(j *track.Job) bool {
	return w.schedd == j.Key.Schedd && (w.user == "" || w.user == j.User())
}

// suspect counts the failed starts of some jobs on a slot.
type suspect struct {
	failures int       // in a row
	at       time.Time // of the last; starts that were decided before it tell nothing new
	until    time.Time // the slot is left out
}

// Pause says of a slot on which starts failed how long it is left out, and for whose jobs.
type Pause struct {
	Slot     string
	Schedd   string // the schedd whose jobs it does not get; "": it gets no jobs at all
	Users    string // the users whose jobs it does not get, with blanks between; "": all
	Failures int    // starts in a row that failed
	Until    time.Time
}

// leftOut returns whose jobs a slot does not get now, because starts failed there: one schedd's, or
// some users'; [track.Everybody]'s if these are several schedds, or many users of the pool's only one.
// The result is nil if the slot is not left out.
func (c *State) leftOut(slot string, now time.Time) *track.LeftOut {
	var schedds, users []string
	for who, s := range c.suspects[slot] {
		if now.Before(s.until) {
			schedds, users = append(schedds, who.schedd), append(users, who.user)
		}
	}
	if len(users) == 0 {
		return nil
	}
	slices.Sort(users)
	users = slices.Compact(users)
	closed := &track.LeftOut{Of: schedds[0], Users: strings.Join(users, " ")}
	if users[0] == "" || len(users) >= manyUsers {
		closed.Users = ""
	}
	others := slices.ContainsFunc(schedds, func(name string) bool { return name != schedds[0] })
	if others || closed.Users == "" && len(c.belief.Snapshot().Schedds) == 1 {
		closed.Of = track.Everybody
	}
	return closed
}

// isLeftOut tells whether a slot is left out for a job now.
func (c *State) isLeftOut(slot string, j *track.Job, now time.Time) bool {
	closed := c.leftOut(slot, now)
	return closed != nil && closed.For(j)
}

// blameSlots leaves slots out on which starts have failed, as the last look at the pool showed. It
// ends no flight: [track.Belief.Diff] does. A job that ran and came back to the queue is no failed
// start: users can make a job come back.
func (c *State) blameSlots() {
	c.forgetSuspects()
	c.forgetRefusals()
	if c.s.Observe {
		return
	}
	c.unstarted()
	look := c.belief.Snapshot().Number
	var failed []*flight
	failing := map[*accountant.Room]int{}
	for _, f := range c.flights {
		s := c.belief.Schedd(f.job.Key.Schedd)
		ran := f.job.Group.Runs() || f.job.Group.Shadows > f.shadows
		if ran {
			c.accept(f.job)
		}
		if s == nil || !s.Read || !f.job.Seen(look) || ran || len(f.claims) == 0 || f.failed == none && !c.overdue(f) {
			continue
		}
		failed = append(failed, f)
		for _, room := range roomsOf(s, f.job.Group.Spec) {
			failing[room]++
		}
	}
	slices.SortFunc(failed, func(a, b *flight) int { return a.job.Key.Compare(b.job.Key) })
	in, enough := c.inRooms(), map[string]bool{} // no more slots are left out for these schedds
	failed = slices.DeleteFunc(failed, func(f *flight) bool {
		s := c.belief.Schedd(f.job.Key.Schedd)
		return s.Full || slices.ContainsFunc(roomsOf(s, f.job.Group.Spec), func(r *accountant.Room) bool {
			return in[r]-failing[r] >= r.Jobs // it may have been full
		})
	})
	for _, f := range failed {
		switch {
		case f.over != nil:
			c.refuseTakeover(f)
		case isIgnored(f):
			c.refuse(f)
		}
	}
	for _, f := range failed {
		if f.over == nil {
			c.blameFor(f, enough)
		}
	}
}

// blameFor holds a failed start against its slots or its job.
func (c *State) blameFor(f *flight, enough map[string]bool) {
	onWorking := func(at track.Place) bool { return c.works(at.Slot) }
	if isIgnored(f) && c.isJobs(f) && slices.ContainsFunc(f.job.Places, onWorking) {
		c.absolve(f)
		c.pauseKind(f)
		return
	}
	culprits := c.culprits(f)
	closed := len(culprits) == 0 // what excuses the slots does not accuse the job
	for _, slot := range culprits {
		closed = c.blame(slot, f, enough) || closed
	}
	if isIgnored(f) && !closed {
		c.refused.byKind[f.job.Group.Spec.Text].slots, c.refused.byJob[f.job.Key].slots = true, true
		c.pauseJob(f)
		c.pauseKind(f)
	}
}

// culprits returns the slots that may be why a flight's start failed. Slots whose startd has
// restarted since, or that an unknown job has taken, are not to blame: the claim that was handed
// over was out of date. Nor are those that the clock has closed. Of a gang's slots, the culprits are those that were not claimed, provided
// that others were.
func (c *State) culprits(f *flight) []string {
	places := f.job.Places
	var all, claimed []string
	for _, at := range places {
		s := c.belief.Slot(at.Slot)
		if s == nil || !s.Missing.IsZero() || s.Ad == nil {
			continue
		}
		touched := s.ClaimBegan.After(f.since)
		byAnother := touched && s.ClaimBeganFor != (observe.JobKey{}) && c.belief.JobOf(s.ClaimBeganFor) == nil
		own := touched && len(places) == 1 && s.ClaimBeganFor == f.job.Key
		switch {
		case c.hasClosed(f, c.asFree(s)) && c.excuseClosed(at.Slot):
			f.closed = true
		case s.Restarted.After(f.since) && c.excuse(at.Slot, s.Restarted):
		case (byAnother || own) && c.excuse(at.Slot, s.ClaimBegan):
		case touched && !byAnother && len(places) > 1:
			claimed = append(claimed, at.Slot)
		default:
			all = append(all, at.Slot)
		}
	}
	if len(places) > 1 && len(claimed) == 0 {
		return nil
	}
	return all
}

// excuse tells whether a slot is excused by what its startd says of itself: that it restarted at a
// time, or that a claim began then. That counts once until a start there succeeds, or an hour has
// passed: a startd that crashes at each claim, or says so, would else never be a suspect.
func (c *State) excuse(slot string, at time.Time) bool {
	last, excused := c.excused[slot]
	if excused && !last.Equal(at) && at.Sub(last) < suspicionEnd {
		return false
	}
	c.excused[slot] = at
	return true
}

// excuseClosed tells whether a slot is excused because the clock has closed it. Refusals of claims that
// were under way together count as one excuse.
func (c *State) excuseClosed(slot string) bool {
	began := c.belief.Snapshot().Began
	if last, excused := c.excused[slot]; excused && began.Sub(last) < c.s.Patience {
		began = last
	}
	return c.excuse(slot, began)
}

// works tells whether a slot's host is known to work.
func (c *State) works(slot string) bool {
	_, works := c.proven[c.hostOf(slot)]
	return works
}

// blame is the slot of a host that works that a user's last failed start was on.
type blame struct {
	slot string
	job  backfill.JobID
	at   time.Time
}

// blame leaves a slot out, for a while, for the schedd of a job that did not start there, or its
// user; all slots of a host that is not known to work. If most of the pool would then be left out, the
// cause must be the schedd or the network: the slot stays in, and the schedd's entry in the map enough
// says that no more slots of hosts that work are to be left out for it. The result says whether it is
// left out, or will be if it refuses another claim.
func (c *State) blame(slot string, f *flight, enough map[string]bool) (closed bool) {
	schedd, began := f.job.Key.Schedd, c.belief.Snapshot().Began
	suspected := c.blames(slot, f)
	s := c.suspects[slot][suspected]
	if s != nil && f.since.Before(s.at) {
		return true
	}
	slots := []string{slot}
	switch {
	case !c.works(slot):
		if c.isLast(slot, f.job) {
			return false
		}
		slots = append(slots, c.slotsOfHosts()[c.hostOf(slot)]...)
	case !c.mayBlame(slot, f):
		return false
	case enough[schedd] || c.mostOut(slot, f.job):
		enough[schedd] = true
		return false
	}
	if s == nil {
		s = &suspect{}
	}
	for _, one := range slots {
		if c.suspects[one] == nil {
			c.suspects[one] = map[whose]*suspect{}
		}
		c.suspects[one][suspected] = s
	}
	s.failures++
	if s.at, s.until = began, began; s.failures == 1 && f.failed == refused {
		c.log.Info("a slot refused a claim, and is left out if it refuses another",
			"slot", slot, "schedd", schedd)
		return true
	}
	pause := min(firstPause<<min(s.failures-1, 10), longPause)
	s.until = began.Add(pause)
	c.log.Warn("a slot is left out for a while: starts fail there",
		"slot", slot, "schedd", schedd, "user", suspected.user, "failures", s.failures, "pause", pause)
	return true
}

// mayBlame tells whether a failed start may be held against a slot of a host that works, and notes
// that it is. The cause may be the job itself, or a claim elsewhere that hangs: as long as it does, the
// schedd starts the job nowhere. So the jobs of a user get only one host at a time left out, or a gang
// those of one start: otherwise one user could close the pool to the others.
func (c *State) mayBlame(slot string, f *flight) bool {
	began, who := c.belief.Snapshot().Began, track.Owner{Schedd: f.job.Key.Schedd, User: f.job.User()}
	last := c.blamed[who]
	sameStart := began.Equal(last.at) && last.job == f.job.ID
	near := last.slot != "" && c.hostOf(last.slot) == c.hostOf(slot)
	if !near && began.Sub(last.at) < 2*c.s.Patience && !sameStart {
		return false
	}
	c.blamed[who] = blame{slot, f.job.ID, began}
	return true
}

// blames returns for whose jobs a slot is a suspect after a failed start there.
func (c *State) blames(slot string, f *flight) whose {
	if f.failed != refused && f.gone.IsZero() || !c.works(slot) { // nor is that ever known of a gang
		return whose{f.job.Key.Schedd, f.job.User()}
	}
	return whose{schedd: f.job.Key.Schedd}
}

// absolve takes the suspicion back that a flight's user brought on a slot, since the job, or all that
// are planned by the same, came to nothing elsewhere, too.
func (c *State) absolve(f *flight) {
	slot := c.refused.byKind[f.job.Group.Spec.Text].slot
	who := whose{f.job.Key.Schedd, f.job.User()}
	if s := c.suspects[slot][who]; who.user != "" && s != nil {
		c.forgetAll(slot, who, s)
	}
}

// isLast tells whether all hosts but this slot's are left out for a job: then it is to blame.
func (c *State) isLast(slot string, j *track.Job) bool {
	now, own := c.belief.Snapshot().Began, c.hostOf(slot)
	for host, slots := range c.slotsOfHosts() {
		if host != own && slices.ContainsFunc(slots, func(other string) bool { return !c.isLeftOut(other, j, now) }) {
			return false
		}
	}
	return true
}

// mostOut tells whether more than half of the hosts that work would be left out for a job if this slot
// were, too. Each host counts as one, whatever part of its slots is left out: otherwise one with many
// bad slots would be most of the pool, and none of them left out.
func (c *State) mostOut(slot string, j *track.Job) bool {
	now, out := c.belief.Snapshot().Began, map[string]int64{c.hostOf(slot): 1}
	for other := range c.suspects {
		if other != slot && c.works(other) && c.belief.Slot(other) != nil && c.isLeftOut(other, j, now) {
			out[c.hostOf(other)]++
		}
	}
	slots, sum, all := c.slotsOfHosts(), int64(0), int64(0)
	const whole = 1 << 40
	for host, n := range out {
		sum += n * whole / max(n, int64(len(slots[host])))
	}
	for host := range c.proven {
		if slots[host] != nil {
			all += whole
		}
	}
	return 2*sum > all
}

// slotsOfHosts returns the slots of each host of the pool.
func (c *State) slotsOfHosts() map[string][]string {
	if look := c.belief.Snapshot().Number; c.hosts.slots == nil || c.hosts.look != look {
		c.hosts.look, c.hosts.slots = look, map[string][]string{}
		for name := range c.belief.SlotsUp() {
			host := c.hostOf(name)
			c.hosts.slots[host] = append(c.hosts.slots[host], name)
		}
	}
	return c.hosts.slots
}

// hostOf returns a slot's host: what its address has before the port or, without one, its name.
func (c *State) hostOf(slot string) string {
	if s := c.belief.Slot(slot); s != nil {
		host, _, _ := strings.Cut(s.Address, "?")
		if end := strings.LastIndexByte(host, ':'); end > 0 {
			return host[:end]
		}
	}
	return slot
}

// clear removes the suspicion from the slots of a successful start, and from those that were left out
// with them, except where a start has failed since.
func (c *State) clear(p track.Proven) {
	for _, at := range p.Places {
		c.proven[c.hostOf(at.Slot)] = c.belief.Snapshot().Began
		if p.Start >= backfill.Time(c.excused[at.Slot].Unix()) {
			delete(c.excused, at.Slot)
		}
		for who, s := range c.suspects[at.Slot] {
			if who.schedd == p.Schedd && p.Start >= backfill.Time(s.at.Unix()) {
				c.log.Info("a slot is not doubted any more: a job was started there", "slot", at.Slot, "schedd", p.Schedd)
				c.forgetAll(at.Slot, who, s)
			}
		}
	}
}

// forgetAll takes a suspicion back from a slot, and from others of its host that were left out with it.
func (c *State) forgetAll(slot string, who whose, s *suspect) {
	c.forgetSuspect(slot, who)
	for _, other := range c.slotsOfHosts()[c.hostOf(slot)] {
		if c.suspects[other][who] == s {
			c.forgetSuspect(other, who)
		}
	}
}

func (c *State) forgetSuspect(slot string, who whose) {
	if delete(c.suspects[slot], who); len(c.suspects[slot]) == 0 {
		delete(c.suspects, slot)
	}
}

// forgetSuspects forgets failures of long ago, those of slots and schedds that are gone, and those
// of startds that have restarted.
func (c *State) forgetSuspects() {
	began := c.belief.Snapshot().Began
	maps.DeleteFunc(c.blamed, func(_ track.Owner, b blame) bool { return began.Sub(b.at) >= 2*c.s.Patience })
	maps.DeleteFunc(c.proven, func(_ string, at time.Time) bool { return began.Sub(at) > knownToWork })
	maps.DeleteFunc(c.excused, func(slot string, _ time.Time) bool { return c.belief.Slot(slot) == nil })
	for slot, all := range c.suspects {
		o := c.belief.Slot(slot)
		for who, s := range all {
			gone := o == nil || c.belief.Schedd(who.schedd) == nil
			if gone || o.Restarted.After(s.at) && c.excuse(slot, o.Restarted) || began.Sub(s.until) > suspicionEnd {
				c.forgetSuspect(slot, who)
			}
		}
	}
}

// Paused lists the slots that are left out.
func (c *State) Paused() []Pause {
	now := c.belief.Snapshot().Began
	return slices.DeleteFunc(c.Suspects(), func(p Pause) bool { return !now.Before(p.Until) })
}

// Suspects lists the slots on which starts have failed, whether they are left out now or may be
// tried again.
func (c *State) Suspects() (all []Pause) {
	now := c.belief.Snapshot().Began
	for _, slot := range slices.Sorted(maps.Keys(c.suspects)) {
		one := Pause{Slot: slot}
		if closed := c.leftOut(slot, now); closed != nil {
			one.Schedd, one.Users = closed.Of, closed.Users
		}
		for _, s := range c.suspects[slot] {
			one.Failures = max(one.Failures, s.failures)
			if s.until.After(one.Until) {
				one.Until = s.until
			}
		}
		all = append(all, one)
	}
	return all
}
