package profile

// A slot that ends has nothing from its end on: its step functions fall by its capacity then, for good.
// So every search heeds ends, and a slot without one costs nothing. Only a request that may run to a
// slot's end has to be told of it: there, it need not fit any longer.

// SetEnd sets the instant from which on the slot has nothing; 0: it has no end. The spans on the slot
// stay, also those that last longer: then less than nothing is free.
func (p *Profile) SetEnd(id SlotID, end Time) {
	if end == 0 {
		end = Forever
	}
	s := &p.slots[id]
	before := s.end
	if end == before {
		return
	}
	p.sums = nil
	p.cut(s, 1)
	up := s.up
	p.lower(s)
	if s.end = end; up {
		p.raise(s)
	}
	p.cut(s, -1)
	if end > before {
		p.grew(id, max(before, p.past))
	}
	p.look(id)
}

// cut takes what the slot has off what is free from its end on, if sign is -1, or adds it, if sign is 1.
func (p *Profile) cut(s *slot, sign int64) {
	if s.end == Forever {
		return
	}
	for k, amount := range s.capacity {
		if amount != 0 {
			s.free[k].forget(p.owner, p.past)
			s.free[k].shiftSpan(p.owner, p.past, s.end, Forever, sign*amount)
		}
	}
}

// raise brings a slot up, and lower takes it away.
func (p *View) raise(s *slot) {
	if !s.up && s.end < Forever {
		p.ending++
	}
	s.up = true
}

func (p *View) lower(s *slot) {
	if s.up && s.end < Forever {
		p.ending--
	}
	s.up = false
}

// Ends answers questions about the ends of slots.
type Ends struct{ p *View }

// Ends returns what is known of the ends of slots.
func (p *View) Ends() Ends { return Ends{p} }

// Count returns how many slots that are up have an end.
func (e Ends) Count() int { return e.p.ending }

// Of returns the instant from which on the slot has nothing; [Forever] if it has no end.
func (e Ends) Of(id SlotID) Time { return e.p.slots[id].end }

// Run returns when the request is taken to end if it starts at start, placed so: after its duration, or
// if [Request] says that it may run to a slot's end, when the first of its slots ends before.
func (e Ends) Run(r Request, at Placement, start Time) Time {
	p := e.p
	end := start + r.Duration
	if p.toEnd(&r) {
		for _, c := range at {
			if p.Up(c.Slot) {
				end = min(end, max(p.slots[c.Slot].end, start+1))
			}
		}
	}
	return end
}

// toEnd reports whether the request may run to the end of a slot, and some slot has one.
func (p *View) toEnd(r *Request) bool { return r.ToEnd && p.ending > 0 }

// lasts returns until when the request may run on a slot at most.
func (p *View) lasts(r *Request, id SlotID) Time {
	if r.bundle != 0 {
		return r.bundle
	}
	return p.slots[id].end
}

// end returns the end of the time during which the request must fit on a slot if it starts at start.
func (p *View) end(r *Request, id SlotID, start Time) Time {
	end := start + r.Duration
	if r.ToEnd {
		end = min(end, max(p.lasts(r, id), start+1)) // once the slot has ended nothing is free
	}
	if r.bounded {
		end = min(end, r.until)
	}
	return end
}

// bundleEnd returns when the first slot of a bundle ends; Forever if none does.
func (p *View) bundleEnd(id BundleID) Time {
	end := Forever
	for _, slot := range p.bundles[id].slots {
		if int(slot) < len(p.slots) { // else it is yet to come
			end = min(end, p.slots[slot].end)
		}
	}
	return end
}

// onBundle returns a request that may run to a slot's end as it is on one bundle: to the bundle's end.
func (r Request) onBundle(p *View, id BundleID) *Request {
	r.bundle = p.bundleEnd(id)
	return &r
}

// placeBundleToEnd is [View.placeBundle] for a request that may run to the bundle's end.
func (p *View) placeBundleToEnd(r *Request, start Time) (Placement, bool) {
	free := make(set, (len(p.bundles)+63)/64)
	for i := range p.bundles {
		if id := BundleID(i); p.bundleAt(id, r.onBundle(p, id), start) {
			free.add(id)
		}
	}
	return p.firstBundle(r, start, free)
}

// bundleAt reports whether all slots of a bundle are up and free from start on, for the request's
// duration.
func (p *View) bundleAt(id BundleID, r *Request, start Time) bool {
	for _, slot := range p.bundles[id].slots {
		if !p.wholeAt(slot, r, start) {
			return false
		}
	}
	return true
}

// Closing says when a request's candidates close or end.
type Closing struct {
	// Last is the first instant from which on the request may begin on none of them any more; Forever if
	// there is none, and -Forever if there are no candidates.
	Last Time
	// Places counts the candidates that are up, slots or bundles, and Soon those of them that have closed
	// by now or end before the request would if it began there now. Both are 0 if no slot ends.
	Places, Soon int
}

// Closes returns when the request's candidates close or end, as seen now.
func (e Ends) Closes(r Request, now Time) Closing {
	p := e.p
	if p.ending == 0 {
		return Closing{Last: r.Candidates.Closes()}
	}
	all := Closing{Last: -Forever}
	add := func(i int, end Time) {
		closes := end
		if windows := r.Candidates.within(i); len(windows) > 0 {
			closes = min(closes, windows[len(windows)-1].To)
		}
		if all.Places++; closes <= now || end < now+r.Duration {
			all.Soon++
		}
		all.Last = max(all.Last, closes)
	}
	for i, id := range r.Candidates.Slots {
		if p.Up(id) {
			add(i, p.slots[id].end)
		}
	}
	for i, id := range r.Candidates.Bundles {
		if p.bundleUp(id) {
			add(i, p.bundleEnd(id))
		}
	}
	return all
}
