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

// hold says how long a verdict holds.
type hold struct {
	until int64 // it is found anew from this instant on, in seconds since 1970
	wakes int64 // when a cycle is due for it; never: it waits for one
}

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

// A verdict that depends on the clock in a way that cannot be solved is looked at once a minute, for a
// day, and between two minutes by halving. Draws are made anew in each cycle, at least once a minute.
const (
	secondsPerMinute = 60
	mostMinutes      = 24 * 60
	mostLooks        = 200_000 // at further minutes, in one Match
)

// holds says how long the verdict on a pair holds, whose Requirements have asked for the clock or drawn.
func (s *search) holds(o offer, found verdict, random bool) hold {
	now := s.m.clock.now
	if random {
		return hold{now + 1, now + secondsPerMinute}
	}
	steady := classad.NewSteady()
	s.matchAt(o, now, steady)
	until := steady.Until
	if steady.Unsolved {
		until = s.firstOther(o, found)
	}
	return hold{until, until}
}

// matchAt reports whether a pair matches at another instant.
func (s *search) matchAt(o offer, instant int64, steady *classad.Steady) bool {
	host := *s.m.host
	host.Now, host.Steady = func() int64 { return instant }, steady
	s.host = &host
	defer func() { s.host = nil }()
	s.c.pairs++
	return o.match(&s.trial, s.c.ad)
}

// firstOther looks for the first instant at which a pair gets another verdict, but not beyond what the
// account and the Match allow: then it is the last instant that was looked at.
func (s *search) firstOther(o offer, found verdict) int64 {
	same := s.m.clock.now
	for range mostMinutes {
		next := (same/secondsPerMinute + 1) * secondsPerMinute
		if s.m.looks >= mostLooks || s.steps() >= s.most {
			return max(same, s.m.clock.now+1)
		}
		s.m.looks++
		if s.matchAt(o, next, nil) == (found == matches) {
			same = next
			continue
		}
		for other := next; ; {
			middle := same + (other-same)/2
			switch {
			case middle == same:
				return other
			case s.matchAt(o, middle, nil) == (found == matches):
				same = middle
			default:
				other = middle
			}
		}
	}
	return same
}

// keep notes how long the verdict on a class holds.
func (c *autocluster) keep(class int, h hold) {
	if c.holds == nil {
		c.holds = map[int]hold{}
	}
	c.holds[class] = h
	c.expires, c.wakes = min(c.expires, h.until), min(c.wakes, h.wakes)
}

// keepRank notes that what is preferred is to be found anew in the next Match.
func (c *autocluster) keepRank(class int, now int64) {
	h, has := c.holds[class]
	if !has {
		h.wakes = never
	}
	h.until = now + 1
	c.keep(class, h)
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
		c.expires, c.wakes = min(c.expires, h.until), min(c.wakes, h.wakes)
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
		if len(c.holds) > 0 && len(c.users) > 0 {
			m.expires, m.wakes = min(m.expires, c.expires), min(m.wakes, c.wakes)
		}
	}
}
