package profile

// Slide moves forward what was added on one slot during [start, end): it is to begin at the instant to, which
// is earlier, and to end at until, which is no later than end. If that is not free up to its present place,
// Slide changes nothing and returns false. The slot has no end.
//
// It is Remove, a check and Add, without what these do twice where the old place and the new one overlap, as
// they mostly do: only two short spans change.
func (p *Profile) Slide(at Chunks, chunk Vector, start, end, to, until Time) bool {
	s := &p.slots[at.Slot]
	taken, left := min(until, start), max(until, start)
	for k, amount := range chunk {
		if amount > 0 && s.free[k].min(to, taken) < amount*int64(at.Count) {
			return false
		}
	}
	for k, amount := range chunk {
		if amount *= int64(at.Count); amount != 0 {
			free := &s.free[k]
			free.forget(p.owner, p.past)
			free.shiftSpan(p.owner, p.past, to, taken, -amount)
			free.shiftSpan(p.owner, p.past, left, end, amount)
		}
	}
	if p.sums != nil && s.up {
		p.addToSums(chunk, -int64(at.Count), to, taken)
		p.addToSums(chunk, int64(at.Count), left, end)
	}
	p.grew(at.Slot, left)
	p.look(at.Slot)
	return true
}
