package recorded

import (
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// longestName is how many letters of a name an error shows.
const longestName = 60

// slotsTold takes in what the pool told of slots, bundles and limits.
func (r *reader) slotsTold(t *recordv1.Told) error {
	for _, name := range t.GetSlotsDown() {
		r.down(name)
	}
	for _, s := range t.GetSlotsUp() {
		if err := r.up(s); err != nil {
			return err
		}
		delete(r.lost, s.GetName())
	}
	for _, name := range slices.Sorted(maps.Keys(r.lost)) {
		r.down(name)
	}
	r.lost = nil
	if err := r.bundles(t.GetBundles()); err != nil {
		return err
	}
	r.heights(t.GetLimits())
	return nil
}

// slotsBegin takes in the slots, bundles and limits of a beginning. Slots that it does not name are gone,
// unless the next cycle is told of them.
func (r *reader) slotsBegin(b *recordv1.Begin) error {
	r.lost = map[string]bool{}
	for name := range r.slots {
		r.lost[name] = true
	}
	for _, s := range b.GetSlots() {
		if err := r.up(s); err != nil {
			return err
		}
		if delete(r.lost, s.GetName()); s.GetAway() {
			r.down(s.GetName())
		}
	}
	if err := r.bundles(b.GetBundles()); err != nil {
		return err
	}
	r.heights(b.GetLimits())
	return nil
}

// up takes in that a slot is there, and what it is now.
func (r *reader) up(told *recordv1.Slot) error {
	ad := r.ads[told.GetAd()]
	if ad == nil || len(told.GetCapacity()) != len(r.resources) {
		return fmt.Errorf("slot %s: it has no ad, or amounts of %d resources and not of %d; the file is damaged",
			backfill.Printable(told.GetName(), longestName), len(told.GetCapacity()), len(r.resources))
	}
	for _, amount := range told.GetCapacity() {
		if amount < 0 || amount > backfill.MaxAmount {
			return fmt.Errorf("slot %s: %d is no amount; the file is damaged", backfill.Printable(told.GetName(), longestName), amount)
		}
	}
	slot := &negotiator.Slot{Name: told.GetName(), Capacity: told.GetCapacity(), End: backfill.Time(told.GetEnd()), Ad: ad}
	i, known := r.slots[slot.Name]
	if !known {
		i = len(r.latest)
		r.slots[slot.Name] = i
		r.latest = append(r.latest, "")
		r.record.Description.Slots = append(r.record.Description.Slots, slot)
	}
	text := fmt.Sprintf("%d %d %s", slot.Capacity, slot.End, ad)
	if r.latest[i] == text {
		return nil // another file says it again
	}
	r.latest[i] = text
	r.record.Changes = append(r.record.Changes, SlotChange{r.now, i, slot})
	return nil
}

// down takes in that a slot is gone.
func (r *reader) down(name string) {
	if i, known := r.slots[name]; known && r.latest[i] != "" {
		r.latest[i] = ""
		r.record.Changes = append(r.record.Changes, SlotChange{At: r.now, Index: i})
	}
}

// bundles takes in the bundles that are new.
func (r *reader) bundles(all []*recordv1.Bundle) error {
	d := r.record.Description
	for _, b := range all {
		if slices.ContainsFunc(d.Bundles, func(known *negotiator.Bundle) bool { return known.Name == b.GetName() }) {
			continue
		}
		ad := r.ads[b.GetAd()]
		if ad == nil {
			return fmt.Errorf("bundle %s: it has no ad; the file is damaged", backfill.Printable(b.GetName(), longestName))
		}
		d.Bundles = append(d.Bundles, &negotiator.Bundle{Name: b.GetName(), Slots: b.GetSlots(), Ad: ad})
	}
	return nil
}

// heights takes in limits: each is as high as it ever was.
func (r *reader) heights(all []*recordv1.Limit) {
	d := r.record.Description
	for _, l := range all {
		i, known := r.limits[l.GetName()]
		if !known {
			i = len(d.Limits)
			r.limits[l.GetName()] = i
			d.Limits = append(d.Limits, negotiator.Limit{Name: l.GetName()})
		}
		d.Limits[i].Height = max(d.Limits[i].Height, l.GetHeight())
	}
}

// settleSlots forgets the changes if all slots are there when the first job arrives, and stay as they are.
func (r *reader) settleSlots() {
	changes := r.record.Changes
	if len(changes) != len(r.record.Description.Slots) {
		return
	}
	for _, c := range changes {
		if c.Slot == nil || len(r.record.Jobs) > 0 && c.At > r.record.Jobs[0].Submit {
			return
		}
	}
	r.record.Changes = nil
}
