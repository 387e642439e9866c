package matchmaker

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// notice adds to a set the attributes of a job to which a slot's or a bundle's expressions refer,
// and reports whether one of them is new. All expressions count, not Requirements and Rank alone,
// as a job's expressions may refer to any attribute of the slot.
func notice(set map[string]bool, ad *classad.ClassAd) (grew bool) {
	for _, e := range ad.All() {
		_, external, _ := e.Refs(ad) // a circular reference is an error on both sides
		for _, name := range external {
			name = strings.ToLower(name)
			if !set[name] {
				set[name], grew = true, true
			}
		}
	}
	return grew
}

// asks returns the attributes of a slot on which a match with a job's ad can depend, lower case:
// those to which the significant attributes of the job refer, and the slot's own Requirements and
// Rank.
func (m *Matchmaker) asks(ad *classad.ClassAd) map[string]bool {
	asked := map[string]bool{"requirements": true, "rank": true}
	for name := range m.significant() {
		if e, ok := ad.Lookup(name); ok {
			_, external, _ := e.Refs(ad) // including what the attributes within the ad refer to
			for _, name := range external {
				asked[strings.ToLower(name)] = true
			}
		}
	}
	return asked
}

// significant yields the attributes of a job that matter: those that always do, and those to which
// slots refer.
func (m *Matchmaker) significant() map[string]bool {
	names := maps.Clone(m.always)
	maps.Copy(names, m.seen)
	return names
}

// describe prints the named attributes of an ad and those to which they refer within it, one a
// line. Ads that agree in the text of the significant attributes cannot be told apart.
func describe(ad *classad.ClassAd, names ...string) string {
	all := map[string]bool{}
	for _, name := range names {
		e, ok := ad.Lookup(name)
		if !ok {
			continue
		}
		all[name] = true
		internal, _, _ := e.Refs(ad) // a circular reference is an error, wherever it leads
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
