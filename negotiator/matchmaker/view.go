package matchmaker

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// view is a division of the slots and bundles into classes, for all autoclusters that refer to the
// same attributes of slots. What one user's jobs refer to does not divide the classes of others.
type view struct {
	key   string   // its names
	names []string // the attributes, lower case and sorted
	users int      // the number of autoclusters that use it

	classes  map[digest]int // by text
	ofSlot   []int          // by SlotID
	ofBundle []int          // by BundleID; its numbers do not occur in ofSlot
	sides    []*side        // by class, see search.dependsOn
	edition  int            // grows when the classes are numbered anew
	former   []int          // the numbers of the classes in the edition before
	seen     int            // how much of the matchmaker's list of changes it knows
	moved    changes        // slots whose class has changed
}

// changes is a list of slots of which something has changed. Readers remember how far they have
// read; one that is too far behind looks at all slots.
type changes struct {
	dropped int // the number of slots that are not in the list any more
	slots   []backfill.SlotID
}

// add adds a slot, and drops the old half of a list that is longer than most.
func (c *changes) add(slot backfill.SlotID, most int) {
	if len(c.slots) >= 2*most {
		c.slots = slices.Delete(c.slots, 0, most)
		c.dropped += most
	}
	c.slots = append(c.slots, slot)
}

func (c *changes) end() int { return c.dropped + len(c.slots) }

// since returns the slots that were added after a reader has read so far; false if some of them
// were dropped.
func (c *changes) since(read int) ([]backfill.SlotID, bool) {
	if read < c.dropped {
		return nil, false
	}
	return c.slots[read-c.dropped:], true
}

// few is how many slots of changed class an autocluster is updated for one by one.
const few = 64

// viewOf returns the view for an autocluster's job, and counts the autocluster.
func (m *Matchmaker) viewOf(ad *classad.ClassAd) *view {
	names := slices.Sorted(maps.Keys(m.asks(ad)))
	key := fmt.Sprintf("%q", names)
	v := m.views[key]
	if v == nil {
		v = &view{key: key, names: names, classes: map[digest]int{}, seen: -1}
		m.views[key] = v
	}
	v.users++
	return v
}

// leave ends an autocluster's use of a view.
func (m *Matchmaker) leave(v *view) {
	if v.users--; v.users == 0 {
		delete(m.views, v.key)
	}
}

// renew brings a view up to date with the slots and bundles. It returns the number of attributes
// that it had to compare.
func (m *Matchmaker) renew(v *view) (compared int64) {
	if v.seen == m.changed.end() && len(v.ofSlot) == len(m.slots) && len(v.ofBundle) == len(m.bundles) {
		return 0
	}
	slots, known := m.changed.since(v.seen)
	if !known {
		v.ofSlot, slots = v.ofSlot[:0], nil
		v.moved.dropped, v.moved.slots = v.moved.end()+1, nil
		v.edition, v.former, v.sides = v.edition+2, nil, nil
		clear(v.classes)
	}
	for _, id := range slots {
		if class := m.class(v, id); class != v.ofSlot[id] {
			v.ofSlot[id] = class
			v.moved.add(id, few)
		}
	}
	came := len(m.slots) - len(v.ofSlot)
	for id := len(v.ofSlot); id < len(m.slots); id++ {
		v.ofSlot = append(v.ofSlot, m.class(v, backfill.SlotID(id)))
		if known {
			v.moved.add(backfill.SlotID(id), few)
		}
	}
	v.seen = m.changed.end()
	if len(m.bundles) > 0 {
		m.classifyBundles(v)
	} else if len(v.classes) > 2*len(m.slots)+few {
		v.compact()
	}
	return int64((len(slots) + came) * len(v.names))
}

// compact numbers anew the classes that still have slots, and forgets the others.
func (v *view) compact() {
	renumbered := map[int]int{}
	v.former = v.former[:0]
	for id, class := range v.ofSlot {
		if _, known := renumbered[class]; !known {
			renumbered[class] = len(v.former)
			v.former = append(v.former, class)
		}
		v.ofSlot[id] = renumbered[class]
	}
	kept := make(map[digest]int, len(v.former))
	for text, class := range v.classes {
		if number, has := renumbered[class]; has {
			kept[text] = number
		}
	}
	v.classes, v.sides = kept, nil
	v.edition++
}

// classifyBundles gives each bundle a class, by its ad and the classes of its slots.
func (m *Matchmaker) classifyBundles(v *view) {
	v.ofBundle = v.ofBundle[:0]
	for _, b := range m.bundles {
		var slots []int
		for _, slot := range b.Slots {
			slots = append(slots, v.ofSlot[slot])
		}
		slices.Sort(slots)
		var ad strings.Builder
		for _, name := range v.names {
			ad.WriteString(describe(b.Ad, name))
		}
		v.ofBundle = append(v.ofBundle, v.number(fmt.Appendf(nil, "%s of slots %v", ad.String(), slices.Compact(slots))))
	}
}

// class returns the class number of a slot. Slots have the same class if they agree in
// Requirements, Rank and the attributes to which jobs refer, and in what these refer to within the
// ad.
func (m *Matchmaker) class(v *view, id backfill.SlotID) int {
	s := &m.slots[id]
	m.text = m.text[:0]
	if s.barred {
		return v.number(m.text)
	}
	for _, name := range v.names {
		text, known := s.texts[name]
		if !known {
			if _, has := s.ad.Lookup(name); has {
				text = digestOf([]byte(describe(s.ad, name)))
				if s.texts != nil {
					s.texts[name] = text
				}
			}
		}
		m.text = append(m.text, text[:]...)
	}
	return v.number(m.text)
}

// number returns the class with this text; a new text gets a new class.
func (v *view) number(text []byte) int {
	key := digestOf(text)
	class, ok := v.classes[key]
	if !ok {
		class = len(v.classes)
		v.classes[key] = class
	}
	return class
}

// digest stands for a text in classes. Users choose which attributes their jobs refer to, and so
// how many views there are: with the texts themselves, one user's jobs would take gigabytes.
type digest [16]byte

func digestOf(text []byte) digest {
	sum := sha256.Sum256(text)
	return digest(sum[:len(digest{})])
}
