// Package matchmaker finds the slots that each job may use, or the bundles of slots.
//
// It evaluates Requirements and ranks once for each pair of an autocluster and a slot class:
//
//   - Jobs that no slot can tell apart share an autocluster, and its candidates
//     ([Matchmaker.Cluster]; class.go says which attributes count).
//   - Slots that no job can tell apart share a class, and so do bundles.
//
// A cycle adds the slots that came ([Matchmaker.Add]), clusters the jobs that came, and then asks
// once for the candidate sets that changed ([Matchmaker.Match]). Slots, bundles and autoclusters
// are numbered from 0 and keep their numbers for good.
//
// What a user's jobs cost is limited ([Limits]). An autocluster that is not matched yet has no
// candidates; see [Matchmaker.Unmatched].
//
// A verdict that depends on the clock is found anew when it may have changed; clock.go says when that is.
// Slots are matched as if all of each were free. What must be free when a job begins, for those that ask
// for more than the job takes, is found beside that.
//
// Files: matchmaker.go what the negotiator calls; world.go and clock.go what expressions learn from
// outside the ads, and how long that holds; amounts.go which pairs ask how much is free, cross.go by an
// attribute of the other ad, and children.go which how many run there; least.go what must be free,
// direction.go and varied.go where there is more than one way, and little.go which want little to be;
// favour.go which pairs wait for state that nobody foretells, and room.go which for limits that depend on
// the slot; request.go what jobs request that depends on it; turns.go which autocluster is matched when,
// and account.go how far; match.go candidates of one autocluster; rank.go which of these are preferred;
// sets.go which autoclusters share their candidates; fault.go what slots take themselves; class.go
// which jobs are alike, join.go whose they are; view.go which slots are alike; usual.go the job by
// which slots are judged; fit.go why a job matches few slots or none; copy.go what is asked about
// beside cycles; suit.go candidates of jobs, and enlarge.go for slots, that are only asked about.
package matchmaker

import (
	"context"
	"math"
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
	// Free returns what is free on a slot now; the result is not changed. If it is nil, all is free.
	Free func(backfill.SlotID) backfill.Vector

	request   func(*classad.ClassAd) (backfill.Vector, error)
	always    map[string]bool // attributes of a job that always matter, lower case
	amounts   map[string]int  // which resource an attribute of a slot holds, by lower case; see setAmounts
	resources []string
	limits    Limits
	world     World
	clock     clock
	host      *classad.Host // supplies the world, at the instant of the last Match
	room      Room

	slots      []slot                   // by SlotID
	bundles    []Bundle                 // by BundleID
	ranked     bool                     // slots or bundles have ranks of the pool's, or had
	changed    changes                  // slots that came back with another ad
	ownSteps   map[*classad.ClassAd]int // see own
	unbearable int                      // how many of ownSteps are too many
	seen       map[string]bool          // job attributes that slots refer to, lower case
	mostSeen   int                      // how many of these there may be before some are forgotten
	had        map[string]bool          // attributes of the jobs that were clustered, lower case
	hadAll     bool                     // they may have any attribute
	spelled    map[string]bool          // the same, as the jobs' ads spell them
	views      map[string]*view         // by key
	text       []byte                   // memory that class reuses

	clusters []*autocluster // by ID
	byText   map[string]*autocluster
	byAd     map[*classad.ClassAd]*autocluster // a cache in front of byText
	sets     sets                              // empty between two calls of Match
	found    backfill.Candidates               // memory that all reuses
	latest   *classad.ClassAd                  // the ad that find returned last, mostly the next one too
	latestOf *autocluster                      // its autocluster
	unused   int                               // the number of autoclusters without jobs
	free     []int                             // IDs of autoclusters that were forgotten

	cycle      int // the number of calls of Match
	accounts   accounts
	matched    settled                   // what the last Match knew
	open       bool                      // it left something to do, or an autocluster is in use again
	windows    map[any][]backfill.Window // see intern
	remeasured []int                     // autoclusters whose Request is another since the last Match
	looks      int                       // how often the last Match looked at other instants, and amounts
	listings   map[listing]*classad.Expr // see there
	listed     int64                     // how many elements they have
	expires    int64                     // when the first verdict holds no longer, in seconds since 1970; see hold
	wakes      int64                     // when a Match is due for that
	expensive  []Expensive
	payers     map[string]int // where each user is in expensive; nil: it is empty

	explaining int64 // how many steps WhyNone may still take, until the next Match
	fault      int64 // how many steps dear slots' own Requirements may still take, until the next Match
}

// slot is a slot's ad.
type slot struct {
	ad     *classad.ClassAd
	texts  map[string]digest // of what describe prints of its attributes, for those that were asked for; nil: none is kept
	barred bool              // it gets no jobs, as it takes too many steps to see what its ad refers to
}

// settled is what there was when all candidates were brought up to date.
type settled struct{ clusters, slots, bundles, changes int }

// autocluster is an [Autocluster] and what is known of it.
type autocluster struct {
	Autocluster
	ad         *classad.ClassAd // of its first job; nil: it was forgotten
	bySlot     bool             // its jobs have SlotLimits
	measured                    // what its jobs request, if that depends on the slot
	text       string           // what its jobs have in common
	users      []user           // who have jobs of it
	userAt     map[string]int   // where each is in users; nil: they are few
	candidates backfill.Candidates
	hash       uint64       // of the candidates
	rank       preference   // of each candidate, if it is the same for all
	prefers    []preference // by rank class, if it is not; like candidates, it is never changed
	void       bool         // slots have come that may tell its jobs apart
	sent       bool         // Match has returned its candidates before

	view     *view        // nil: it has no jobs, or was not matched yet
	verdicts []verdict    // by class of the view
	ranks    []preference // by class; 0 beyond the end
	holds    map[int]hold // by class: of verdicts that depend on the clock
	expires  int64        // when the first of these holds no longer
	wakes    int64        // when a Match is due for one
	draws    int          // for how many a cycle was due since the last job joined it
	edition  int          // of the view's classes
	complete bool         // it was matched with all slots, though some may have changed since
	read     int          // how much of view.moved its candidates take into account
	bundles  int          // and how many bundles
	side     *side        // what its jobs ask for; nil: not found out yet
	dear     bool         // a probe has shown that it is dear
	later    bool         // dear slots were left out, as a Match had no steps left for them
	little   bool         // on some slots it wants little to be free

	steps    int64 // that its matching took since it was complete
	pairs    int64 // that were evaluated in these
	exceeded int   // evaluations that exceeded the limit
	pause    int   // how many cycles it was put off for, the last time
	due      int   // the cycle in which it is tried again
}

// user is a user with a number of jobs.
type user struct {
	name string
	jobs int
}

// maxAds bounds the cache of job ads, and maxUnused the number of autoclusters without jobs.
const (
	maxAds    = 4096
	maxUnused = 4096
)

// New makes a matchmaker for a pool with these resources. The function reads what one chunk of a
// job requests from the job's ad.
func New(
	resources []string, request func(*classad.ClassAd) (backfill.Vector, error), limits Limits, world World,
) *Matchmaker {
	m := &Matchmaker{
		request: request, limits: limits,
		always: map[string]bool{
			"requirements": true, "rank": true, strings.ToLower(SlotLimits): true, strings.ToLower(Refused): true,
		},
		world: world, expires: never, wakes: never, windows: map[any][]backfill.Window{},
		ownSteps: map[*classad.ClassAd]int{}, seen: map[string]bool{}, mostSeen: mostNames,
		views:  map[string]*view{},
		byText: map[string]*autocluster{}, byAd: map[*classad.ClassAd]*autocluster{},
		accounts: newAccounts(limits),
	}
	for _, resource := range resources {
		m.always["request"+strings.ToLower(resource)] = true
	}
	m.setAmounts(resources)
	m.setHost()
	m.setClock(0)
	m.clusterAnew()
	return m
}

// Add adds new slots and bundles, and replaces the ads of slots that come back. It reports whether
// they refer to attributes of clustered jobs to which no slot or bundle referred before, or are the
// first with a rank. If so, all autoclusters are void: they have no candidates any more, and the
// caller must cluster all jobs anew.
//
// A slot that comes back with the same ad, or with changes only in attributes to which no job
// refers, needs no new matching.
func (m *Matchmaker) Add(slots []Slot, bundles []Bundle) (newAttributes bool) {
	for _, slot := range slots {
		newAttributes = m.addSlot(slot) || newAttributes
	}
	for _, b := range bundles {
		m.bundles = append(m.bundles, b)
		divides, _ := m.notice(b.Ad)
		newAttributes = newAttributes || divides
	}
	m.forget()
	if newAttributes {
		m.clusterAnew()
	}
	return newAttributes
}

// addSlot adds one slot. It reports whether the slot refers to new job attributes.
func (m *Matchmaker) addSlot(added Slot) (newAttributes bool) {
	isNew := int(added.ID) == len(m.slots)
	if isNew {
		m.slots = append(m.slots, slot{})
	}
	s := &m.slots[added.ID]
	if s.ad == added.Ad {
		return false
	}
	if steps, known := m.ownSteps[s.ad]; known {
		delete(m.ownSteps, s.ad)
		if steps < 0 {
			m.unbearable--
		}
	}
	*s = slot{ad: added.Ad, texts: map[string]digest{}}
	if !isNew {
		m.changed.add(added.ID, max(few, len(m.slots)))
	}
	newAttributes, all := m.notice(added.Ad)
	if s.barred = !all; s.barred {
		m.exclude(added.Ad)
	}
	return newAttributes
}

// Cluster returns the autocluster of a job, by its ad, and counts the job as one of the user. The
// first job of a kind gets a new autocluster, which has no candidates until the next Match. The
// error is that of reading the request.
func (m *Matchmaker) Cluster(ad *classad.ClassAd, user string) (Autocluster, error) {
	c, ok := m.find(ad)
	if !ok {
		m.remember(ad)
		text := describe(ad, m.significant(ad)...)
		if c, ok = m.byText[text]; !ok {
			request, err := m.request(ad)
			if err != nil {
				return Autocluster{}, err
			}
			c = m.newCluster(autocluster{Autocluster: Autocluster{Request: request}, ad: ad, text: text})
		}
		if len(m.byAd) >= maxAds {
			m.forgetAds()
		}
		m.byAd[ad] = c
	}
	m.join(c, user)
	return c.Autocluster, nil
}

// newCluster adds an autocluster. It gets the next ID, or that of one that was forgotten.
func (m *Matchmaker) newCluster(c autocluster) *autocluster {
	c.read, c.expires, c.wakes = -1, never, never
	_, c.bySlot = c.ad.Lookup(SlotLimits)
	c.depends = len(m.bundles) == 0 && RequestsBySlot(c.ad, m.resources)
	m.byText[c.text] = &c
	m.unused++ // until a job joins it
	if len(m.free) > 0 {
		c.ID, m.free = m.free[0], m.free[1:]
		m.clusters[c.ID], m.open = &c, true
		return &c
	}
	c.ID = len(m.clusters)
	m.clusters = append(m.clusters, &c)
	return &c
}

// Known returns what each chunk of a job requests, if a job with the very same ad was clustered
// lately. It is cheaper than reading the ad.
func (m *Matchmaker) Known(ad *classad.ClassAd) (request backfill.Vector, ok bool) {
	c, ok := m.find(ad)
	if !ok {
		return nil, false
	}
	return c.Request, true
}

// find returns the autocluster of a job with the very same ad, if one was clustered lately.
func (m *Matchmaker) find(ad *classad.ClassAd) (*autocluster, bool) {
	if m.latest == ad && m.latestOf != nil {
		return m.latestOf, true
	}
	c, ok := m.byAd[ad]
	m.latest, m.latestOf = ad, c
	return c, ok
}

// forgetAds empties the cache of ads.
func (m *Matchmaker) forgetAds() {
	clear(m.byAd)
	m.latest, m.latestOf = nil, nil
}

// Match brings the candidate sets of all jobs up to date, as far as the limits allow; the next
// Match goes on. It returns those that are new or have changed since the last Match, by ID. It
// never changes a set that it has returned. Expressions are evaluated at the instant now of the pool's
// clock. The error is that of the context.
func (m *Matchmaker) Match(ctx context.Context, now backfill.Time) (changed []backfill.CandidateSet, err error) {
	m.cycle++
	m.setClock(now)
	m.looks, m.remeasured = 0, m.remeasured[:0]
	m.accounts.open()
	m.expensive, m.payers = m.expensive[:0], nil
	if m.explaining = m.limits.Cluster; m.explaining == 0 {
		m.explaining = math.MaxInt64
	}
	m.fault = m.accounts.limits.User
	all := settled{len(m.clusters), len(m.slots), len(m.bundles), m.changed.end()}
	if all == m.matched && !m.open && m.clock.now < m.expires {
		return nil, nil
	}
	m.matched, m.open = all, false
	before := make([]backfill.Candidates, len(m.clusters))
	m.sets = sets{}
	for i, c := range m.clusters {
		before[i] = c.candidates
		m.sets.keep(c)
	}
	m.tidy()
	m.matchAll(ctx)
	m.sets = nil
	m.findNext()
	for i, c := range m.clusters {
		if !c.sent || !equal(before[i], c.candidates) {
			c.sent = true
			changed = append(changed, backfill.CandidateSet{ID: c.ID, Candidates: c.candidates})
		}
	}
	return changed, ctx.Err()
}

// tidy takes the candidates from void autoclusters, and from those without jobs that are not up to
// date. If there are very many without jobs, it forgets them altogether.
func (m *Matchmaker) tidy() {
	forget := m.unused > maxUnused
	for _, c := range m.clusters {
		used := len(c.users) > 0
		switch {
		case c.ad == nil:
		case forget && !used:
			m.drop(c)
			if m.byText[c.text] == c {
				delete(m.byText, c.text)
			}
			m.free = append(m.free, c.ID)
			c.ad, c.text = nil, ""
			m.unused--
		case c.void, !used && !m.current(c):
			m.drop(c)
		}
	}
	if forget {
		m.forgetAds()
	}
}

// drop forgets what was found of an autocluster.
func (m *Matchmaker) drop(c *autocluster) {
	if c.view != nil {
		m.leave(c.view)
	}
	c.view, c.verdicts, c.ranks, c.read, c.edition = nil, nil, nil, -1, 0
	c.complete, c.candidates, c.prefers = false, backfill.Candidates{}, nil
	c.holds, c.expires, c.wakes, c.little, c.measured = nil, never, never, false, measured{depends: c.depends}
	c.steps, c.pairs, c.exceeded, c.dear, c.later = 0, 0, 0, false, false
}

// current reports whether an autocluster's candidates are up to date.
func (m *Matchmaker) current(c *autocluster) bool {
	v := c.view
	return v != nil && c.complete && !c.later && m.clock.now < c.expires && v.seen == m.changed.end() && len(v.ofSlot) == len(m.slots) &&
		c.read == v.moved.end() && c.bundles == len(m.bundles)
}
