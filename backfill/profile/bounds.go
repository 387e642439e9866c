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

// highest is the mirror image of lowest.
func (n *node) highest(v int64, from, to Time) int64 {
	highest := -int64(Forever)
	for i := 0; i < n.n && n.at[i] < to; i++ {
		switch {
		case n.inner == nil && n.at[i] > from:
			highest = max(highest, v+n.change[i])
		case n.inner == nil || n.passed(i, from):
		case n.at[i] > from && n.passed(i, to):
			highest = max(highest, v+n.inner.high[i])
		default:
			highest = max(highest, n.inner.kids[i].highest(v, from, to))
		}
		v += n.change[i]
	}
	return highest
}
