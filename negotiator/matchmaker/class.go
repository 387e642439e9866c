package matchmaker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// notice adds to a set the attributes of the other side to which an ad's expressions refer, and
// reports whether one of them is new. All expressions count, not Requirements and Rank alone, as
// the other side's expressions may refer to any attribute of this ad.
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

// reclassify divides all slots and bundles into classes anew.
func (m *Matchmaker) reclassify() {
	clear(m.classes)
	clear(m.verdicts)
	for id, ad := range m.slots {
		m.classOf[id] = m.class(ad)
	}
	m.classifyBundles()
}

// classifyBundles gives each bundle a class, by its ad and the classes of its slots.
func (m *Matchmaker) classifyBundles() {
	m.classOfBundle = m.classOfBundle[:0]
	for _, b := range m.bundles {
		var slots []int
		for _, slot := range b.Slots {
			slots = append(slots, m.classOf[slot])
		}
		slices.Sort(slots)
		text := fmt.Sprintf("class %d of slots %v", m.class(b.Ad), slices.Compact(slots))
		m.classOfBundle = append(m.classOfBundle, m.number(text))
	}
}

// significant returns the text by which job ads are compared: the attributes that always matter and
// those to which slots refer, each with what it refers to within the ad.
func (m *Matchmaker) significant(ad *classad.ClassAd) string {
	names := maps.Clone(m.always)
	maps.Copy(names, m.seen)
	return describe(ad, names)
}

// describe prints the named attributes of an ad and those to which they refer within it, one a
// line.
func describe(ad *classad.ClassAd, names map[string]bool) string {
	all := map[string]bool{}
	for name := range names {
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

// class returns the class number of a slot's or a bundle's ad. Ads have the same class if they
// agree in Requirements, Rank and the attributes to which jobs refer, and in what these refer to
// within the ad.
func (m *Matchmaker) class(ad *classad.ClassAd) int {
	names := map[string]bool{"requirements": true, "rank": true}
	maps.Copy(names, m.asked)
	return m.number(describe(ad, names))
}

// number returns the class with this text; a new text gets a new class.
func (m *Matchmaker) number(text string) int {
	if class, ok := m.classes[text]; ok {
		return class
	}
	m.classes[text] = len(m.classes)
	return len(m.classes) - 1
}
