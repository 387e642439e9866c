package matchmaker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Slots are matched as if all that they have were free. Where a START or a job's Requirements ask for
// more than the job takes, this file finds the least that must be free just before the job begins. Where
// there is more than one way, see varied.go; what wants little to be free, such as Cpus <= 4, is in little.go.

// levels are how much is free of the resources on which a pair depends.
type levels struct {
	*search
	o         offer
	ad        *classad.ClassAd // the slot's, with the amounts that are asked about
	resources []int
	lists     []list
	low, high []int64 // what the job takes, what the slot has
	at        []int64 // what is asked about
	read      bool    // the clock, with some levels
}

// least returns what must be free on an offer for the jobs of the autocluster to begin, which match if
// all is free; nil: nothing more than what they take. It returns false if there was too much to look
// at: then all must be free, for now. If there is more than one way, it says so.
func (s *search) least(o offer, depends needs) (least backfill.Vector, judged *little, all bool) {
	l := s.levels(o, depends)
	if l == nil {
		return nil, nil, true
	}
	defer s.m.disown(l.ad)
	began := s.meter.Steps()
	matched := l.matches()
	if copy(l.at, l.high); !matched && l.mixed() && !l.matches() { // with what is published at most
		return nil, nil, false
	}
	copy(l.at, l.low)
	var ways *varied
	if s.meter.Steps()-began <= dearPair && !s.rises(o.ad) {
		worse := l.varies()
		switch {
		case !l.affords():
			copy(l.at, l.high)
			return l.vector(), nil, false
		case worse:
			ways = &varied{enough: []backfill.Vector{l.vector()}, worse: true}
		default:
			copy(l.at, l.low)
		}
	}
	if ways == nil {
		if matched {
			return nil, nil, true
		}
		if ways, all = l.find(); !all {
			return l.vector(), nil, false
		}
	}
	if least = l.vector(); ways != nil {
		judged = &little{
			ad: o.ad, needs: depends, resources: l.resources, clocked: l.read, known: map[string]bool{}, varied: ways,
		}
	}
	return least, judged, true
}

// levels returns the levels of a pair, at first what the job takes; nil if there are none, as it takes all
// of what matters. Whoever asks for them has to disown their ad.
func (s *search) levels(o offer, depends needs) *levels {
	l := levels{search: s, o: o}
	for i := range s.m.resources {
		if !depends.has(i) {
			continue
		}
		low, high := s.requests(o, i), s.m.whole(o.ad, i)
		if len(depends.lists) > 0 && s.m.resources[i] == Claims {
			low = max(low, high-mostListed)
		}
		if low < high {
			l.resources, l.low, l.high = append(l.resources, i), append(l.low, low), append(l.high, high)
		}
	}
	if len(l.resources) == 0 {
		return nil
	}
	l.ad, l.at, l.lists = o.ad.Clone(), slices.Clone(l.low), depends.lists
	if steps, known := s.m.ownSteps[o.ad]; known {
		s.m.ownSteps[l.ad] = steps
	}
	return &l
}

// find sets the least levels with which the pair matches: first of each resource with all of the others,
// and where those do not do together, one after another with those that were found. Then there are several
// ways. It returns false, and sets all levels to what the slot has, if there was too much to look at.
func (l *levels) find() (ways *varied, all bool) {
	alone := make([]int64, len(l.at))
	for n := range l.at {
		copy(l.at, l.high)
		l.lower(n)
		alone[n] = l.at[n]
	}
	copy(l.at, alone)
	if len(l.at) > 1 && !l.matches() {
		ways = new(varied)
		ways.enough, ways.all = l.others()
	}
	if !l.affords() {
		copy(l.at, l.high)
		return nil, false
	}
	return ways, true
}

// lower sets the level of one resource to the least with which the pair matches, if it does now.
func (l *levels) lower(n int) {
	bad, good := l.low[n]-1, l.at[n]
	for good-bad > 1 && l.affords() {
		if l.at[n] = bad + (good-bad)/2; l.matches() {
			good = l.at[n]
		} else {
			bad = l.at[n]
		}
	}
	l.at[n] = good
}

// affords reports whether the pair may be looked at any further in this Match.
func (l *levels) affords() bool {
	return l.m.looks < mostLooks && l.steps() < l.most && l.ended() == nil
}

// matches reports whether the pair matches with the levels that are asked about.
func (l *levels) matches() bool {
	for n, i := range l.resources {
		if l.ad.SetInt(l.m.resources[i], l.at[n]); l.m.resources[i] == Claims {
			l.ad.SetInt("NumDynamicSlots", l.high[n]-l.at[n])
		}
	}
	l.setLists()
	l.m.looks++
	l.c.pairs++
	o := l.o
	o.ad = l.ad
	found := o.match(&l.trial, l.c.ad)
	l.read = l.read || l.m.clock.read
	return found
}

// keepLeast notes what must be free on the offers of a class, which the autocluster's jobs match if all
// is.
func (s *search) keepLeast(o offer, class int) {
	depends := s.dependsOn(o, class)
	if depends.amounts&^unforetold == 0 {
		return
	}
	h, has := s.c.holds[class]
	if !has {
		h = hold{until: never, wakes: never}
	}
	if len(h.windows) > 0 { // what must be free when they begin
		now := s.m.clock.now
		if from := s.m.world.Start + int64(h.windows[0].From); from > now {
			host := *s.m.host
			host.Now = func() int64 { return from }
			s.host = &host
			defer func() { s.host = nil }()
		}
		if to := h.windows[0].To; to < backfill.Forever {
			h.until = min(h.until, max(now+1, s.m.world.Start+int64(to)))
		}
	}
	least, judged, all := s.least(o, depends)
	if least == nil && !all { // with what is published, though not if all is free
		s.keepLittle(o, class)
		return
	}
	if least == nil {
		return
	}
	if h.least, h.little = least, judged; !all {
		h.until, s.c.later, s.m.open = s.m.clock.now+1, true, true
		h.wakes = h.until
	}
	if judged != nil {
		s.c.little = true
		if judged.clocked {
			h.until = min(h.until, s.m.clock.now+renewLittle)
		}
	}
	s.c.keep(class, h)
}

// keepDrawn notes that something must be free on the offers of a class for which random numbers are drawn.
func (s *search) keepDrawn(o offer, class int) {
	if s.dependsOn(o, class).amounts&^unforetold != 0 {
		h := s.c.holds[class]
		h.drawn = true
		s.c.keep(class, h)
	}
}

// onDraw returns what holds on one slot for a pair that matches it with what was drawn in this Match, if all
// of it is free.
func (s *search) onDraw(id, class int, h hold) hold {
	o := s.m.offer(id)
	least, judged, all := s.least(o, s.dependsOn(o, class))
	switch h.least, h.little = least, judged; {
	case judged != nil:
		s.c.little = true
		return s.onSlot(id, h)
	case all:
	case least == nil: // with what is published, though not if all is free
		h.windows = unforeseen
	default:
		s.c.later, s.m.open = true, true
	}
	return h
}

// guards says how much must be free on the offers of a class for the jobs of an autocluster to begin, as
// it stands behind "while"; "" if no more than they take.
func (m *Matchmaker) guards(c *autocluster, class int, slot *classad.ClassAd) string {
	if c.view == nil || c.edition != c.view.edition {
		return ""
	}
	h := c.holds[class]
	words := func(least backfill.Vector) string { return m.mustBeFree(least, slot) }
	if h.little != nil && h.little.varied != nil {
		return h.little.varied.inWords(words)
	}
	return words(h.least)
}

// mustBeFree puts what must be free on a slot into words.
func (m *Matchmaker) mustBeFree(least backfill.Vector, slot *classad.ClassAd) string {
	var free, all []string
	for i, n := range least {
		switch name := m.resources[i]; {
		case n == 0:
		case name == Claims:
			all = append(all, "at most "+jobs(m.whole(slot, i)-n)+" there")
		default:
			free = append(free, fmt.Sprint(n, " ", name))
		}
	}
	if len(free) > 0 {
		all = append([]string{"at least " + strings.Join(free, " and ") + " are free"}, all...)
	}
	return strings.Join(all, " and ")
}

// mostGuarded is how many kinds of slots [Fit.WhyGuarded] tells of.
const mostGuarded = 3

// WhyGuarded says how many of the matching slots accept the job only while more is free than it takes; ""
// if none does: 1 of 4 slots accepts it only while at least 6 cpus are free.
func (f Fit) WhyGuarded() string {
	var parts []string
	for i, g := range f.Guarded {
		if i == mostGuarded {
			parts = append(parts, fmt.Sprintf("and %d more kinds", len(f.Guarded)-i))
			break
		}
		verb := "accepts"
		if g.Slots > 1 {
			verb = "accept"
		}
		parts = append(parts, fmt.Sprintf("%d of %d slots %s it only while %s", g.Slots, f.Slots, verb, g.Why))
	}
	return strings.Join(parts, "; ")
}
