package track

import (
	"cmp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// change is a slot or a waiting job whose ad is not what the negotiator was told.
type change struct {
	what, name  string
	before, now *classad.ClassAd
}

// mostChanges bounds the lines of the log, per look, about what has changed.
const mostChanges = 10

// changes notes a change, if the log is to tell of it.
func (c *comparison) changes(what, name string, before, now *classad.ClassAd) {
	if c.b.log.IsDebug() {
		c.changed = append(c.changed, change{what, name, before, now})
	}
}

// tellChanges says in the log which slots and waiting jobs have changed, and in what: jobs may use
// other slots now, which may break promises.
func (c *comparison) tellChanges() {
	slices.SortFunc(c.changed, func(a, b change) int {
		return cmp.Or(strings.Compare(a.what, b.what), strings.Compare(a.name, b.name))
	})
	for _, a := range c.changed[:min(len(c.changed), mostChanges)] {
		c.b.log.Debug("has changed", a.what, a.name, "in", strings.Join(differences(a.before, a.now), ", "))
	}
	if more := len(c.changed) - mostChanges; more > 0 {
		c.b.log.Debug("and more slots and jobs have changed", "number", more)
	}
}

// differences returns the names of the attributes in which two ads differ, sorted.
func differences(a, b *classad.ClassAd) (names []string) {
	for name, e := range a.All() {
		if other, has := b.Lookup(name); !has || other.String() != e.String() {
			names = append(names, name)
		}
	}
	for name := range b.All() {
		if _, had := a.Lookup(name); !had {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
