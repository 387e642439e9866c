package matchmaker

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Some slots accept a job only while little is free: Cpus <= 4 fills machines that are in use already,
// and keeps whole ones for others. What else will run there nobody can foretell. So such a pair is
// judged in each Match by what is free on each slot, and is taken to be closed at all later times, as by
// state that passes (favour.go).

// little is what is known of a pair that is judged by what is free on each slot: it does not match if all
// of a slot is free, but may if less is, or it is varied.
type little struct {
	ad        *classad.ClassAd
	needs     needs
	resources []int
	clocked   bool            // they depend on the clock
	fewer     bool            // it matches with what the job takes, and so while less is free than now
	known     map[string]bool // verdicts by what is free, in the order of the resources
	varied    *varied         // it matches if all is free, and in more than one way; nil: it does not
}

// mostKnown is how many verdicts are remembered of one pair, and renewLittle for how many seconds, if they
// depend on the clock; see renewFavour for pairs that match with nothing.
const (
	mostKnown   = 1000
	renewLittle = 60
)

// keepLittle reports whether a pair that does not match might if less were free, and notes that. It tries
// what the job takes, of all resources and of each, and some between that and all.
func (s *search) keepLittle(o offer, class int) bool {
	depends := s.dependsOn(o, class)
	if depends.amounts&^unforetold == 0 || s.m.ownSteps[o.ad] < 0 {
		return false
	}
	if s.m.looks >= mostLooks {
		s.putLater(class)
		return false
	}
	l := s.levels(o, depends)
	if l == nil {
		return false
	}
	defer s.m.disown(l.ad)
	would, fewer := l.small()
	h, has := s.c.holds[class]
	if !has {
		h = hold{until: never, wakes: never}
	}
	switch {
	case !l.read:
	case would:
		h.until = min(h.until, s.m.clock.now+renewLittle)
	default:
		h.until = min(h.until, s.m.clock.now+renewFavour)
		s.c.keep(class, h)
	}
	if would {
		h.windows, h.awaits = unforeseen, l.atMost()
		h.little = &little{ad: o.ad, needs: depends, resources: l.resources, fewer: fewer, known: map[string]bool{}}
		s.c.keep(class, h)
		s.c.little = true
	}
	return would
}

// small sets the levels to such with which the pair matches, if it finds some. It says whether these are
// what the job takes.
func (l *levels) small() (found, least bool) {
	for part := range int64(4) {
		for n := range l.at {
			l.at[n] = l.low[n] + (l.high[n]-l.low[n])*part/4
		}
		if l.matches() {
			return true, part == 0
		}
	}
	for n := range l.at {
		if len(l.at) == 1 {
			break
		}
		copy(l.at, l.high)
		if l.at[n] = l.low[n]; l.matches() {
			return true, false
		}
	}
	if !l.mixed() {
		return false, false
	}
	if copy(l.at, l.high); l.matches() {
		return true, false
	}
	return l.setPublished() && l.matches(), false
}

// atMost says how much may be free, where the pair matches with the present levels and does not if all is:
// a text that can stand behind "is".
func (l *levels) atMost() string {
	if l.mixed() {
		return "open only in another state: with other jobs there"
	}
	for n, i := range l.resources {
		good, bad := l.at[n], l.high[n]
		if l.at[n] = bad; l.matches() {
			continue // it does not matter
		}
		for bad-good > 1 && l.affords() {
			if l.at[n] = good + (bad-good)/2; l.matches() {
				good = l.at[n]
			} else {
				bad = l.at[n]
			}
		}
		if l.at[n] = good; l.m.resources[i] == Claims {
			return fmt.Sprintf("open only while at least %s there", jobs(l.high[n]-good))
		}
		return fmt.Sprintf("open only while at most %d %s of it are free", good, l.m.resources[i])
	}
	return "open only while less of it is free"
}

// jobs puts a number of jobs that run into words.
func jobs(n int64) string {
	if n == 1 {
		return "1 job runs"
	}
	return fmt.Sprintf("%d jobs run", n)
}

// onSlot returns what holds on one slot for a pair that is judged by what is free: if it wants little to be
// so, it is open for this instant.
func (s *search) onSlot(id int, h hold) hold {
	if s.m.Free == nil {
		return h
	}
	if h.little.varied != nil {
		return s.withFree(id, h)
	}
	l, free := h.little, s.m.Free(backfill.SlotID(id))
	if open, known := s.opens(l, free); !known || !open {
		return h
	}
	now := backfill.Time(s.m.clock.now - s.m.world.Start)
	h.windows, h.awaits = s.m.intern([]backfill.Window{{From: now, To: now + 1}}), ""
	if l.fewer {
		return h
	}
	h.least = make(backfill.Vector, len(s.m.resources))
	for _, i := range l.resources {
		h.least[i] = free[i] // with less the verdict may be another
	}
	return h
}

// opens is opensWith, and looks once at what is known.
func (s *search) opens(l *little, free backfill.Vector) (open, known bool) {
	key := l.key(free)
	if open, known = l.known[key]; known {
		return open, true
	}
	if open, known = s.opensWith(l, free); known {
		if len(l.known) >= mostKnown {
			clear(l.known)
		}
		l.known[key] = open
	}
	return open, known
}

// key stands for what is free of the resources that matter.
func (l *little) key(free backfill.Vector) string {
	key := make([]byte, 0, 64)
	for _, i := range l.resources {
		key = binary.AppendVarint(key, free[i])
	}
	return string(key)
}

// opensLittle reports whether the last Match has found a slot of a class open for the jobs of an
// autocluster that want little to be free.
func (m *Matchmaker) opensLittle(c *autocluster, class, id int) bool {
	if c.view == nil || c.edition != c.view.edition || m.Free == nil {
		return false
	}
	l := c.holds[class].little
	return l != nil && l.varied == nil && l.known[l.key(m.Free(backfill.SlotID(id)))]
}

// WantsLittle reports whether some jobs wait for less to be free on a slot, so that the start of another
// job may open it.
func (m *Matchmaker) WantsLittle() bool {
	waits := func(c *autocluster) bool { return c.little && len(c.users) > 0 }
	return m.Free != nil && slices.ContainsFunc(m.clusters, waits)
}

// opensWith reports whether a pair matches with what is free; not known if there was too much to look at.
func (s *search) opensWith(l *little, free backfill.Vector) (open, known bool) {
	if s.m.looks >= mostLooks || s.steps() >= s.most {
		s.c.later, s.m.open = true, true
		return false, false
	}
	with := s.levels(offer{ad: l.ad, m: s.m}, l.needs)
	defer s.m.disown(with.ad)
	for n, i := range with.resources {
		with.at[n] = free[i]
	}
	if slices.ContainsFunc(with.at, func(n int64) bool { return n < 0 }) {
		return false, true
	}
	return with.matches(), true
}
