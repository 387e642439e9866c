package negotiator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// matchmaker finds the slots that jobs may use, or the bundles. It asks each question
// once: for a pair of an autocluster (jobs that no slot can tell apart) and a slot
// class (slots that no job can tell apart).
type matchmaker struct {
	schema Schema
	slots  []*Slot // by SlotID; an entry is replaced when the slot comes back
	// singles are the placements of one chunk on each slot, shared by all who have it.
	singles []Placement
	ids     map[string]backfill.SlotID

	bundles   []*Bundle           // by BundleID
	parts     [][]backfill.SlotID // of each, ascending
	wholes    []Placement         // of one job on each, shared by all who have it
	bundleIDs map[string]backfill.BundleID
	bundled   map[backfill.SlotID]bool // which slots are in any

	clusters []*autocluster // by candidate set
	news     map[int]bool   // candidate sets that are new or have changed since they were sent
	byText   map[string]*autocluster
	byAd     map[*classad.ClassAd]*autocluster // the quick way; a cache
	seen     map[string]bool                   // job attributes that slots look at, lower case
	asked    map[string]bool                   // slot attributes that jobs ask about, lower case
	classes  map[string]int                    // slot classes by text
	classOf  []int                             // by SlotID
	// classOfBundle is by BundleID. Its numbers are other ones than those of slots.
	classOfBundle []int
	verdicts      map[pair]verdict
}

// maxAds bounds the ads that are known by their address.
const maxAds = 4096

// pair is an autocluster and a slot class.
type pair struct{ cluster, class int }

// verdict is whether the pair matches, and how the job ranks the slot.
type verdict struct {
	match bool
	rank  float64
}

// autocluster is a set of jobs that no slot can tell apart.
type autocluster struct {
	id         int // of the candidate set
	ad         *classad.ClassAd
	request    backfill.Vector
	candidates backfill.Candidates
	rank       float64 // of each of them, if they are of one rank class
	void       bool    // slots have come that can tell its jobs apart
}

// allowsNone tells whether its jobs match nothing in the pool.
func (c *autocluster) allowsNone() bool {
	return !c.void && len(c.candidates.Slots)+len(c.candidates.Bundles) == 0
}

func newMatchmaker(schema Schema) *matchmaker {
	return &matchmaker{
		schema: schema, ids: map[string]backfill.SlotID{}, news: map[int]bool{},
		bundleIDs: map[string]backfill.BundleID{}, bundled: map[backfill.SlotID]bool{},
		byText: map[string]*autocluster{}, byAd: map[*classad.ClassAd]*autocluster{},
		seen: map[string]bool{}, asked: map[string]bool{},
		classes: map[string]int{}, verdicts: map[pair]verdict{},
	}
}

// add takes slots and bundles in. It reports whether they look at job attributes that
// none did before: the autoclusters are void then, and have no candidates.
//
// A slot that comes back as it went, or changes in what no job asks about, costs
// nothing; one that matters to jobs is matched with each autocluster.
func (m *matchmaker) add(slots []*Slot, bundles []*Bundle) (recluster bool) {
	moved, recluster := m.enter(slots)
	if len(bundles) > 0 {
		recluster = m.addBundles(bundles) || recluster
	} else if len(moved) > 0 {
		m.classifyBundles()
	}
	if recluster {
		clear(m.byText)
		clear(m.byAd)
		for _, c := range m.clusters {
			c.void = true
		}
	}
	for _, c := range m.clusters {
		if recluster || len(bundles) > 0 || !m.rematch(c, moved) {
			m.match(c)
		}
	}
	return recluster
}

// enter takes slots in and lists those that belong to another class now.
func (m *matchmaker) enter(slots []*Slot) (moved []backfill.SlotID, recluster bool) {
	for _, slot := range slots {
		id, known := m.ids[slot.Name]
		if !known {
			id = backfill.SlotID(len(m.slots))
			m.ids[slot.Name] = id
			m.slots, m.classOf, m.singles = append(m.slots, nil), append(m.classOf, 0), append(m.singles, nil)
		}
		if m.slots[id] == slot {
			continue
		}
		m.slots[id] = slot
		m.singles[id] = Placement{{Slot: slot, Chunks: 1}}
		if notice(m.seen, slot.Ad) {
			recluster = true
		}
		if len(m.clusters) == 0 {
			continue // they are classed with the first
		}
		if class := m.class(slot.Ad); !known || class != m.classOf[id] {
			m.classOf[id] = class
			moved = append(moved, id)
		}
	}
	return moved, recluster
}

// unsent lists the autoclusters whose candidate sets are new or have changed,
// until they were sent.
func (m *matchmaker) unsent() []*autocluster {
	if len(m.news) == 0 {
		return nil
	}
	var news []*autocluster
	for _, id := range slices.Sorted(maps.Keys(m.news)) {
		news = append(news, m.clusters[id])
	}
	return news
}

// sent takes note that the policy knows all candidate sets.
func (m *matchmaker) sent() { clear(m.news) }

// cluster finds or founds the autocluster of a job ad.
func (m *matchmaker) cluster(ad *classad.ClassAd) (*autocluster, error) {
	if c, ok := m.byAd[ad]; ok {
		return c, nil
	}
	text := m.significant(ad)
	c, ok := m.byText[text]
	if !ok {
		request, err := m.schema.Request(ad, 1)
		if err != nil {
			return nil, err
		}
		c = &autocluster{id: len(m.clusters), ad: ad, request: request}
		m.clusters, m.byText[text] = append(m.clusters, c), c
		m.news[c.id] = true
		if notice(m.asked, ad) || c.id == 0 {
			m.reclassify()
		}
		m.match(c)
	}
	if len(m.byAd) >= maxAds {
		clear(m.byAd)
	}
	m.byAd[ad] = c
	return c, nil
}

// match fills in an autocluster's candidates. Their rank classes are dense:
// equal Ranks, equal classes.
func (m *matchmaker) match(c *autocluster) {
	var found backfill.Candidates
	var ranks []float64
	for id := range m.offers() {
		v := m.verdict(c, m.offer(id))
		if !v.match || c.void {
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
	if slices.Equal(found.Slots, c.candidates.Slots) && slices.Equal(found.Bundles, c.candidates.Bundles) && slices.Equal(found.Rank, c.candidates.Rank) {
		return
	}
	c.candidates = found
	m.news[c.id] = true
}

// rematch brings an autocluster's candidates along for a few slots that belong to
// another class now. It is false, and does nothing, where that is more than adding
// and leaving out some slots.
func (m *matchmaker) rematch(c *autocluster, moved []backfill.SlotID) bool {
	const few = 64
	if len(moved) == 0 {
		return true
	}
	if c.candidates.Rank != nil || len(moved) > few || len(m.bundles) > 0 {
		return false
	}
	found := c.candidates.Slots
	for _, id := range moved {
		v := m.verdict(c, m.offer(int(id)))
		at, was := slices.BinarySearch(found, id)
		switch matches := v.match && !c.void; {
		case matches && v.rank != c.rank:
			return false
		case matches && !was:
			found = slices.Insert(slices.Clone(found), at, id) // the old set is the policy's
		case was && !matches:
			found = slices.Delete(slices.Clone(found), at, at+1)
		}
	}
	if !slices.Equal(found, c.candidates.Slots) {
		c.candidates.Slots = found
		m.news[c.id] = true
	}
	return true
}

// verdict matches a pair, or remembers that it did.
func (m *matchmaker) verdict(c *autocluster, o offer) verdict {
	key := pair{c.id, o.class}
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

// checkSlots refuses slots that a pool cannot have.
func (m *matchmaker) checkSlots(up []*Slot, down []string) error {
	names := map[string]bool{}
	for _, slot := range up {
		if names[slot.Name] {
			return fmt.Errorf("slot %s came up twice", slot.Name)
		}
		names[slot.Name] = true
		if len(slot.Capacity) != len(m.schema.Resources) {
			return fmt.Errorf("slot %s has %d resources, the pool %d", slot.Name, len(slot.Capacity), len(m.schema.Resources))
		}
		if bad := slices.IndexFunc(slot.Capacity, func(a int64) bool { return a < 0 || a > maxAmount }); bad >= 0 {
			return fmt.Errorf("slot %s has %d %s: must be from 0 to %d", slot.Name, slot.Capacity[bad], m.schema.Resources[bad], int64(maxAmount))
		}
	}
	for _, name := range down {
		if _, known := m.ids[name]; !known {
			return fmt.Errorf("slot %s is gone, but was never there", name)
		}
		if names[name] {
			return fmt.Errorf("slot %s is reported up and gone at once", name)
		}
	}
	return nil
}
