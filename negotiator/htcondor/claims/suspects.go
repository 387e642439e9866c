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
// claim that is refused brings none. A successful start there clears the slot, and so does a restart
// of its startd.
const (
	firstPause   = 5 * time.Second
	longPause    = 5 * time.Minute
	suspicionEnd = time.Hour // without a failure
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
	User     string // the user of that schedd whose jobs it does not get; "": all
	Failures int    // starts in a row that failed
	Until    time.Time
}

// leftOut returns whose jobs a slot does not get now, because starts failed there: one schedd's, or
// one of its users'; [track.Everybody]'s if these are several schedds or all users of the pool's only
// one. The result is nil if the slot is not left out.
func (c *State) leftOut(slot string, now time.Time) *track.LeftOut {
	var closed *track.LeftOut
	for who, s := range c.suspects[slot] {
		if !now.Before(s.until) {
			continue
		}
		next := track.LeftOut{Of: who.schedd, User: who.user}
		if closed != nil {
			if next.User = ""; closed.Of != next.Of {
				next.Of = track.Everybody
			}
		}
		closed = &next
	}
	if closed != nil && closed.User == "" && len(c.belief.Snapshot().Schedds) == 1 {
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
		for _, room := range s.RoomsOf(f.job.Group.Spec) {
			failing[room]++
		}
	}
	slices.SortFunc(failed, func(a, b *flight) int { return a.job.Key.Compare(b.job.Key) })
	in, enough := c.inRooms(), map[string]bool{} // no more slots are left out for these schedds
	failed = slices.DeleteFunc(failed, func(f *flight) bool {
		s := c.belief.Schedd(f.job.Key.Schedd)
		rooms := s.RoomsOf(f.job.Group.Spec) // one may have been full
		return s.Full || slices.ContainsFunc(rooms[:], func(r *accountant.Room) bool {
			return r != nil && in[r]-failing[r] >= r.Jobs
		})
	})
	for _, f := range failed {
		if isIgnored(f) {
			c.refuse(f)
		}
	}
	for _, f := range failed {
		c.blameFor(f, enough)
	}
}

// blameFor holds a failed start against its slots or its job.
func (c *State) blameFor(f *flight, enough map[string]bool) {
	if isIgnored(f) && c.isJobs(f) {
		c.absolve(f)
		c.pauseKind(f)
		return
	}
	closed := false
	for _, slot := range c.culprits(f) {
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
// over was out of date. Of a gang's slots, the culprits are those that were not claimed, provided
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
		byAnother := s.ClaimBeganFor != (observe.JobKey{}) && c.belief.JobOf(s.ClaimBeganFor) == nil
		if touched && byAnother || s.Restarted.After(f.since) {
			continue
		}
		if touched && (len(places) > 1 || s.ClaimBeganFor == f.job.Key) {
			claimed = append(claimed, at.Slot)
			continue
		}
		all = append(all, at.Slot)
	}
	if len(places) > 1 && len(claimed) == 0 {
		return nil
	}
	return all
}

// blame is the slot that a submitter's last failed start was on.
type blame struct {
	slot string
	job  backfill.JobID
	at   time.Time
}

// blame leaves a slot out, for a while, for the schedd of a job that did not start there. If most
// of the pool would then be left out, the cause must be the schedd or the network: the slot stays
// in, and the schedd's entry in the map enough says that no more slots are to be left out for it.
// The result says whether it is left out, or will be if it refuses another claim.
func (c *State) blame(slot string, f *flight, enough map[string]bool) (closed bool) {
	schedd, began := f.job.Key.Schedd, c.belief.Snapshot().Began
	suspected := blames(f)
	s := c.suspects[slot][suspected]
	if s != nil && f.since.Before(s.at) {
		return true
	}
	// The cause may be the job itself, or a claim elsewhere that hangs: as long as it does, the
	// schedd starts the job nowhere. So the jobs of a submitter get only one slot at a time left
	// out, or a gang those of one start: otherwise one user could close the pool to the others.
	who := schedd + "\n" + f.job.Submitter()
	last := c.blamed[who]
	sameStart := began.Equal(last.at) && last.job == f.job.ID
	near := last.slot != "" && c.hostOf(last.slot) == c.hostOf(slot)
	if !near && began.Sub(last.at) < 2*c.s.Patience && !sameStart {
		return false
	}
	c.blamed[who] = blame{slot, f.job.ID, began}
	if enough[schedd] || c.mostOut(slot, f.job) {
		enough[schedd] = true
		return false
	}
	if s == nil {
		s = &suspect{}
		if c.suspects[slot] == nil {
			c.suspects[slot] = map[whose]*suspect{}
		}
		c.suspects[slot][suspected] = s
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

// blames returns for whose jobs a slot is a suspect after a failed start there.
func blames(f *flight) whose {
	if f.failed != refused && f.gone.IsZero() { // nor is that ever known of a gang
		return whose{f.job.Key.Schedd, f.job.User()}
	}
	return whose{schedd: f.job.Key.Schedd}
}

// absolve takes the suspicion back that a flight's user brought on a slot, since the job, or all that
// are planned by the same, came to nothing elsewhere, too.
func (c *State) absolve(f *flight) {
	slot := c.refused.byKind[f.job.Group.Spec.Text].slot
	if who := blames(f); who.user != "" && c.suspects[slot][who] != nil {
		c.forgetSuspect(slot, who)
	}
}

// mostOut tells whether more than half of the pool would be left out for a job if this slot were,
// too. Each host counts as one, whatever part of its slots is left out: otherwise one with many bad
// slots would be most of the pool, and none of them left out.
func (c *State) mostOut(slot string, j *track.Job) bool {
	now, out := c.belief.Snapshot().Began, map[string]int64{c.hostOf(slot): 1}
	for other := range c.suspects {
		if other != slot && c.belief.Slot(other) != nil && c.isLeftOut(other, j, now) {
			out[c.hostOf(other)]++
		}
	}
	slots, sum := c.slotsOfHosts(), int64(0)
	const whole = 1 << 40
	for host, n := range out {
		sum += n * whole / max(n, slots[host])
	}
	return 2*sum > int64(len(slots))*whole
}

// slotsOfHosts returns how many slots each host of the pool has.
func (c *State) slotsOfHosts() map[string]int64 {
	if look := c.belief.Snapshot().Number; c.hosts.slots == nil || c.hosts.look != look {
		c.hosts.look, c.hosts.slots = look, map[string]int64{}
		for name := range c.belief.SlotsUp() {
			c.hosts.slots[c.hostOf(name)]++
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

// clear removes the suspicion from the slots of a successful start, except where a start has failed
// since.
func (c *State) clear(p track.Proven) {
	for _, at := range p.Places {
		for who, s := range c.suspects[at.Slot] {
			if who.schedd == p.Schedd && p.Start >= backfill.Time(s.at.Unix()) {
				c.log.Info("a slot is not doubted any more: a job was started there", "slot", at.Slot, "schedd", p.Schedd)
				c.forgetSuspect(at.Slot, who)
			}
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
	maps.DeleteFunc(c.blamed, func(_ string, b blame) bool { return began.Sub(b.at) >= 2*c.s.Patience })
	for slot, all := range c.suspects {
		o := c.belief.Slot(slot)
		for who, s := range all {
			gone := o == nil || c.belief.Schedd(who.schedd) == nil
			if gone || o.Restarted.After(s.at) || began.Sub(s.until) > suspicionEnd {
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
			one.Schedd, one.User = closed.Of, closed.User
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
