// Package matchmaker finds the slots that each job may use, or the bundles of slots.
//
// It evaluates Requirements and Rank once for each pair of an autocluster and a slot class:
//
//   - Jobs that no slot can tell apart share an autocluster, and its candidates
//     ([Matchmaker.Cluster]; class.go says which attributes count).
//   - Slots that no job can tell apart share a class, and so do bundles.
//
// A cycle adds the slots that came ([Matchmaker.Add]), clusters the jobs that came, and then asks
// once for the candidate sets that changed ([Matchmaker.Match]). Slots, bundles and autoclusters
// are numbered from 0 and keep their numbers for good.
//
// Files: matchmaker.go what the negotiator calls; match.go candidates of one autocluster; class.go
// which jobs and which slots are alike; fit.go why a job matches few slots or none.
package matchmaker

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Slot is a slot with its ad. Slots are numbered in the order in which they first come.
type Slot struct {
	ID backfill.SlotID
	Ad *classad.ClassAd
}

// Bundle is slots that one job takes together. Its ad is matched with the job's, and each slot's
// own Requirements must accept the job, too. Bundles are numbered in the order in which they come.
type Bundle struct {
	Slots []backfill.SlotID // ascending
	Ad    *classad.ClassAd
}

// Autocluster is a set of jobs that no slot can tell apart.
type Autocluster struct {
	// ID is the number of the autocluster and of its candidate set.
	ID int
	// Request is what each chunk of its jobs asks for.
	Request backfill.Vector
}

// Matchmaker knows the slots, the bundles and the autoclusters of one pool. In a pool with bundles
// jobs are matched with bundles alone. It is not safe for concurrent use.
type Matchmaker struct {
	request func(*classad.ClassAd) (backfill.Vector, error)
	always  map[string]bool // attributes of a job that always matter, lower case

	slots   []*classad.ClassAd // by SlotID
	bundles []Bundle           // by BundleID

	clusters []*autocluster // by ID
	byText   map[string]*autocluster
	byAd     map[*classad.ClassAd]*autocluster // a cache in front of byText
	seen     map[string]bool                   // job attributes that slots refer to, lower case
	asked    map[string]bool                   // slot attributes that jobs refer to, lower case

	classes       map[string]int // by text
	classOf       []int          // by SlotID
	classOfBundle []int          // by BundleID; its numbers do not occur in classOf
	verdicts      map[pair]verdict

	// What Match still has to do.
	matched int               // the number of clusters, from ID 0, that are up to date but for moved slots
	moved   []backfill.SlotID // slots whose class has changed since the last Match
}

// autocluster is an [Autocluster] and what is known of it.
type autocluster struct {
	Autocluster
	ad         *classad.ClassAd // of its first job
	candidates backfill.Candidates
	rank       float64 // the Rank of each candidate, if it is the same for all
	void       bool    // slots have come that may tell its jobs apart
	sent       bool    // Match has returned its candidates before
}

// maxAds bounds the cache of job ads.
const maxAds = 4096

// New makes a matchmaker for a pool with these resources. The function reads what one chunk of a
// job requests from the job's ad.
func New(resources []string, request func(*classad.ClassAd) (backfill.Vector, error)) *Matchmaker {
	m := &Matchmaker{
		request: request, always: map[string]bool{"requirements": true, "rank": true},
		byText: map[string]*autocluster{}, byAd: map[*classad.ClassAd]*autocluster{},
		seen: map[string]bool{}, asked: map[string]bool{},
		classes: map[string]int{}, verdicts: map[pair]verdict{},
	}
	for _, resource := range resources {
		m.always["request"+strings.ToLower(resource)] = true
	}
	return m
}

// Add adds new slots and bundles, and replaces the ads of slots that come back. It reports whether
// they refer to job attributes to which no slot or bundle referred before. If so, all autoclusters
// are void: they have no candidates any more, and the caller must cluster all jobs anew.
//
// A slot that comes back with the same ad, or with changes only in attributes to which no job
// refers, needs no new matching.
func (m *Matchmaker) Add(slots []Slot, bundles []Bundle) (newAttributes bool) {
	before := len(m.moved)
	for _, slot := range slots {
		newAttributes = m.addSlot(slot) || newAttributes
	}
	for _, b := range bundles {
		m.bundles = append(m.bundles, b)
		newAttributes = notice(m.seen, b.Ad) || newAttributes
	}
	if len(bundles) > 0 || len(m.moved) > before {
		m.classifyBundles()
	}
	if newAttributes {
		clear(m.byText)
		clear(m.byAd)
		for _, c := range m.clusters {
			c.void = true
		}
	}
	if newAttributes || len(bundles) > 0 {
		m.matched = 0
	}
	return newAttributes
}

// addSlot adds one slot. It reports whether the slot refers to new job attributes.
func (m *Matchmaker) addSlot(slot Slot) (newAttributes bool) {
	isNew := int(slot.ID) == len(m.slots)
	if isNew {
		m.slots, m.classOf = append(m.slots, nil), append(m.classOf, 0)
	}
	if m.slots[slot.ID] == slot.Ad {
		return false
	}
	m.slots[slot.ID] = slot.Ad
	newAttributes = notice(m.seen, slot.Ad)
	if len(m.clusters) == 0 {
		return newAttributes // the first autocluster classifies all slots
	}
	if class := m.class(slot.Ad); isNew || class != m.classOf[slot.ID] {
		m.classOf[slot.ID] = class
		m.moved = append(m.moved, slot.ID)
	}
	return newAttributes
}

// Cluster returns the autocluster of a job, by its ad. The first job of a kind gets a new
// autocluster, which has no candidates until the next Match. The error is that of reading the
// request.
func (m *Matchmaker) Cluster(ad *classad.ClassAd) (Autocluster, error) {
	if c, ok := m.byAd[ad]; ok {
		return c.Autocluster, nil
	}
	text := m.significant(ad)
	c, ok := m.byText[text]
	if !ok {
		request, err := m.request(ad)
		if err != nil {
			return Autocluster{}, err
		}
		c = &autocluster{Autocluster: Autocluster{ID: len(m.clusters), Request: request}, ad: ad}
		m.clusters, m.byText[text] = append(m.clusters, c), c
		if notice(m.asked, ad) || c.ID == 0 {
			m.reclassify()
		}
	}
	if len(m.byAd) >= maxAds {
		clear(m.byAd)
	}
	m.byAd[ad] = c
	return c.Autocluster, nil
}

// Known returns what each chunk of a job requests, if a job with the very same ad was clustered
// lately. It is cheaper than reading the ad.
func (m *Matchmaker) Known(ad *classad.ClassAd) (request backfill.Vector, ok bool) {
	c, ok := m.byAd[ad]
	if !ok {
		return nil, false
	}
	return c.Request, true
}

// Match brings all candidate sets up to date. It returns those that are new or have changed since
// the last Match, by ID. It never changes a set that it has returned.
func (m *Matchmaker) Match() (changed []backfill.CandidateSet) {
	if m.matched == len(m.clusters) && len(m.moved) == 0 {
		return nil
	}
	for i, c := range m.clusters {
		was := c.candidates
		if i >= m.matched || !m.rematch(c) {
			m.match(c)
		}
		if !c.sent || !equal(was, c.candidates) {
			c.sent = true
			changed = append(changed, backfill.CandidateSet{ID: c.ID, Candidates: c.candidates})
		}
	}
	m.matched, m.moved = len(m.clusters), m.moved[:0]
	return changed
}

// MatchesNone reports whether the jobs of an autocluster match nothing in the pool; false for a
// void autocluster, for which that is unknown.
func (m *Matchmaker) MatchesNone(id int) bool {
	c := m.clusters[id]
	return !c.void && len(c.candidates.Slots)+len(c.candidates.Bundles) == 0
}

func equal(a, b backfill.Candidates) bool {
	return slices.Equal(a.Slots, b.Slots) && slices.Equal(a.Bundles, b.Bundles) && slices.Equal(a.Rank, b.Rank)
}
