package negotiator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// inventory numbers the slots and bundles of a pool, and translates placements between the pool's
// form (slots with ads) and package backfill's (slot numbers). Slots that are gone keep their
// number.
type inventory struct {
	resources []string

	slots   []*Slot     // by SlotID; replaced when the slot comes back
	singles []Placement // by SlotID: one chunk on the slot, shared by all jobs placed so
	ids     map[string]backfill.SlotID

	bundles   []*Bundle           // by BundleID
	parts     [][]backfill.SlotID // by BundleID: its slots, ascending
	wholes    []Placement         // by BundleID: one job on it, shared by all jobs placed so
	bundleIDs map[string]backfill.BundleID
	bundled   map[backfill.SlotID]bool // the slots that are in a bundle
}

func newInventory(resources []string) *inventory {
	return &inventory{
		resources: resources, ids: map[string]backfill.SlotID{},
		bundleIDs: map[string]backfill.BundleID{}, bundled: map[backfill.SlotID]bool{},
	}
}

// add numbers new slots and bundles, and replaces slots that come back. It returns both in the form
// that [matchmaker.Matchmaker.Add] takes.
func (v *inventory) add(slots []*Slot, bundles []*Bundle) ([]matchmaker.Slot, []matchmaker.Bundle) {
	added := make([]matchmaker.Slot, len(slots))
	for i, slot := range slots {
		id, known := v.ids[slot.Name]
		if !known {
			id = backfill.SlotID(len(v.slots))
			v.ids[slot.Name] = id
			v.slots, v.singles = append(v.slots, nil), append(v.singles, nil)
		}
		if v.slots[id] != slot {
			v.slots[id], v.singles[id] = slot, Placement{{Slot: slot, Count: 1}}
		}
		added[i] = matchmaker.Slot{ID: id, Ad: slot.Ad}
	}
	var whole []matchmaker.Bundle
	for _, b := range bundles {
		parts := make([]backfill.SlotID, len(b.Slots))
		for i, name := range b.Slots {
			parts[i] = v.ids[name]
			v.bundled[parts[i]] = true
		}
		slices.Sort(parts)
		v.bundleIDs[b.Name] = backfill.BundleID(len(v.bundles))
		v.bundles, v.parts = append(v.bundles, b), append(v.parts, parts)
		v.wholes = append(v.wholes, Placement{{Bundle: b, Count: 1}})
		whole = append(whole, matchmaker.Bundle{Slots: parts, Ad: b.Ad})
	}
	return added, whole
}

// slot returns a known slot in package backfill's form.
func (v *inventory) slot(id backfill.SlotID) backfill.Slot {
	s := v.slots[id]
	return backfill.Slot{ID: id, Name: s.Name, Capacity: s.Capacity, End: s.End}
}

// bundle returns a known bundle, slots that one job takes together, in package backfill's form.
func (v *inventory) bundle(id backfill.BundleID) backfill.Bundle {
	return backfill.Bundle{ID: id, Name: v.bundles[id].Name, Slots: v.parts[id]}
}

// bundleAt returns the bundle whose slots are exactly those of a placement, with one chunk on each;
// false if there is none.
func (v *inventory) bundleAt(at backfill.Placement) (backfill.BundleID, bool) {
	isPart := func(slot backfill.SlotID, c backfill.Chunks) bool { return slot == c.Slot && c.Count == 1 }
	for id, parts := range v.parts {
		if slices.EqualFunc(parts, at, isPart) {
			return backfill.BundleID(id), true
		}
	}
	return 0, false
}

// fromCore translates a placement from package backfill's form into the pool's.
func (v *inventory) fromCore(at backfill.Placement) Placement {
	if id, found := v.bundleAt(at); found {
		return v.wholes[id]
	}
	if len(at) == 1 && at[0].Count == 1 {
		return v.singles[at[0].Slot]
	}
	chunks := make(Placement, len(at))
	for i, c := range at {
		chunks[i] = Chunks{Slot: v.slots[c.Slot], Count: c.Count}
	}
	return chunks
}

// toCore translates a placement on known slots, or on a known bundle, from the pool's form into
// package backfill's.
func (v *inventory) toCore(placement Placement) backfill.Placement {
	if len(placement) == 1 && placement[0].Bundle != nil {
		parts := v.parts[v.bundleIDs[placement[0].Bundle.Name]]
		at := make(backfill.Placement, len(parts))
		for i, slot := range parts {
			at[i] = backfill.Chunks{Slot: slot, Count: 1}
		}
		return at
	}
	at := make(backfill.Placement, len(placement))
	for i, chunks := range placement {
		at[i] = backfill.Chunks{Slot: v.ids[chunks.Slot.Name], Count: chunks.Count}
	}
	return at
}

// covers reports whether a placement takes candidates only; true if at is nil, no placement.
func (v *inventory) covers(candidates backfill.Candidates, at backfill.Placement) bool {
	if len(v.bundles) == 0 || at == nil {
		return candidates.Cover(at)
	}
	id, found := v.bundleAt(at)
	return found && slices.Contains(candidates.Bundles, id)
}

// checkSlots refuses slots that come up twice, or that go but are unknown or come up in the same
// delta. It checks capacities as checkCapacity does.
func (v *inventory) checkSlots(up []*Slot, down []string) error {
	if len(up)+len(down) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, slot := range up {
		if names[slot.Name] {
			return fmt.Errorf("slot %s came up twice", slot.Name)
		}
		names[slot.Name] = true
		if err := v.checkCapacity(slot); err != nil {
			return err
		}
	}
	for _, name := range down {
		if _, known := v.ids[name]; !known {
			return fmt.Errorf("slot %s is gone, but was never there", name)
		}
		if names[name] {
			return fmt.Errorf("slot %s is reported up and gone at once", name)
		}
	}
	return nil
}

// checkCapacity refuses amounts out of bounds, and a changed capacity of a slot that is in a
// bundle.
func (v *inventory) checkCapacity(slot *Slot) error {
	if len(slot.Capacity) != len(v.resources) {
		return fmt.Errorf("slot %s has %d resources, the pool %d", slot.Name, len(slot.Capacity), len(v.resources))
	}
	bad := slices.IndexFunc(slot.Capacity, func(a int64) bool { return a < 0 || a > backfill.MaxAmount })
	if bad >= 0 {
		return fmt.Errorf("slot %s has %d %s: must be from 0 to %d",
			slot.Name, slot.Capacity[bad], v.resources[bad], int64(backfill.MaxAmount))
	}
	id, known := v.ids[slot.Name]
	if known && v.bundled[id] && !slices.Equal(slot.Capacity, v.slots[id].Capacity) {
		return fmt.Errorf("slot %s of a bundle came up with %v, and had %v: it must stay as it is",
			slot.Name, slot.Capacity, v.slots[id].Capacity)
	}
	return nil
}

// checkBundles refuses bundles without slots or ad, with a known name, with the same slots as
// another bundle, with a slot twice, or with one that is neither known nor coming up now.
func (v *inventory) checkBundles(bundles []*Bundle, up []*Slot) error {
	if len(bundles) == 0 {
		return nil
	}
	slots := map[string]bool{}
	for _, slot := range up {
		slots[slot.Name] = true
	}
	names, same := map[string]bool{}, map[string]string{}
	for _, b := range v.bundles {
		names[b.Name], same[sameSlots(b)] = true, b.Name
	}
	for _, b := range bundles {
		own := map[string]bool{}
		for _, name := range b.Slots {
			if _, known := v.ids[name]; !known && !slots[name] {
				return fmt.Errorf("bundle %s: there is no slot %s", b.Name, name)
			}
			if own[name] {
				return fmt.Errorf("bundle %s: slot %s is in it twice", b.Name, name)
			}
			own[name] = true
		}
		key := sameSlots(b)
		switch {
		case names[b.Name]:
			return fmt.Errorf("bundle %s came twice: bundles never change", b.Name)
		case len(b.Slots) == 0:
			return fmt.Errorf("bundle %s has no slots", b.Name)
		case b.Ad == nil:
			return fmt.Errorf("bundle %s has no ad", b.Name)
		case same[key] != "":
			return fmt.Errorf("bundles %s and %s have the same slots", same[key], b.Name)
		}
		names[b.Name], same[key] = true, b.Name
	}
	return nil
}

// sameSlots returns a text that is the same for two bundles if they have the same slots.
func sameSlots(b *Bundle) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(b.Slots))) }

// checkPlacement refuses a placement that does not place each of the job's chunks, names a slot
// twice, or is on a slot that is not up. In a pool with bundles it must be one bundle.
func (v *inventory) checkPlacement(j *Job, at Placement, isUp func(name string) bool) error {
	if len(v.bundles) > 0 {
		return v.checkWhole(j, at, isUp)
	}
	total := 0
	for i, chunks := range at {
		switch {
		case chunks.Slot == nil:
			return errors.New("on a slot that is none")
		case !isUp(chunks.Slot.Name):
			return fmt.Errorf("slot %s is not there", chunks.Slot.Name)
		case chunks.Count < 1 || chunks.Count > j.Nodes:
			return fmt.Errorf("%d of its %d chunks are on slot %s", chunks.Count, j.Nodes, chunks.Slot.Name)
		case slices.ContainsFunc(at[:i], func(o Chunks) bool { return o.Slot.Name == chunks.Slot.Name }):
			return fmt.Errorf("slot %s is named twice", chunks.Slot.Name)
		}
		total += chunks.Count
	}
	if total != j.Nodes {
		return fmt.Errorf("%d of its %d chunks are placed", total, j.Nodes)
	}
	return nil
}

// checkWhole refuses a placement that is not exactly one known bundle, all of whose slots are up.
func (v *inventory) checkWhole(j *Job, at Placement, isUp func(name string) bool) error {
	if len(at) != 1 || at[0].Bundle == nil || at[0].Count != 1 {
		return errors.New("not on one bundle: in a pool with bundles each job has one")
	}
	bundle := at[0].Bundle.Name
	id, known := v.bundleIDs[bundle]
	switch {
	case !known:
		return fmt.Errorf("bundle %s is not there", bundle)
	case j.Nodes != 1:
		return fmt.Errorf("%d chunks are on bundle %s: a job on one has one", j.Nodes, bundle)
	}
	for _, slot := range v.bundles[id].Slots {
		if !isUp(slot) {
			return fmt.Errorf("slot %s of bundle %s is not there", slot, bundle)
		}
	}
	return nil
}
