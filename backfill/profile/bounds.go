package profile

// Bounds is the least and the most that is free of each resource on the slot
// during [from, to); it fills in low and high.
func (p *Profile) Bounds(id SlotID, from, to Time, low, high Vector) {
	for k := range p.slots[id].free {
		free := &p.slots[id].free[k]
		at := free.value(from)
		low[k], high[k] = at, at
		if free.root != nil {
			low[k], high[k] = min(at, free.root.lowest(free.base, from, to)), max(at, free.root.highest(free.base, from, to))
		}
	}
}
