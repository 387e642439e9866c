package negotiator

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

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

// reclassify divides the slots into classes anew.
func (m *matchmaker) reclassify() {
	clear(m.classes)
	clear(m.verdicts)
	for id, slot := range m.slots {
		m.classOf[id] = m.class(slot.Ad)
	}
	m.classifyBundles()
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
	return m.number(describe(ad, names))
}

// number finds or founds the class of a text.
func (m *matchmaker) number(text string) int {
	if class, ok := m.classes[text]; ok {
		return class
	}
	m.classes[text] = len(m.classes)
	return len(m.classes) - 1
}
