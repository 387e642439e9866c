package negotiator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// matchmaker finds the slots that jobs may use. It asks each question once: for
// a pair of an autocluster (jobs that no slot can tell apart) and a slot class
// (slots that no job can tell apart).
type matchmaker struct {
	schema Schema
	slots  []*Slot // by SlotID; an entry is replaced when the slot comes back
	// singles are the placements of one chunk on each slot, shared by all who have it.
	singles []Placement
	ids     map[string]backfill.SlotID

	clusters []*autocluster // by candidate set
	news     map[int]bool   // candidate sets that are new or have changed since they were sent
	byText   map[string]*autocluster
	byAd     map[*classad.ClassAd]*autocluster // the quick way; a cache
	seen     map[string]bool                   // job attributes that slots look at, lower case
	asked    map[string]bool                   // slot attributes that jobs ask about, lower case
	classes  map[string]int                    // slot classes by text
	classOf  []int                             // by SlotID
	verdicts map[pair]verdict
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

func newMatchmaker(schema Schema) *matchmaker {
	return &matchmaker{
		schema: schema, ids: map[string]backfill.SlotID{}, news: map[int]bool{},
		byText: map[string]*autocluster{}, byAd: map[*classad.ClassAd]*autocluster{},
		seen: map[string]bool{}, asked: map[string]bool{},
		classes: map[string]int{}, verdicts: map[pair]verdict{},
	}
}

// addSlots takes slots in. It reports whether they look at job attributes that
// none did before: the autoclusters are void then, and have no candidates.
//
// A slot that comes back as it went, or changes in what no job asks about, costs
// nothing; one that matters to jobs is matched with each autocluster.
func (m *matchmaker) addSlots(slots []*Slot) (recluster bool) {
	var moved []backfill.SlotID
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
		if class := m.class(slot.Ad); !known || class != m.classOf[id] {
			m.classOf[id] = class
			moved = append(moved, id)
		}
		if notice(m.seen, slot.Ad) {
			recluster = true
		}
	}
	if recluster {
		clear(m.byText)
		clear(m.byAd)
		for _, c := range m.clusters {
			c.void = true
		}
	}
	for _, c := range m.clusters {
		if recluster || !m.rematch(c, moved) {
			m.match(c)
		}
	}
	return recluster
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

// notice adds to a set what an ad's expressions refer to outside of it, and
// reports whether that was new. All of them count, not Requirements and Rank
// alone: these may ask for any attribute of the other side, which looks back.
func notice(set map[string]bool, ad *classad.ClassAd) (grew bool) {
	for _, e := range ad.All() {
		_, external, _ := e.Refs(ad) // what is in a circle is error on both sides
		for _, name := range external {
			name = strings.ToLower(name)
			if !set[name] {
				set[name], grew = true, true
			}
		}
	}
	return grew
}

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
		if notice(m.asked, ad) {
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

// reclassify divides the slots into classes anew.
func (m *matchmaker) reclassify() {
	clear(m.classes)
	clear(m.verdicts)
	for id, slot := range m.slots {
		m.classOf[id] = m.class(slot.Ad)
	}
}

// significant is the text of all that matters about a job ad: what it says of
// itself to slots, and what slots look at, each with what it refers to within
// the ad.
func (m *matchmaker) significant(ad *classad.ClassAd) string {
	names := map[string]bool{"requirements": true, "rank": true}
	for _, resource := range m.schema.Resources {
		names["request"+resource] = true
	}
	maps.Copy(names, m.seen)
	return describe(ad, names)
}

// describe prints the named attributes of an ad, and those they refer to within
// it, one a line.
func describe(ad *classad.ClassAd, names map[string]bool) string {
	all := map[string]bool{}
	for name := range names {
		e, ok := ad.Lookup(name)
		if !ok {
			continue
		}
		all[name] = true
		internal, _, _ := e.Refs(ad) // what is in a circle is error, however far it goes
		for _, n := range internal {
			all[strings.ToLower(n)] = true
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if e, ok := ad.Lookup(name); ok {
			text.WriteString(name + " = " + e.String() + "\n")
		}
	}
	return text.String()
}

// class numbers a slot ad by what jobs ask about and what it asks of them.
func (m *matchmaker) class(ad *classad.ClassAd) int {
	names := map[string]bool{"requirements": true, "rank": true}
	maps.Copy(names, m.asked)
	text := describe(ad, names)
	if class, ok := m.classes[text]; ok {
		return class
	}
	m.classes[text] = len(m.classes)
	return len(m.classes) - 1
}

// match fills in an autocluster's candidates. Their rank classes are dense:
// equal Ranks, equal classes.
func (m *matchmaker) match(c *autocluster) {
	var found backfill.Candidates
	var ranks []float64
	for id, slot := range m.slots {
		if v := m.verdict(c, m.classOf[id], slot); v.match && !c.void {
			found.Slots = append(found.Slots, backfill.SlotID(id))
			ranks = append(ranks, v.rank)
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
	if slices.Equal(found.Slots, c.candidates.Slots) && slices.Equal(found.Rank, c.candidates.Rank) {
		return
	}
	c.candidates = found
	m.news[c.id] = true
}

// rematch brings an autocluster's candidates along for a few slots that belong to
// another class now. It is false, and does nothing, where that is more than adding
// and leaving out some.
func (m *matchmaker) rematch(c *autocluster, moved []backfill.SlotID) bool {
	const few = 64
	if c.candidates.Rank != nil || len(moved) > few {
		return false
	}
	found := c.candidates.Slots
	for _, id := range moved {
		v := m.verdict(c, m.classOf[id], m.slots[id])
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
func (m *matchmaker) verdict(c *autocluster, class int, slot *Slot) verdict {
	key := pair{c.id, class}
	v, known := m.verdicts[key]
	if !known {
		if v.match = classad.Match(c.ad, slot.Ad); v.match {
			v.rank = classad.Rank(c.ad, slot.Ad)
		}
		if v.rank != v.rank { // not a number: no preference
			v.rank = 0
		}
		m.verdicts[key] = v
	}
	return v
}

// whyNone says why an autocluster matches no slot: the clauses of its
// Requirements that no slot meets, or that the slots refuse it.
func (m *matchmaker) whyNone(c *autocluster) string {
	requirements, ok := c.ad.Lookup("Requirements")
	if !ok {
		return "matches no slot: it has no Requirements"
	}
	var never []string
	for _, clause := range requirements.Clauses() {
		met := slices.ContainsFunc(m.slots, func(s *Slot) bool {
			return clause.Eval(classad.Scope{My: c.ad, Target: s.Ad}).IsTrue()
		})
		if !met {
			never = append(never, strings.TrimSpace(clause.String()))
		}
	}
	accepted := slices.ContainsFunc(m.slots, func(s *Slot) bool { return classad.Accepts(s.Ad, c.ad) })
	switch {
	case len(never) > 0:
		return fmt.Sprintf("matches no slot: true on none of %d: %s", len(m.slots), strings.Join(never, "; "))
	case !accepted:
		return fmt.Sprintf("matches no slot: the Requirements of all %d refuse it", len(m.slots))
	default:
		return fmt.Sprintf("matches no slot: none of %d meets all its Requirements and accepts it", len(m.slots))
	}
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
