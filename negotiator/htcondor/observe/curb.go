package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// maxCurbs is how many attributes the CurbMatchmaking of a schedd may refer to, besides those that
// are always asked for; others count as undefined.
const maxCurbs = 20

// curbSteps is what it may take to evaluate CURB_MATCHMAKING, which is a comparison or a few.
const curbSteps = 1000

// readCurb takes in whether a schedd wants no matches now (CURB_MATCHMAKING), as its ad says. What
// the expression refers to is asked for from the next round on.
func (o *Observer) readCurb(s *schedd, ad *classad.ClassAd, l *look) {
	s.curbs, s.Curb = nil, nil
	defer func() { s.Full = s.Full || s.Curb != nil }()
	e, curbs := ad.Lookup("CurbMatchmaking")
	if !curbs {
		s.lasts("", false, l.Began)
		return
	}
	internal, external, _ := classad.Scope{My: ad, MaxSteps: usualReferSteps}.Refs(e) // a circular one evaluates to error
	for _, name := range slices.Concat(internal, external) {
		name = strings.ToLower(name)
		if len(s.curbs) < maxCurbs && len(name) <= longestName && strings.IndexFunc(name, needsQuotes) < 0 &&
			!alwaysOfSchedds[name] && !slices.Contains(s.curbs, name) {
			s.curbs = append(s.curbs, name)
		}
	}
	if e.Eval(classad.Scope{My: ad, Host: o.s.host(l.Began), MaxSteps: curbSteps}).IsTrue() {
		s.Curb = &accountant.Room{Why: "its schedd wants no matches now (CURB_MATCHMAKING)"}
	}
	if s.lasts("", s.Curb != nil, l.Began) && !s.Full { // by default one curbs that runs as many jobs as it may
		s.Room = s.Curb
	}
}

var alwaysOfSchedds = set(ofSchedds...)

// curbed returns the attributes of schedds that are asked for since CurbMatchmaking refers to them,
// at most maxOfOne. First come those of the schedds that have told their queue, then those of the
// hosts that ask for fewest: a greedy host takes nothing from an honest one.
func (o *Observer) curbed() []string {
	type wish struct {
		host     string
		answered bool
		names    map[string]bool
	}
	byHost := map[string]*wish{}
	for _, s := range o.schedds {
		if len(s.curbs) == 0 {
			continue
		}
		w := byHost[s.Address.Host]
		if w == nil {
			w = &wish{host: s.Address.Host, names: map[string]bool{}}
			byHost[w.host] = w
		}
		w.answered = w.answered || s.answered
		for _, name := range s.curbs {
			w.names[name] = true
		}
	}
	first := func(a, b *wish) int {
		if a.answered != b.answered {
			if a.answered {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(a.names), len(b.names)), cmp.Compare(a.host, b.host))
	}
	all := map[string]bool{}
	for _, w := range slices.SortedFunc(maps.Values(byHost), first) {
		for _, name := range slices.Sorted(maps.Keys(w.names)) {
			if len(all) < maxOfOne {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
