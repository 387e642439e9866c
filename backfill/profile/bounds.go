package profile

// Bounds is the least and the most that is free of each resource on the slot
// during [from, to); it fills in low and high.
func (p *Profile) Bounds(id SlotID, from, to Time, low, high Vector) {
	for k := range p.slots[id].free {
		free := &p.slots[id].free[k]
		at := free.value(from)
		low[k], high[k] = min(at, free.root.lowest(free.base, from, to)), max(at, free.root.highest(free.base, from, to))
	}
}

// Earlier is the first start in [from, limit) at which a request would fit if
// its place, from start on, on the only slot that it may use, were taken out;
// limit is at most start. What comes at or after start need not be asked: there
// it stands on its own place.
func (p *Profile) Earlier(r Request, start, from, limit Time) (Time, bool) {
	id := r.Candidates.Slots[0]
	if !p.Up(id) {
		return 0, false
	}
	for blocked := true; blocked && from < limit; {
		blocked = false
		for k, need := range r.Chunk {
			need *= int64(r.Nodes)
			if need == 0 {
				continue
			}
			free := &p.slots[id].free[k]
			short, found := free.firstBelow(from, need)
			if !found || short >= min(start, from+r.Duration) {
				continue
			}
			again, found := free.firstAtLeast(short, need)
			if !found {
				return 0, false
			}
			from, blocked = again, true
		}
	}
	return from, from < limit
}

// highest is the mirror image of lowest.
func (n *node) highest(before int64, from, to Time) int64 {
	highest := -int64(Forever)
	for n != nil {
		here := before + n.left.total() + n.change
		switch {
		case n.at <= from:
			before, n = here, n.right
		case n.at >= to:
			n = n.left
		default:
			return max(here, n.left.highestAfter(before, from), n.right.highestBefore(here, to))
		}
	}
	return highest
}

func (n *node) highestAfter(before int64, from Time) int64 {
	highest := -int64(Forever)
	for n != nil {
		here := before + n.left.total() + n.change
		if n.at <= from {
			before, n = here, n.right
			continue
		}
		highest = max(highest, here)
		if n.right != nil {
			highest = max(highest, here+n.right.high)
		}
		n = n.left
	}
	return highest
}

func (n *node) highestBefore(before int64, to Time) int64 {
	highest := -int64(Forever)
	for n != nil {
		if n.at >= to {
			n = n.left
			continue
		}
		here := before + n.left.total() + n.change
		highest = max(highest, here)
		if n.left != nil {
			highest = max(highest, before+n.left.high)
		}
		before, n = here, n.right
	}
	return highest
}
