package matchmaker

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// A slot may ask for state by an attribute of the job, as in TARGET.WantsHalf, and a job by one of the
// slot, as in TARGET.Roomy. What each ad asks for is found once, of a job for its autocluster and of a slot
// for its class, and put together for each pair.

// side is what one ad of a pair asks for.
type side struct {
	needs                  // of its Requirements
	leads map[string]needs // of further attributes for which the other ad asks, by name in lower case
}

// sideOf returns what a slot or a job asks for by its Requirements and these attributes, named in lower
// case.
func (m *Matchmaker) sideOf(ad *classad.ClassAd, slot bool, names iter.Seq[string]) side {
	s := side{needs: m.asked(ad, slot, "Requirements")}
	for name := range names {
		e, has := ad.Lookup(name)
		if _, plain := treeOf(e).(*ast.Literal); !has || plain || name == "requirements" {
			continue
		}
		if n := m.asked(ad, slot, name); n.amounts != 0 || len(n.asks) > 0 {
			s.lead(name, n)
		}
	}
	return s
}

// lead notes what an attribute asks for.
func (s *side) lead(name string, n needs) {
	if s.leads == nil {
		s.leads = map[string]needs{}
	}
	s.leads[name] = n
}

// with returns on what a pair of a job and a slot depends.
func (s side) with(slot side) needs {
	n := s.and(slot.needs)
	if len(s.leads) > 0 || len(slot.leads) > 0 {
		f := following{job: s.leads, slot: slot.leads, found: n}
		f.follow(s.asks, true)
		f.follow(slot.asks, false)
		n = f.found
	}
	return n
}

// following follows attributes from one ad to the other, each of them once.
type following struct {
	job, slot map[string]needs
	met       [2]map[string]bool // of the job, of the slot
	found     needs
}

// follow follows attributes of the slot, else of the job.
func (f *following) follow(names []string, ofSlot bool) {
	leads, met := f.job, &f.met[0]
	if ofSlot {
		leads, met = f.slot, &f.met[1]
	}
	for _, name := range names {
		n, has := leads[name]
		if !has || (*met)[name] {
			continue
		}
		if *met == nil {
			*met = map[string]bool{}
		}
		(*met)[name] = true
		f.found = f.found.and(n)
		f.follow(n.asks, !ofSlot)
	}
}

// dependsOn returns on what a pair of an autocluster and an offer of a class depends.
func (s *search) dependsOn(o offer, class int) needs {
	if o.parts != nil {
		return needs{}
	}
	c := s.c
	if c.side == nil {
		own := s.m.sideOf(c.ad, false, slices.Values(s.m.significant(c.ad)))
		c.side = &own
	}
	v := c.view
	if v == nil { // of a slot that is only asked about
		return c.side.with(s.m.sideOf(o.ad, true, maps.Keys(s.m.asks(c.ad))))
	}
	for len(v.sides) <= class {
		v.sides = append(v.sides, nil)
	}
	if v.sides[class] == nil {
		own := s.m.sideOf(o.ad, true, slices.Values(v.names))
		v.sides[class] = &own
	}
	return c.side.with(*v.sides[class])
}

// Counted returns the attributes that count jobs (see [Counts]) for which slots or jobs ask, in lower case
// and sorted, by their own Requirements or by what the others' attributes lead to. It takes all slots for
// one, and all jobs.
func Counted(slots, jobs iter.Seq[*classad.ClassAd]) []string {
	known := map[*classad.Expr]bool{}
	if !someMention(slots, known) && !someMention(jobs, known) {
		return nil
	}
	m := new(Matchmaker)
	m.setAmounts([]string{Claims})
	all := m.together(jobs, false).with(m.together(slots, true))
	return slices.Compact(slices.Sorted(slices.Values(all.counts)))
}

// someMention reports whether an expression of some ad names what counts jobs. Ads have few expressions
// that are different; known are the verdicts on these.
func someMention(ads iter.Seq[*classad.ClassAd], known map[*classad.Expr]bool) bool {
	for ad := range ads {
		for _, e := range ad.All() {
			if !known[e] {
				if known[e] = true; mentions(e.Tree()) {
					return true
				}
			}
		}
	}
	return false
}

// mentions reports whether an expression names what counts jobs.
func mentions(e ast.Expr) bool {
	switch n := e.(type) {
	case *ast.Attr:
		return Counts(n.Name)
	case *ast.Select:
		return Counts(n.Name) || mentions(n.X)
	case *ast.Index:
		if scopes[scopeOf(n.X)] {
			return true
		}
	case *ast.Call:
		if n.Key == "eval" {
			return true
		}
	default:
	}
	return slices.ContainsFunc(ast.Children(e), mentions)
}

// together returns what any of some ads asks for.
func (m *Matchmaker) together(ads iter.Seq[*classad.ClassAd], slots bool) (all side) {
	known := map[*classad.Expr]bool{}
	for ad := range ads {
		fresh := false
		for _, e := range ad.All() {
			fresh = fresh || !known[e]
			known[e] = true
		}
		if !fresh {
			continue
		}
		one := m.sideOf(ad, slots, namesIn(ad))
		all.needs = all.union(one.needs)
		for name, n := range one.leads {
			all.lead(name, all.leads[name].union(n))
		}
	}
	return all
}

// union is what either depends on, wherever both lead.
func (n needs) union(o needs) needs {
	asks := n.asks
	for _, name := range o.asks {
		if !slices.Contains(asks, name) {
			asks = append(slices.Clip(asks), name)
		}
	}
	n = n.and(o)
	n.asks, n.lists, n.counts = asks, nil, slices.Compact(slices.Sorted(slices.Values(n.counts)))
	return n
}

// namesIn yields the names of an ad's attributes, in lower case.
func namesIn(ad *classad.ClassAd) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range ad.All() {
			if !yield(strings.ToLower(name)) {
				return
			}
		}
	}
}
