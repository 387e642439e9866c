package profile

import "math"

// AskMany answers requests of so many candidates with reaches, of short spans and
// with room for a few, until the test is over.
func AskMany(t interface{ Cleanup(func()) }, slots int) {
	beforeSlots, beforeSpans, beforeReach, beforeGrown := manySlots, spans, maxReach, maxGrown
	manySlots, spans, maxReach, maxGrown = slots, []Time{1, 3, 7}, 12, 5
	t.Cleanup(func() { manySlots, spans, maxReach, maxGrown = beforeSlots, beforeSpans, beforeReach, beforeGrown })
}

// Remember makes room for so many bounds, until the test is over.
func Remember(t interface{ Cleanup(func()) }, bounds int) {
	before := maxReach
	maxReach = bounds
	t.Cleanup(func() { maxReach = before })
}

// OneByOne answers questions by asking every slot.
func OneByOne(ask func()) {
	before := manySlots
	defer func() { manySlots = before }()
	manySlots = math.MaxInt
	ask()
}

// CapacityOf is what the slot has, or had when it was there.
func (p *Profile) CapacityOf(id SlotID) Vector { return p.slots[id].capacity }
