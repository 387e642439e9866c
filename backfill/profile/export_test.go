package profile

import "math"

// AskMany has the profile and its clones answer requests of so many candidates with reaches, of
// short spans and with room for so many bounds.
func AskMany(p *Profile, slots, bounds int) {
	p.limits = limits{manySlots: slots, maxReach: bounds, maxGrown: 5, spans: []Time{1, 3, 7}}
}

// OneByOne is a clone that asks every slot.
func OneByOne(p *Profile) *Profile {
	c := p.Clone()
	c.limits.manySlots = math.MaxInt
	return c
}

// CapacityOf is what the slot has, or had when it was there.
func (p *Profile) CapacityOf(id SlotID) Vector { return p.slots[id].capacity }
