package negotiator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Bundle is slots that are taken whole together: a partition of a partitioned machine.
// In a pool that has bundles every job takes one. It never changes.
type Bundle struct {
	// Name is unique among the bundles.
	Name string
	// Slots are the names of the slots that it is made of.
	Slots []string
	// Ad is what jobs are matched with and rank. Besides, each slot's Requirements must
	// let a job in; so a slot that is drained takes all its bundles along.
	Ad *classad.ClassAd
}

// checkBundles refuses bundles that a pool cannot have, and slots that do not keep the
// capacity with which they are in one.
func (n *Negotiator) checkBundles(d *Delta) error {
	m := n.matchmaker
	if len(m.bundles) > 0 {
		for _, slot := range d.SlotsUp {
			if id, known := m.ids[slot.Name]; known && m.bundled[id] && !slices.Equal(slot.Capacity, m.slots[id].Capacity) {
				return fmt.Errorf("slot %s of a bundle came up with %v, and had %v: it must stay as it is", slot.Name, slot.Capacity, m.slots[id].Capacity)
			}
		}
	}
	if len(d.Bundles) > 0 && len(m.bundles) == 0 && len(n.jobs) > 0 {
		return errors.New("the first bundles came, and there are jobs: those would have none")
	}
	return m.checkBundles(d.Bundles, d.SlotsUp)
}

// checkBundles refuses bundles that are not new or not made of slots that are known or
// come up now.
func (m *matchmaker) checkBundles(bundles []*Bundle, up []*Slot) error {
	if len(bundles) == 0 {
		return nil
	}
	slots := map[string]bool{}
	for _, slot := range up {
		slots[slot.Name] = true
	}
	names, sames := map[string]bool{}, map[string]string{}
	for _, b := range m.bundles {
		names[b.Name], sames[sameSlots(b)] = true, b.Name
	}
	for _, b := range bundles {
		own := map[string]bool{}
		for _, name := range b.Slots {
			if _, known := m.ids[name]; !known && !slots[name] {
				return fmt.Errorf("bundle %s: there is no slot %s", b.Name, name)
			}
			if own[name] {
				return fmt.Errorf("bundle %s: slot %s is in it twice", b.Name, name)
			}
			own[name] = true
		}
		same := sameSlots(b)
		switch {
		case names[b.Name]:
			return fmt.Errorf("bundle %s came twice: bundles never change", b.Name)
		case len(b.Slots) == 0:
			return fmt.Errorf("bundle %s has no slots", b.Name)
		case b.Ad == nil:
			return fmt.Errorf("bundle %s has no ad", b.Name)
		case sames[same] != "":
			return fmt.Errorf("bundles %s and %s have the same slots", sames[same], b.Name)
		}
		names[b.Name], sames[same] = true, b.Name
	}
	return nil
}

// sameSlots is the same text for bundles of the same slots.
func sameSlots(b *Bundle) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(b.Slots))) }

// addBundles takes bundles in whose slots are known. It reports whether they look at
// job attributes that nothing did before, like add.
func (m *matchmaker) addBundles(bundles []*Bundle) (recluster bool) {
	for _, b := range bundles {
		parts := make([]backfill.SlotID, len(b.Slots))
		for i, name := range b.Slots {
			parts[i] = m.ids[name]
			m.bundled[parts[i]] = true
		}
		slices.Sort(parts)
		m.bundleIDs[b.Name] = backfill.BundleID(len(m.bundles))
		m.bundles, m.parts = append(m.bundles, b), append(m.parts, parts)
		m.wholes = append(m.wholes, Placement{{Bundle: b, Chunks: 1}})
		recluster = notice(m.seen, b.Ad) || recluster
	}
	m.classifyBundles()
	return recluster
}

// classifyBundles numbers the bundles by what jobs ask about, like slots, and by the
// classes of their slots.
func (m *matchmaker) classifyBundles() {
	m.classOfBundle = m.classOfBundle[:0]
	for id, b := range m.bundles {
		var slots []int
		for _, slot := range m.parts[id] {
			slots = append(slots, m.classOf[slot])
		}
		slices.Sort(slots)
		text := fmt.Sprintf("class %d of slots %v", m.class(b.Ad), slices.Compact(slots))
		m.classOfBundle = append(m.classOfBundle, m.number(text))
	}
}

// offer is what a job is matched with: a slot, or a bundle with its slots.
type offer struct {
	class int // no job can tell two of a class apart
	ad    *classad.ClassAd
	parts []backfill.SlotID // of a bundle
	m     *matchmaker
}

// offers is how many there are, by ID: bundles, or slots in a pool that has none.
func (m *matchmaker) offers() int {
	if len(m.bundles) > 0 {
		return len(m.bundles)
	}
	return len(m.slots)
}

func (m *matchmaker) offer(id int) offer {
	if len(m.bundles) > 0 {
		return offer{m.classOfBundle[id], m.bundles[id].Ad, m.parts[id], m}
	}
	return offer{m.classOf[id], m.slots[id].Ad, nil, m}
}

// accepts reports whether the Requirements of the slot, or of the bundle and each of
// its slots, let a job in.
func (o offer) accepts(job *classad.ClassAd) bool {
	return classad.Accepts(o.ad, job) && !slices.ContainsFunc(o.parts, func(slot backfill.SlotID) bool {
		return !classad.Accepts(o.m.slots[slot].Ad, job)
	})
}

// match reports whether a job and what is offered accept each other.
func (o offer) match(job *classad.ClassAd) bool {
	return classad.Match(job, o.ad) && (o.parts == nil || o.accepts(job))
}

// told is a bundle in the policy's terms.
func (m *matchmaker) told(id backfill.BundleID) backfill.Bundle {
	return backfill.Bundle{ID: id, Name: m.bundles[id].Name, Slots: m.parts[id]}
}

// bundleAt is the bundle whose slots a placement takes.
func (m *matchmaker) bundleAt(at backfill.Placement) (backfill.BundleID, bool) {
	for id, parts := range m.parts {
		if slices.EqualFunc(parts, at, func(slot backfill.SlotID, c backfill.Chunks) bool { return slot == c.Slot && c.Count == 1 }) {
			return backfill.BundleID(id), true
		}
	}
	return 0, false
}

// chunksOf is a bundle's placement in the policy's terms.
func (m *matchmaker) chunksOf(b *Bundle) backfill.Placement {
	parts := m.parts[m.bundleIDs[b.Name]]
	at := make(backfill.Placement, len(parts))
	for i, slot := range parts {
		at[i] = backfill.Chunks{Slot: slot, Count: 1}
	}
	return at
}

// covers reports whether a placement is on candidates alone; no placement is.
func (m *matchmaker) covers(c *autocluster, at backfill.Placement) bool {
	if len(m.bundles) == 0 || at == nil {
		return c.candidates.Cover(at)
	}
	id, found := m.bundleAt(at)
	return found && slices.Contains(c.candidates.Bundles, id)
}

// checkWhole refuses a placement that is not one bundle, with slots that are up.
func (m *matchmaker) checkWhole(j *Job, at Placement, isUp func(name string) bool) error {
	if len(at) != 1 || at[0].Bundle == nil || at[0].Chunks != 1 {
		return errors.New("not on one bundle: in a pool with bundles each job has one")
	}
	bundle := at[0].Bundle.Name
	id, known := m.bundleIDs[bundle]
	switch {
	case !known:
		return fmt.Errorf("bundle %s is not there", bundle)
	case j.Nodes != 1:
		return fmt.Errorf("%d chunks are on bundle %s: a job on one has one", j.Nodes, bundle)
	}
	for _, slot := range m.bundles[id].Slots {
		if !isUp(slot) {
			return fmt.Errorf("slot %s of bundle %s is not there", slot, bundle)
		}
	}
	return nil
}
