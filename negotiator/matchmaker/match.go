package matchmaker

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// offer is what a job is matched with: a slot, or a bundle with its slots.
type offer struct {
	ad    *classad.ClassAd
	parts []backfill.SlotID // the bundle's slots; nil: the offer is a slot
	m     *Matchmaker
}

// offers is the number of offers: of bundles, or of slots in a pool without bundles.
func (m *Matchmaker) offers() int {
	if len(m.bundles) > 0 {
		return len(m.bundles)
	}
	return len(m.slots)
}

func (m *Matchmaker) offer(id int) offer {
	if len(m.bundles) > 0 {
		return offer{m.bundles[id].Ad, m.bundles[id].Slots, m}
	}
	return offer{m.slots[id].ad, nil, m}
}

// classes returns the classes of the offers in a view. No job of the view's autoclusters can tell
// two offers of a class apart.
func (m *Matchmaker) classes(v *view) []int {
	if len(m.bundles) > 0 {
		return v.ofBundle
	}
	return v.ofSlot
}

// trial evaluates Requirements and ranks within a limit, and counts what that takes.
type trial struct {
	m       *Matchmaker
	limit   int // of one evaluation, in steps; 0 is none
	meter   classad.Meter
	slotOwn int64         // the steps that slots' own Requirements and ranks took
	excused int           // evaluations that exceeded their limit by the fault of slots
	host    *classad.Host // nil: the matchmaker's
	job     *classad.ClassAd
	plain   *classad.ClassAd // what the job's ad says in plain values; nil: not made yet
}

// steps is what the job has to answer for.
func (t *trial) steps() int64 { return t.meter.Steps() - t.slotOwn }

// supplier returns what supplies the clock and the like.
func (t *trial) supplier() *classad.Host {
	if t.host != nil {
		return t.host
	}
	return t.m.host
}

// accepts reports whether the Requirements of a slot's or bundle's ad accept a job.
func (t *trial) accepts(slot, job *classad.ClassAd) bool {
	return ask(t, slot, job, classad.Pair.LeftMatchesRight)
}

// ask evaluates an expression of a slot's or bundle's ad for a job. The result is zero if the slot
// is not bearable.
func ask[T any](t *trial, slot, job *classad.ClassAd, evaluate func(classad.Pair) T) (result T) {
	p := classad.Pair{Left: job, Right: slot, Host: t.supplier(), Meter: &t.meter}
	if t.limit == 0 {
		return evaluate(p)
	}
	own, bearable := t.m.own(slot)
	if !bearable {
		return result
	}
	steps, exceeded := t.meter.Steps(), t.meter.Exceeded()
	p.MaxSteps = own + t.limit
	result = evaluate(p)
	t.settle(slot, job, func(p classad.Pair) { evaluate(p) },
		int64(own), t.meter.Steps()-steps, t.meter.Exceeded()-exceeded)
	return result
}

// with returns the pair of a job and an offer, whose evaluation is limited and counted.
func (o offer) with(t *trial, job *classad.ClassAd) classad.Pair {
	return classad.Pair{Left: job, Right: o.ad, Host: t.supplier(), MaxSteps: t.limit, Meter: &t.meter}
}

// accepts reports whether the Requirements of the slot, or of the bundle and each of its slots,
// accept a job.
func (o offer) accepts(t *trial, job *classad.ClassAd) bool {
	return t.accepts(o.ad, job) && !slices.ContainsFunc(o.parts, func(slot backfill.SlotID) bool {
		return !t.accepts(o.m.slots[slot].ad, job)
	})
}

// match reports whether the job and the offer accept each other.
func (o offer) match(t *trial, job *classad.ClassAd) bool {
	o.m.clock.begin(job, o.ad)
	if t.limit == 0 {
		return o.with(t, job).Match() && (o.parts == nil || o.accepts(t, job))
	}
	return o.accepts(t, job) && o.with(t, job).RightMatchesLeft()
}

// preference returns how much the pool and the job prefer the offer.
func (o offer) preference(t *trial, job *classad.ClassAd) (p preference) {
	o.m.clock.begin(job, o.ad)
	p.rank = o.with(t, job).LeftRank()
	if p.rank != p.rank { // not a number: no preference
		p.rank = 0
	}
	if o.m.ranked {
		p.pre, p.post = ask(t, o.ad, job, preJobRank), ask(t, o.ad, job, postJobRank)
	}
	return p
}

// search is the matching of one autocluster, as far as its account lasts.
type search struct {
	trial
	c       *autocluster
	most    int64        // how many steps it may take
	ended   func() error // of the context
	probes  bool         // it stops at the first evaluation that exceeds its limit
	stopped bool         // it needed more
}

// verdict says whether an autocluster and a class match.
type verdict uint8

const (
	unknown verdict = iota
	refused
	matches
	varies // it is drawn for each offer of the class
)

// verdict says whether the autocluster and an offer of a class match, and how much the offer is
// preferred. It evaluates each pair of an autocluster and a class once, and none once the search
// has stopped.
func (s *search) verdict(id, class int) (verdict, preference) {
	c := s.c
	if len(c.verdicts) <= class {
		c.verdicts = append(c.verdicts, make([]verdict, max(class+1-len(c.verdicts), len(c.view.classes)))...)
	}
	if c.verdicts[class] == unknown && !s.stopped {
		s.judge(s.m.offer(id), class)
	}
	if len(c.holds) > 0 {
		s.rankAnew(s.m.offer(id), class)
	}
	switch {
	case c.verdicts[class] != varies:
	case s.steps() >= s.most:
		s.stopped = true
		return unknown, preference{}
	default:
		return s.match(s.m.offer(id)), c.preference(class)
	}
	return c.verdicts[class], c.preference(class)
}

// match evaluates the Requirements of the autocluster and an offer.
func (s *search) match(o offer) verdict {
	if o.match(&s.trial, s.c.ad) {
		return matches
	}
	return refused
}

// preference returns how much offers of a class are preferred.
func (c *autocluster) preference(class int) preference {
	if len(c.ranks) <= class {
		return preference{}
	}
	return c.ranks[class]
}

// judge evaluates a pair of the autocluster and a class, unless the account is used up or the
// context has ended.
func (s *search) judge(o offer, class int) {
	if s.steps() >= s.most || s.ended() != nil {
		s.stopped = true
		return
	}
	c := s.c
	if s.m.fault <= 0 && o.isDear() {
		c.later, s.m.open = true, true
		return
	}
	c.pairs++
	began := s.meter.Steps()
	found, rank := s.match(o), preference{}
	cheap := s.meter.Steps()-began <= dearPair
	asked, random, moving := s.m.clock.read, s.m.clock.random, false
	if found == matches || asked || random {
		rank = o.preference(&s.trial, c.ad)
		moving = s.m.clock.read || s.m.clock.random
	}
	if s.probes && s.meter.Exceeded() > 0 {
		c.dear, s.stopped = true, true
		return
	}
	if asked || random {
		var h hold
		h, found = s.holds(o, found, random)
		c.keep(class, h)
	}
	if moving {
		c.keepRank(class, s.m.clock.now)
	}
	if found = s.keepRequest(o, class, found); found == varies {
		s.keepDrawn(o, class)
	} else if found == matches {
		s.keepLeast(o, class)
	} else if found == refused && (cheap && s.keepLittle(o, class) || s.keepFavour(o, class)) {
		found, rank = s.keepRequest(o, class, matches), o.preference(&s.trial, c.ad)
	}
	if found == matches || found == varies {
		s.keepRoom(o, class)
	}
	c.verdicts[class] = found
	c.rankAs(class, rank)
}

// all finds the autocluster's candidates among all offers (slots or bundles), and their rank
// classes if some are preferred to others. They are valid until the next call.
func (s *search) all() (found backfill.Candidates) {
	found.Slots, found.Bundles = s.m.found.Slots[:0], s.m.found.Bundles[:0]
	windows, least := s.m.found.Windows[:0], s.m.found.Least[:0]
	defer func() { s.m.found, s.m.found.Windows, s.m.found.Least = found, windows, least }()
	bundles, classes := len(s.m.bundles) > 0, s.m.classes(s.c.view)
	some, alike, closes, keeps := false, true, false, false
	for id, class := range classes {
		v, rank := s.verdict(id, class)
		if v != matches {
			continue
		}
		if !some {
			some, s.c.rank = true, rank
		}
		alike = alike && rank == s.c.rank
		h := s.c.holds[class]
		if h.little != nil {
			h = s.onSlot(id, h)
		} else if h.drawn {
			h = s.onDraw(id, class, h)
		}
		windows, least = append(windows, h.windows), append(least, h.least)
		closes, keeps = closes || h.windows != nil, keeps || h.least != nil
		if bundles {
			found.Bundles = append(found.Bundles, backfill.BundleID(id))
		} else {
			found.Slots = append(found.Slots, backfill.SlotID(id))
		}
	}
	if closes {
		found.Windows = windows
	}
	if keeps {
		found.Least = least
	}
	s.c.prefers = nil
	switch {
	case alike:
	case bundles:
		found.Rank = rankClasses(s.c, found.Bundles, classes)
	default:
		found.Rank = rankClasses(s.c, found.Slots, classes)
	}
	return found
}

// rankClasses numbers the distinct preferences of candidates from 0, the lowest, without gaps, and
// returns the number for each candidate; it notes the preferences. classes are the classes of all
// offers.
func rankClasses[ID backfill.SlotID | backfill.BundleID](c *autocluster, candidates []ID, classes []int) []int32 {
	var distinct []preference
	seen := make([]bool, len(c.verdicts)) // by class
	for _, id := range candidates {
		if class := classes[id]; !seen[class] {
			seen[class], distinct = true, append(distinct, c.preference(class))
		}
	}
	slices.SortFunc(distinct, preference.compare)
	distinct = slices.Compact(distinct)
	c.prefers = distinct
	numbers := make([]int32, len(c.verdicts)) // by class
	for class := range seen {
		n, _ := slices.BinarySearchFunc(distinct, c.preference(class), preference.compare)
		numbers[class] = int32(n)
	}
	ranks := make([]int32, len(candidates))
	for i, id := range candidates {
		ranks[i] = numbers[classes[id]]
	}
	return ranks
}

// again returns the candidates after the classes of a few slots have changed. It returns false if
// adding and removing slots does not suffice: with many changed slots, with bundles, or if some
// slots are preferred to others.
func (s *search) again(moved []backfill.SlotID) (backfill.Candidates, bool) {
	c := s.c
	if c.depends || c.candidates.Rank != nil || c.candidates.Windows != nil || c.candidates.Least != nil ||
		len(moved) > few || len(s.m.bundles) > 0 {
		return backfill.Candidates{}, false
	}
	found := c.candidates.Slots
	for _, id := range moved {
		v, rank := s.verdict(int(id), c.view.ofSlot[id])
		at, present := slices.BinarySearch(found, id)
		switch {
		case v == matches && (rank != c.rank || c.holds[c.view.ofSlot[id]].limits()):
			return backfill.Candidates{}, false
		case v == matches && !present:
			found = slices.Insert(slices.Clone(found), at, id) // Match has returned the old set
		case present && v != matches:
			found = slices.Delete(slices.Clone(found), at, at+1)
		}
	}
	return backfill.Candidates{Slots: found}, true
}

// run brings an autocluster's candidates up to date, as far as its account lasts. Then it has no
// candidates if it never had all of them, as no job is to start before it is known which slots it
// prefers; else slots that have changed are none. It returns the steps that it took.
func (s *search) run() (steps int64) {
	c := s.c
	compared := s.m.renew(c.view)
	s.most -= compared
	c.follow()
	moved, known := c.view.moved.since(c.read)
	known = known && c.complete && c.bundles == len(s.m.bundles)
	expired := c.expire(s.m.clock.now)
	if known && len(moved) == 0 && !c.later && !expired {
		return compared
	}
	found, done := backfill.Candidates{}, false
	all := c.later || expired
	if c.later = false; known && !all {
		found, done = s.again(moved)
	}
	if !done {
		found = s.all()
	}
	switch {
	case !s.stopped:
		c.read, c.bundles, c.complete = c.view.moved.end(), len(s.m.bundles), true
	case !c.complete:
		found = backfill.Candidates{}
	case expired:
		c.later = true // what was not found anew
	}
	c.candidates, c.hash = s.m.sets.share(s.settle(found))
	if !s.probes {
		c.exceeded += s.meter.Exceeded() - s.excused
	}
	c.steps += s.steps() + compared
	return s.steps() + compared
}

// follow numbers an autocluster's verdicts as its view numbers the classes now.
func (c *autocluster) follow() {
	v := c.view
	switch c.edition {
	case v.edition:
		return
	case v.edition - 1:
		verdicts, ranks := make([]verdict, len(v.former)), make([]preference, 0, len(v.former))
		holds, asked := map[int]hold{}, map[int]backfill.Vector{}
		for class, former := range v.former {
			if former < len(c.verdicts) {
				verdicts[class] = c.verdicts[former]
			}
			if h, has := c.holds[former]; has {
				holds[class] = h
			}
			if v, has := c.asked[former]; has {
				asked[class] = v
			}
			if rank := c.preference(former); rank != (preference{}) {
				ranks = append(ranks, make([]preference, class+1-len(ranks))...)
				ranks[class] = rank
			}
		}
		c.verdicts, c.ranks, c.holds, c.asked = verdicts, ranks, holds, asked
	default:
		c.verdicts, c.ranks, c.asked, c.read = nil, nil, nil, -1
		c.holds, c.expires, c.wakes = nil, never, never
	}
	c.edition = v.edition
}
