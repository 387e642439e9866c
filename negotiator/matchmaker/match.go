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

// trial evaluates Requirements and Rank within a limit, and counts what that takes.
type trial struct {
	m       *Matchmaker
	limit   int // of one evaluation, in steps; 0 is none
	meter   classad.Meter
	slotOwn int64 // the steps that slots' own Requirements took
	excused int   // evaluations that exceeded their limit by the fault of slots
	job     *classad.ClassAd
	plain   *classad.ClassAd // what the job's ad says in plain values; nil: not made yet
}

// steps is what the job has to answer for.
func (t *trial) steps() int64 { return t.meter.Steps() - t.slotOwn }

// accepts reports whether the Requirements of a slot's or bundle's ad accept a job.
func (t *trial) accepts(slot, job *classad.ClassAd) bool {
	p := classad.Pair{Left: job, Right: slot, Meter: &t.meter}
	if t.limit == 0 {
		return p.LeftMatchesRight()
	}
	own, bearable := t.m.own(slot)
	if !bearable {
		return false
	}
	steps, exceeded := t.meter.Steps(), t.meter.Exceeded()
	p.MaxSteps = own + t.limit
	ok := p.LeftMatchesRight()
	t.settle(slot, job, int64(own), t.meter.Steps()-steps, t.meter.Exceeded()-exceeded)
	return ok
}

// with returns the pair of a job and an offer, whose evaluation is limited and counted.
func (o offer) with(t *trial, job *classad.ClassAd) classad.Pair {
	return classad.Pair{Left: job, Right: o.ad, MaxSteps: t.limit, Meter: &t.meter}
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
	if t.limit == 0 {
		return o.with(t, job).Match() && (o.parts == nil || o.accepts(t, job))
	}
	return o.accepts(t, job) && o.with(t, job).RightMatchesLeft()
}

// rank returns how the job ranks the offer.
func (o offer) rank(t *trial, job *classad.ClassAd) float64 {
	r := o.with(t, job).LeftRank()
	if r != r { // not a number: no preference
		return 0
	}
	return r
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
)

// verdict says whether the autocluster and an offer of a class match, and the Rank. It evaluates
// each pair of an autocluster and a class once, and none once the search has stopped.
func (s *search) verdict(id, class int) (verdict, float64) {
	c := s.c
	if len(c.verdicts) <= class {
		c.verdicts = append(c.verdicts, make([]verdict, max(class+1-len(c.verdicts), len(c.view.classes)))...)
	}
	if c.verdicts[class] == unknown && !s.stopped {
		s.judge(s.m.offer(id), class)
	}
	if len(c.ranks) <= class {
		return c.verdicts[class], 0
	}
	return c.verdicts[class], c.ranks[class]
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
	found, rank := refused, 0.0
	if o.match(&s.trial, c.ad) {
		found, rank = matches, o.rank(&s.trial, c.ad)
	}
	if s.probes && s.meter.Exceeded() > 0 {
		c.dear, s.stopped = true, true
		return
	}
	c.verdicts[class] = found
	if rank != 0 {
		if len(c.ranks) <= class {
			c.ranks = append(c.ranks, make([]float64, len(c.verdicts)-len(c.ranks))...)
		}
		c.ranks[class] = rank
	}
}

// all finds the autocluster's candidates among all offers (slots or bundles). If their Ranks
// differ, it numbers the distinct Ranks from 0, the lowest, without gaps.
func (s *search) all() (found backfill.Candidates) {
	bundles := len(s.m.bundles) > 0
	var ranks []float64
	for id, class := range s.m.classes(s.c.view) {
		v, rank := s.verdict(id, class)
		if v != matches {
			continue
		}
		ranks = append(ranks, rank)
		if bundles {
			found.Bundles = append(found.Bundles, backfill.BundleID(id))
		} else {
			found.Slots = append(found.Slots, backfill.SlotID(id))
		}
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(ranks)))
	if len(distinct) > 0 {
		s.c.rank = distinct[0]
	}
	if len(distinct) > 1 {
		for _, r := range ranks {
			class, _ := slices.BinarySearch(distinct, r)
			found.Rank = append(found.Rank, int32(class))
		}
	}
	return found
}

// again returns the candidates after the classes of a few slots have changed. It returns false if
// adding and removing slots does not suffice: with many changed slots, with bundles, or with
// different Ranks.
func (s *search) again(moved []backfill.SlotID) (backfill.Candidates, bool) {
	c := s.c
	if c.candidates.Rank != nil || len(moved) > few || len(s.m.bundles) > 0 {
		return backfill.Candidates{}, false
	}
	found := c.candidates.Slots
	for _, id := range moved {
		v, rank := s.verdict(int(id), c.view.ofSlot[id])
		at, was := slices.BinarySearch(found, id)
		switch {
		case v == matches && rank != c.rank:
			return backfill.Candidates{}, false
		case v == matches && !was:
			found = slices.Insert(slices.Clone(found), at, id) // Match has returned the old set
		case was && v != matches:
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
	if known && len(moved) == 0 && !c.later {
		return compared
	}
	found, done := backfill.Candidates{}, false
	all := c.later
	if c.later = false; known && !all {
		found, done = s.again(moved)
	}
	if !done {
		found = s.all()
	}
	c.candidates = found
	switch {
	case !s.stopped:
		c.read, c.bundles, c.complete = c.view.moved.end(), len(s.m.bundles), true
	case !c.complete:
		c.candidates = backfill.Candidates{}
	}
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
		verdicts, ranks := make([]verdict, len(v.was)), make([]float64, 0, len(v.was))
		for class, was := range v.was {
			if was < len(c.verdicts) {
				verdicts[class] = c.verdicts[was]
			}
			if was < len(c.ranks) && c.ranks[was] != 0 {
				ranks = append(ranks, make([]float64, class+1-len(ranks))...)
				ranks[class] = c.ranks[was]
			}
		}
		c.verdicts, c.ranks = verdicts, ranks
	default:
		c.verdicts, c.ranks, c.read = nil, nil, -1
	}
	c.edition = v.edition
}
