package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Partitioned is added to a seed to get a pool with bundles: most jobs take one bundle whole, a few
// take slots.
const Partitioned uint64 = 1 << 50

// partition adds slots to the pool and makes up bundles of random slots.
func (d *Driver) partition() {
	for range 2 + d.random.IntN(3) {
		id := len(d.slots)
		d.slots = append(d.slots, backfill.Slot{
			ID: backfill.SlotID(id), Name: string(rune('a' + id)),
			Capacity: d.capacity(),
		})
	}
	for range 2 + d.random.IntN(8) {
		b := backfill.Bundle{
			ID:   backfill.BundleID(len(d.bundles)),
			Name: string([]rune{'Z' - rune(len(d.bundles)%3), 'a' + rune(len(d.bundles))}),
		}
		for _, slot := range d.slots {
			if d.random.IntN(3) == 0 {
				b.Slots = append(b.Slots, slot.ID)
			}
		}
		if b.Slots != nil && !slices.ContainsFunc(d.bundles,
			func(o backfill.Bundle) bool { return slices.Equal(o.Slots, b.Slots) }) {
			d.bundles = append(d.bundles, b)
		}
	}
	if d.bundles == nil {
		d.bundles = []backfill.Bundle{{Name: "Z", Slots: []backfill.SlotID{0, 1}}}
	}
}

// tell returns the next n bundles for a round to add.
func (d *Driver) tell(n int) []backfill.Bundle {
	d.told += n
	return slices.Clone(d.bundles[d.told-n : d.told])
}

// someBundles returns random candidates among the bundles that rounds have added, with random ranks
// if ranked is true.
func (d *Driver) someBundles(ranked bool) (c backfill.Candidates) {
	for _, b := range d.bundles[:d.told] {
		if d.random.IntN(3) == 0 {
			continue
		}
		c.Bundles = append(c.Bundles, b.ID)
		if ranked {
			c.Rank = append(c.Rank, d.random.Int32N(3))
		}
	}
	return c
}

// someBundle returns a placement on all slots of a random bundle whose slots are up, or nil if
// there is none.
func (d *Driver) someBundle() (at backfill.Placement) {
	for _, i := range d.random.Perm(d.told) {
		slots := d.bundles[i].Slots
		if slices.ContainsFunc(slots, func(id backfill.SlotID) bool { return !d.up[id] }) {
			continue
		}
		for _, id := range slots {
			at = append(at, backfill.Chunks{Slot: id, Count: 1})
		}
		return at
	}
	return nil
}

// bundled reports whether a slot belongs to a bundle, even to one that no round has added yet.
func (d *Driver) bundled(slot int) bool {
	return slices.ContainsFunc(d.bundles, func(b backfill.Bundle) bool {
		return slices.Contains(b.Slots,
			backfill.SlotID(slot))
	})
}

// whole makes a job take a bundle if its candidates are bundles. In a pool with bundles, it first
// gives two of three jobs whose candidates are slots a new random candidate set.
func (d *Driver) whole(j *backfill.Job) {
	if d.bundles != nil && !d.sets[j.Candidates] && d.random.IntN(3) > 0 {
		j.Candidates = d.random.IntN(len(d.sets))
	}
	if j.Whole = d.sets[j.Candidates]; j.Whole {
		j.Nodes = 1
	}
}

// chunk returns what one chunk of a job uses of a slot.
func chunk(snap *backfill.Snapshot, j *backfill.Job, on backfill.SlotID) backfill.Vector {
	if j.Whole {
		return snap.Slots[on].Capacity
	}
	return j.Request
}

// bundles reports bundle jobs that are not placed exactly on one bundle, and those that start on a
// bundle which is not among their candidates.
func (r *Run) bundles() {
	at := func(p backfill.Placement) backfill.BundleID {
		return backfill.BundleID(slices.IndexFunc(r.snap.Bundles, func(b backfill.Bundle) bool {
			return slices.EqualFunc(p, b.Slots, func(on backfill.Chunks,
				id backfill.SlotID,
			) bool {
				return on.Slot == id && on.Count == 1
			})
		}))
	}
	for _, j := range r.snap.Jobs {
		if j.Job.Whole && j.Placement != nil && at(j.Placement) < 0 {
			r.find(Capacity, j.Job, "job %d takes a bundle whole, and is on %v, which is none", j.Job.ID, j.Placement)
		}
	}
	for _, s := range r.decision.Started {
		if candidates := r.snap.Candidates[s.Job.Candidates].Candidates.Bundles; s.Job.Whole &&
			!slices.Contains(candidates, at(s.Placement)) {
			r.find(Capacity, s.Job, "job %d starts on %v, which is none of its candidates %v", s.Job.ID, s.Placement,
				candidates)
		}
	}
}
