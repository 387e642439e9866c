package matchmaker

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// This file renews what was found of pairs whose Requirements or ranks ask for the clock or for random
// numbers. All other pairs are judged once, and cost nothing when the clock goes on.

// never is an instant that does not come.
const never = math.MaxInt64

// hold says when a pair matches, and how long that is known for.
type hold struct {
	least   backfill.Vector   // what must be free on the slot when they begin; nil: no more than they take
	windows []backfill.Window // when jobs may begin, by the pool's clock; nil: as the verdict says
	until   int64             // it is found anew from this instant on, in seconds since 1970
	wakes   int64             // when a Match is due for it; never: it waits for one
	moves   bool              // how much the offer is preferred depends on the clock, too,
	ranked  int64             // and was found at this instant
	awaits  string            // the clause that waits for another state of the slot; see keepFavour
	drawn   bool              // random numbers decide, and what must be free is found for each slot; see onDraw
	little  *little           // the pair wants little to be free, and is judged for each slot; see onSlot
}

// next returns when something is to be found anew.
func (h hold) next(now int64) int64 {
	switch {
	case h.little != nil:
		return min(h.until, now)
	case h.moves:
		return min(h.until, now+1)
	default:
		return h.until
	}
}

// limits reports whether jobs may not begin at all times, or only while more is free than they take.
func (h hold) limits() bool { return h.windows != nil || h.least != nil || h.drawn }

// clock is the instant of a Match, and what evaluations have asked for since it was last reset.
type clock struct {
	now          int64            // in seconds since 1970
	read, random bool             // the clock, random numbers
	job, slot    *classad.ClassAd // for whom numbers are drawn
	drawn        int              // how many were
	named        *classad.ClassAd // a job, and what stands for it
	name         digest
}

// setClock sets the instant at which expressions are evaluated, by the pool's clock.
func (m *Matchmaker) setClock(now backfill.Time) {
	m.clock.now, m.clock.named = m.world.Start+int64(now), nil
}

// setHost has expressions see the world as it is now, and the instant of the clock.
func (m *Matchmaker) setHost() {
	m.host = &classad.Host{
		Zone: m.world.Zone, UserMap: m.world.UserMap, Random: m.draw,
		Now: func() int64 {
			m.clock.read = true
			return m.clock.now
		},
	}
}

// begin prepares the evaluation of a pair.
func (c *clock) begin(job, slot *classad.ClassAd) {
	c.read, c.random, c.job, c.slot, c.drawn = false, false, job, slot, 0
}

// draw returns a random number, which depends on the instant, the job and the slot alone. Jobs that no
// slot can tell apart draw the same.
func (m *Matchmaker) draw() float64 {
	c := &m.clock
	c.random = true
	c.drawn++
	if c.named != c.job && c.job != nil {
		c.named, c.name = c.job, digestOf([]byte(describe(c.job, m.significant(c.job)...)))
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %d %x ", c.now, c.drawn, c.name)
	if slot, ok := c.slot.Text("Name"); ok {
		_, _ = h.Write([]byte(slot))
	}
	return spread(h.Sum64())
}

// spread returns a number from 0 on and below 1, which differs much for numbers that differ little
// (the finalizer of SplitMix64).
func spread(n uint64) float64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return float64((n^n>>31)>>11) / (1 << 53)
}

// Start windows are found for a week, and anew each day. What cannot be solved for the time is looked
// at once a minute, and between two minutes by halving. Draws are made anew in each cycle, at least once
// a minute.
const (
	secondsPerMinute = 60
	secondsPerDay    = 24 * 60 * secondsPerMinute
	horizon          = 7 * secondsPerDay
	// mostLooks is how often one Match looks at other instants than its own, but for the first few of a
	// pair: about a tenth of a second. The next ones go on. mostOfPair is how often it looks for one pair.
	mostLooks, fewLooks, mostOfPair = 30_000, 8, 7*24*60 + 1000
	// mostWindows is how many windows of one pair are known at a time.
	mostWindows = 200
)

// holds says when a pair matches, whose Requirements have asked for the clock or drawn.
func (s *search) holds(o offer, found verdict, random bool) (hold, verdict) {
	now := s.m.clock.now
	if random {
		return s.c.drawAgain(now), varies
	}
	w := foreseer{search: s, o: o, at: now, open: found == matches, since: now}
	for goes := true; goes && w.at < now+horizon && w.affords(); {
		goes = w.step()
	}
	return w.hold()
}

// drawAgain says that draws hold for this Match. A cycle is due for the next ones in a minute, but not
// for ever, as the jobs may not fit at all: a simulation would never end.
func (c *autocluster) drawAgain(now int64) hold {
	h := hold{until: now + 1, wakes: never}
	if c.draws++; c.draws <= mostDraws {
		h.wakes = now + secondsPerMinute
	}
	return h
}

// mostDraws is how many draws a cycle is due for after the last job of an autocluster came.
const mostDraws = 7 * 24 * 60

// foresee says whether a pair ever matches, for all that is known, when jobs may begin, and what must be
// free then.
func (s *search) foresee(o offer) (h hold, found verdict) {
	if found = s.match(o); s.m.clock.read && !s.m.clock.random {
		h, found = s.holds(o, found, false)
	}
	if found == matches {
		s.c.holds = map[int]hold{0: h}
		s.keepLeast(o, 0)
		h = s.c.holds[0]
	} else if s.c.holds = nil; s.keepLittle(o, 0) || s.keepFavour(o, 0) {
		h, found = s.c.holds[0], matches
	}
	if _, bySlot := s.c.ad.Lookup(SlotLimits); bySlot && found == matches {
		h.windows, h.awaits = unforeseen, unknownRoom
	}
	return h, found
}

// foreseer finds the start windows of a pair, from one instant at which its verdict changes to the next.
type foreseer struct {
	*search
	o       offer
	at      int64 // how far it has come, in seconds since 1970
	open    bool  // the verdict at that instant
	since   int64 // and since when
	windows []backfill.Window
	looks   int  // how often it has looked
	draws   bool // from that instant on, random numbers decide
}

// affords reports whether it may look any further in this Match.
func (w *foreseer) affords() bool {
	return (w.looks < fewLooks || w.m.looks < mostLooks) && w.looks < mostOfPair && len(w.windows) < mostWindows &&
		w.steps() < w.most && w.ended() == nil
}

// matchAt reports whether the pair matches at an instant.
func (w *foreseer) matchAt(instant int64, steady *classad.Steady) bool {
	host := *w.m.host
	host.Now, host.Steady = func() int64 { return instant }, steady
	w.host = &host
	defer func() { w.host = nil }()
	w.c.pairs++
	if w.looks++; w.looks > fewLooks {
		w.m.looks++
	}
	return w.o.match(&w.trial, w.c.ad)
}

// step goes on to the next instant at which the verdict may be another. It returns false if random
// numbers decide from where it is.
func (w *foreseer) step() bool {
	steady := classad.NewSteady()
	open := w.matchAt(w.at, steady)
	if w.draws = steady.Drawn; w.draws {
		return false
	}
	if w.turn(open); !steady.Unsolved {
		w.at = steady.Until
		return true
	}
	return w.byMinutes()
}

// byMinutes goes on to the next instant that a look at each minute shows.
func (w *foreseer) byMinutes() bool {
	for w.at < w.m.clock.now+horizon && w.affords() {
		next := (w.at/secondsPerMinute + 1) * secondsPerMinute
		other := w.matchAt(next, nil) != w.open
		if w.draws = w.m.clock.random; w.draws {
			return false
		}
		if !other {
			w.at = next
			continue
		}
		for same := w.at; next-same > 1; {
			if middle := same + (next-same)/2; w.matchAt(middle, nil) == w.open {
				same = middle
			} else {
				next = middle
			}
		}
		w.at = next
		break
	}
	return true
}

// turn notes the verdict at the instant that the foreseer has come to.
func (w *foreseer) turn(open bool) {
	if open == w.open {
		return
	}
	if w.open {
		w.add(w.at)
	}
	w.open, w.since = open, w.at
}

// add ends a window.
func (w *foreseer) add(end int64) {
	to := backfill.Forever
	if end < never {
		to = backfill.Time(end - w.m.world.Start)
	}
	w.windows = append(w.windows, backfill.Window{From: backfill.Time(w.since - w.m.world.Start), To: to})
}

// hold returns what was found, and whether the pair ever matches. If it has come to the end of the week,
// the last verdict holds beyond; else only as far as it has come.
func (w *foreseer) hold() (hold, verdict) {
	now, h, end := w.m.clock.now, hold{until: never, wakes: never}, int64(never)
	switch {
	case w.at == never:
	case w.draws:
		h.until, h.wakes, end = w.at, w.at, w.at
	case w.at < now+horizon: // there was too much to look at
		end = max(now+1, w.at)
		h.until = now + max(1, min(secondsPerDay, (w.at-now)/2))
	default:
		h.until = max(now+secondsPerDay, w.at-horizon)
	}
	if w.open && end > w.since {
		w.add(end)
	}
	n := len(w.windows)
	switch {
	case n == 0:
		if w.at == now && !w.draws {
			h.wakes = h.until // it has its turn in the next Match
			w.c.later, w.m.open = true, true
		}
		return h, refused
	case w.windows[n-1].To != backfill.Forever:
		closes := w.m.world.Start + int64(w.windows[n-1].To)
		h.until = min(h.until, (closes/secondsPerMinute+1)*secondsPerMinute) // not for each pilot by itself
	case n == 1 && w.since <= now:
		return h, matches
	case n == 1:
		h.until = min(h.until, w.since)
	}
	h.windows = w.m.intern(w.windows)
	return h, matches
}

// intern returns windows that are equal to these, and in the same place for all pairs.
func (m *Matchmaker) intern(windows []backfill.Window) []backfill.Window {
	var key any = windows[0]
	if len(windows) > 1 {
		key = fmt.Sprint(windows)
	}
	kept, known := m.windows[key]
	if !known {
		if len(m.windows) > mostInterned {
			clear(m.windows)
		}
		kept = windows
		m.windows[key] = kept
	}
	return kept
}

// mostInterned is how many different windows are remembered.
const mostInterned = 1 << 16

// keep notes how long the verdict on a class holds.
func (c *autocluster) keep(class int, h hold) {
	if c.holds == nil {
		c.holds = map[int]hold{}
	}
	c.holds[class] = h
	c.expires, c.wakes = min(c.expires, h.next(h.ranked)), min(c.wakes, h.wakes)
}

// keepRank notes that what is preferred is to be found anew in the next Match.
func (c *autocluster) keepRank(class int, now int64) {
	h, has := c.holds[class]
	if !has {
		h.until, h.wakes = never, never
	}
	h.moves, h.ranked = true, now
	c.keep(class, h)
}

// rankAnew finds how much offers of a class are preferred now, if that depends on the clock.
func (s *search) rankAnew(o offer, class int) {
	c, now := s.c, s.m.clock.now
	h, has := c.holds[class]
	if !has || !h.moves || h.ranked == now || s.steps() >= s.most {
		return
	}
	c.rankAs(class, o.preference(&s.trial, c.ad))
	c.keepRank(class, now)
}

// rankAs notes how much offers of a class are preferred.
func (c *autocluster) rankAs(class int, rank preference) {
	if rank == (preference{}) && len(c.ranks) <= class {
		return
	}
	if len(c.ranks) <= class {
		c.ranks = append(c.ranks, make([]preference, len(c.verdicts)-len(c.ranks))...)
	}
	c.ranks[class] = rank
}

// expire forgets the verdicts of an autocluster that hold no longer. It reports whether there were any.
func (c *autocluster) expire(now int64) bool {
	if now < c.expires {
		return false
	}
	c.expires, c.wakes = never, never
	for class, h := range c.holds {
		if h.until <= now {
			c.verdicts[class] = unknown
			if class < len(c.ranks) {
				c.ranks[class] = preference{}
			}
			delete(c.holds, class)
			continue
		}
		c.expires, c.wakes = min(c.expires, h.next(now)), min(c.wakes, h.wakes)
	}
	return true
}

// Wake returns the instant of the pool's clock at which the next Match may find other candidates, if
// nothing but the clock changes.
func (m *Matchmaker) Wake() backfill.Time {
	if m.wakes == never {
		return backfill.Forever
	}
	return backfill.Time(m.wakes - m.world.Start)
}

// findNext notes when verdicts have to be found anew.
func (m *Matchmaker) findNext() {
	m.expires, m.wakes = never, never
	for _, c := range m.clusters {
		if len(c.holds) == 0 || len(c.users) == 0 {
			continue
		}
		m.expires = min(m.expires, c.expires)
		if c.wakes > m.clock.now { // else it was put off, and has its turn with others
			m.wakes = min(m.wakes, c.wakes)
		}
	}
}
