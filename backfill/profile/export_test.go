package profile

import "math"

// AskMany makes the profile and its clones use reaches for requests with that many candidate slots
// or more. All reaches together hold at most that many bounds. The list of growths and the spans
// are short, so that tests reach every limit.
func AskMany(p *Profile, slots, bounds int) {
	p.limits = limits{manySlots: slots, maxReach: bounds, maxGrown: 5, spans: []Time{1, 3, 7}}
}

// OneByOne returns a clone that searches every slot and uses no reaches.
func OneByOne(p *Profile) *Profile {
	c := p.Clone()
	c.limits.manySlots = math.MaxInt
	return c
}

// CapacityOf returns the capacity of a slot, or the last one it had if it is dropped.
func (p *Profile) CapacityOf(id SlotID) Vector { return p.slots[id].capacity }
