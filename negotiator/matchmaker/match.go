package matchmaker

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// pair is an autocluster and a class of slots or bundles.
type pair struct{ cluster, class int }

// verdict says whether a pair matches, and how the job ranks the slot.
type verdict struct {
	match bool
	rank  float64
}

// offer is what a job is matched with: a slot, or a bundle with its slots.
type offer struct {
	class int // no job can tell two offers of a class apart
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
		return offer{m.classOfBundle[id], m.bundles[id].Ad, m.bundles[id].Slots, m}
	}
	return offer{m.classOf[id], m.slots[id], nil, m}
}

// accepts reports whether the Requirements of the slot, or of the bundle and each of its slots,
// accept a job.
func (o offer) accepts(job *classad.ClassAd) bool {
	return classad.Accepts(o.ad, job) && !slices.ContainsFunc(o.parts, func(slot backfill.SlotID) bool {
		return !classad.Accepts(o.m.slots[slot], job)
	})
}

// match reports whether the job and the offer accept each other.
func (o offer) match(job *classad.ClassAd) bool {
	return classad.Match(job, o.ad) && (o.parts == nil || o.accepts(job))
}

// match finds an autocluster's candidates among all offers (slots or bundles). If their Ranks
// differ, it numbers the distinct Ranks from 0, the lowest, without gaps.
func (m *Matchmaker) match(c *autocluster) {
	c.candidates = backfill.Candidates{}
	if c.void {
		return
	}
	found := &c.candidates
	var ranks []float64
	for id := range m.offers() {
		v := m.verdict(c, m.offer(id))
		if !v.match {
			continue
		}
		ranks = append(ranks, v.rank)
		if len(m.bundles) > 0 {
			found.Bundles = append(found.Bundles, backfill.BundleID(id))
		} else {
			found.Slots = append(found.Slots, backfill.SlotID(id))
		}
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(ranks)))
	if len(distinct) > 0 {
		c.rank = distinct[0]
	}
	if len(distinct) > 1 {
		for _, r := range ranks {
			class, _ := slices.BinarySearch(distinct, r)
			found.Rank = append(found.Rank, int32(class))
		}
	}
}

// rematch updates an autocluster's candidates after the classes of a few slots have changed. It
// returns false, and changes nothing, if adding and removing slots does not suffice: with many
// changed slots, with bundles, or with different Ranks.
func (m *Matchmaker) rematch(c *autocluster) bool {
	const few = 64
	if c.void || len(m.moved) == 0 {
		return true
	}
	if c.candidates.Rank != nil || len(m.moved) > few || len(m.bundles) > 0 {
		return false
	}
	found := c.candidates.Slots
	for _, id := range m.moved {
		v := m.verdict(c, m.offer(int(id)))
		at, was := slices.BinarySearch(found, id)
		switch {
		case v.match && v.rank != c.rank:
			return false
		case v.match && !was:
			found = slices.Insert(slices.Clone(found), at, id) // Match has returned the old set
		case was && !v.match:
			found = slices.Delete(slices.Clone(found), at, at+1)
		}
	}
	c.candidates.Slots = found
	return true
}

// verdict says whether an autocluster and an offer match, and the Rank. It evaluates each pair of
// an autocluster and a class once.
func (m *Matchmaker) verdict(c *autocluster, o offer) verdict {
	key := pair{c.ID, o.class}
	v, known := m.verdicts[key]
	if !known {
		if v.match = o.match(c.ad); v.match {
			v.rank = classad.Rank(c.ad, o.ad)
		}
		if v.rank != v.rank { // not a number: no preference
			v.rank = 0
		}
		m.verdicts[key] = v
	}
	return v
}
