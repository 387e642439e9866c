package usermap

import (
	"maps"
	"strings"
)

// Maps are maps by name. They never change once they are made, and are safe for concurrent use; nil
// has none.
type Maps struct {
	named map[string]*Map // by name, in lower case
}

// New returns maps by name. Case does not matter.
func New(named map[string]*Map) *Maps {
	m := &Maps{map[string]*Map{}}
	for name, one := range named {
		m.named[strings.ToLower(name)] = one
	}
	return m
}

// UserMap returns what a map has for a user. A name MAP.METHOD stands for the lines of that method. It
// can be that of a host of package classad, which has the rules about the budget.
func (m *Maps) UserMap(mapName, user string, budget *int) (items string, ok bool) {
	if m == nil {
		return "", false
	}
	name, method, other := strings.Cut(mapName, ".")
	if !other {
		method = Usual
	}
	if *budget -= 1 + len(mapName)/bytesPerStep; *budget < 0 {
		return "", false
	}
	one := m.named[strings.ToLower(name)]
	if one == nil {
		return "", false
	}
	return one.Find(method, user, budget)
}

// Equal tells whether two sets of maps were read from the same texts. Nil is like no maps.
func (m *Maps) Equal(other *Maps) bool {
	return maps.EqualFunc(m.all(), other.all(), func(a, b *Map) bool { return a.sum == b.sum })
}

func (m *Maps) all() map[string]*Map {
	if m == nil {
		return nil
	}
	return m.named
}
