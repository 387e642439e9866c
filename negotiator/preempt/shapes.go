package preempt

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Expressions are evaluated once in a cycle for jobs that are alike, a shape, and claims that are alike,
// a bucket: those that agree in the text of all attributes that could matter. Which these are is found
// out of the ads and the rules.

// mostNames bounds the attributes of either side that tell apart what is alike. Users choose names; if
// there are more, each claim and each job is on its own.
const mostNames = 400

// generations is a cache of what is known of ads. What two cycles have not asked for is forgotten.
type generations[V any] struct{ now, old map[*classad.ClassAd]V }

// turn begins a cycle.
func (g *generations[V]) turn() { g.old, g.now = g.now, make(map[*classad.ClassAd]V, len(g.now)) }

// get returns what is known of an ad.
func (g *generations[V]) get(ad *classad.ClassAd) (v V, ok bool) {
	if v, ok = g.now[ad]; !ok {
		if v, ok = g.old[ad]; ok {
			g.now[ad] = v
		}
	}
	return v, ok
}

func (g *generations[V]) put(ad *classad.ClassAd, v V) { g.now[ad] = v }

// texts are what ads say in the attributes that could matter, as numbers: equal texts have the same.
type texts struct{ ofClaims, ofJobs side }

// side is the texts of claims, or of jobs.
type side struct {
	names   map[string]bool // lower case
	version int             // of names
	full    bool            // there are more names than that, so no two ads count as alike
	known   generations[text]
	ids     map[string]int
	read    generations[bool] // ads whose own expressions were looked at, for what they ask of the other side
}

// text is the text of an ad, by its number.
type text struct{ id, version int }

// forRules notes the attributes to which the rules refer: a name without a scope may be of either side.
func (t *texts) forRules(r *Rules, a alone) {
	t.ofClaims, t.ofJobs = newSide("rank", "requirements", "cpus", "memory"), newSide()
	for _, e := range []*classad.Expr{r.Requirements, r.Rank, r.PreJobRank, r.PostJobRank} {
		if e == nil {
			continue
		}
		_, names, _ := e.Refs(nil)
		t.ofJobs.add(names)
		switch e {
		case r.Rank: // which is evaluated for each claim
		case r.Requirements:
			t.ofClaims.add(a.others)
		default:
			t.ofClaims.add(names)
		}
	}
	if r.Several && r.Asked {
		t.ofJobs.add([]string{wantsSeveral})
	}
}

func newSide(names ...string) side {
	s := side{names: map[string]bool{}, ids: map[string]int{}}
	s.add(names)
	return s
}

// add adds names of attributes that matter.
func (s *side) add(names []string) {
	for _, name := range names {
		name = strings.ToLower(name)
		switch {
		case s.names[name] || s.full:
		case len(s.names) == mostNames:
			s.full = true
			s.version++
		default:
			s.names[name] = true
			s.version++
		}
	}
}

// turn begins a cycle.
func (t *texts) turn() {
	for _, s := range []*side{&t.ofClaims, &t.ofJobs} {
		s.known.turn()
		s.read.turn()
		if len(s.ids) > 4*len(s.known.old)+1000 { // of ads that are gone, mostly
			s.ids, s.known = map[string]int{}, generations[text]{now: map[*classad.ClassAd]text{}}
		}
	}
}

// read notes what the Requirements and Rank of an ad of one side ask of the other side's ads.
func (t *texts) read(ad *classad.ClassAd, own, other *side) {
	if _, done := own.read.get(ad); done {
		return
	}
	own.read.put(ad, true)
	for _, attr := range []string{"Requirements", "Rank"} {
		if e, has := ad.Lookup(attr); has {
			_, external, _ := classad.Scope{My: ad, MaxSteps: classad.FewSteps}.Refs(e)
			other.add(external)
		}
	}
}

// number returns the number of what an ad says in the names that matter, and in what they refer to.
func (s *side) number(ad *classad.ClassAd) int {
	if known, ok := s.known.get(ad); ok && known.version == s.version {
		return known.id
	}
	said := strconv.Itoa(len(s.ids))
	if !s.full {
		said = s.describe(ad)
	}
	id, known := s.ids[said]
	if !known {
		id = len(s.ids)
		s.ids[said] = id
	}
	s.known.put(ad, text{id, s.version})
	return id
}

func (s *side) describe(ad *classad.ClassAd) string {
	var said strings.Builder
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		e, has := ad.Lookup(name)
		if !has {
			continue
		}
		printed := e.String()
		said.WriteString(name + "=" + printed + "\n")
		internal, _, _ := classad.Scope{My: ad, MaxSteps: classad.FewSteps}.Refs(e)
		for _, n := range internal {
			if n = strings.ToLower(n); s.names[n] || done[n] {
				continue
			}
			done[n] = true
			if own, there := ad.Lookup(n); there {
				said.WriteString(n + "=" + own.String() + "\n")
			}
		}
	}
	return said.String()
}

// bucket is claims that are alike.
type bucket struct {
	claims []int
	ad     *decorated
	open   bool // the clauses of PREEMPTION_REQUIREMENTS that ask nothing of the job are true
}

// bucketKey is what claims of a bucket have in common.
type bucketKey struct {
	text int
	user string
	rank float64
	open bool
}

// divide divides the claims into buckets.
func (s *Search) divide() {
	for i := range s.claims {
		s.texts.read(s.claims[i].Ad, &s.texts.ofClaims, &s.texts.ofJobs)
	}
	known := map[bucketKey]int{}
	s.buckets = s.buckets[:0]
	for i := range s.claims {
		c := &s.claims[i]
		key := bucketKey{text: s.texts.ofClaims.number(c.Ad), user: c.User, rank: c.Rank, open: true}
		if len(s.alone.clauses) > 0 {
			var known bool
			if key.open, known = s.opens(c); !known {
				key.open, key.text = true, -1-i // like no other one
			}
		}
		b, found := known[key]
		if !found {
			b = len(s.buckets)
			known[key] = b
			s.buckets = append(s.buckets, bucket{ad: s.decorate(c), open: key.open})
		}
		c.bucket = b
		s.buckets[b].claims = append(s.buckets[b].claims, i)
	}
	clear(s.shapes)
}

// shapeKey is what jobs of a shape have in common.
type shapeKey struct {
	cluster, text int
	submitter     string
}

// shape is jobs that are alike, and what they could do.
type shape struct {
	submitter string
	ad        *classad.ClassAd // of one of them
	decorated *classad.ClassAd // with what expressions see beside it; nil: not made yet
	several   bool             // several dynamic slots may make way for it
	meter     classad.Meter
	verdicts  []verdict // by bucket
	epoch     int       // of what is found; -1: nothing is
	first     int       // the options before it are used up
	sorted    []option  // the best ones, in order
	rest      options   // a heap of the others
	blocked   Blocked   // Victims 0: it is not
	full      bool      // the share of its submitter has no room for any option
}

// shapeOf returns the shape of a job.
func (s *Search) shapeOf(w *Waiting) *shape {
	version := s.texts.ofClaims.version
	s.texts.read(w.Ad, &s.texts.ofJobs, &s.texts.ofClaims)
	if s.texts.ofClaims.version != version {
		s.divide()
	}
	key := shapeKey{cluster: w.Job.Candidates, text: s.texts.ofJobs.number(w.Ad), submitter: s.pool.Claims.Submitter(w.Job.ID)}
	sh := s.shapes[key]
	if sh == nil {
		sh = &shape{submitter: key.submitter, ad: w.Ad, epoch: -1}
		s.shapes[key] = sh
	}
	return sh
}
