package profile

// earliestOfMany returns the first instant in [from, limit) at which all chunks of the request fit
// on the candidates together; false if there is none. It goes from one instant to the next at which
// the number of chunks that fit on some slot changes. The reach x holds for each candidate a lower
// bound of the first such instant, so most candidates need not be looked at.
func (p *View) earliestOfMany(x *reach, r *Request, from, limit Time) (Time, bool) {
	if from >= limit {
		return 0, false
	}
	total := p.onIdle(x, r) // at all times
	if total >= r.Nodes {
		return from, true
	}
	changes := p.changes[:0]
	defer func() { p.changes = changes[:0] }()
	push := func(c slotChange) {
		if c.at < limit {
			changes = append(changes, c)
			changes.up(len(changes) - 1)
		}
	}
	// A place in the reach's heap stands for all candidates below it: their bounds are no lower.
	see := func(place int) {
		if place < len(x.heap) {
			push(slotChange{at: max(from, x.bound[x.heap[place]]), place: place, candidate: -1})
		}
	}
	looked := p.looked[:0]
	var found Time
	ok := false
	see(0)
	for len(changes) > 0 && !ok {
		p.GoOn()
		now := changes[0].at
		for len(changes) > 0 && changes[0].at == now { // all changes of the instant
			if total >= r.Nodes && changes[0].candidate < 0 {
				break // the candidates that were not looked at yet can only add to total
			}
			c := changes.pop()
			if c.candidate < 0 {
				i := x.heap[c.place]
				looked = append(looked, i)
				see(2*c.place + 1)
				see(2*c.place + 2)
				c.candidate, c.chunks = i, 0
			}
			id := x.candidates.Slots[c.candidate]
			if p.isIdle(id) {
				continue
			}
			n := p.chunksAt(id, r, now)
			total += n - c.chunks
			if next := p.nextChange(id, r, n, now, limit); next < limit {
				push(slotChange{at: next, candidate: c.candidate, chunks: n})
			}
		}
		found, ok = now, total >= r.Nodes
	}
	for _, i := range looked {
		p.tighten(x, i)
	}
	p.looked = looked
	return found, ok
}

// nextChange returns the first instant after now at which another number of chunks than n fits on
// the slot; limit if there is none before limit.
func (p *View) nextChange(id SlotID, r *Request, n int, now, limit Time) Time {
	next := limit
	if n < r.Nodes {
		if t, ok := p.earliestOn(id, r, n+1, now+1, limit); ok {
			next = t
		}
	}
	if n == 0 {
		return next
	}
	for k, need := range r.Chunk {
		if need == 0 {
			continue
		}
		if short, ok := p.slots[id].free[k].firstBelow(now, need*int64(n)); ok && (!r.bounded || short < r.until) {
			lead := r.Duration
			if r.ToEnd && short >= p.lasts(r, id) {
				lead = 1 // it fits until there
			}
			next = min(next, max(now+1, short-lead+1))
		}
	}
	return next
}

// slotChange is an instant at which the number of chunks that fit may change: on one candidate, or
// on any candidate at or below a place in the reach's heap that was not looked at yet.
type slotChange struct {
	at        Time
	place     int   // index in the reach's heap
	candidate int32 // -1: any at or below place
	chunks    int   // number that fitted on the candidate before
}

// slotChanges is a binary heap by time. Of equal times, changes on one candidate come first.
type slotChanges []slotChange

func (c *slotChange) before(d *slotChange) bool {
	return c.at < d.at || c.at == d.at && c.candidate >= 0 && d.candidate < 0
}

func (c slotChanges) up(i int) {
	for i > 0 && c[i].before(&c[(i-1)/2]) {
		c[i], c[(i-1)/2] = c[(i-1)/2], c[i]
		i = (i - 1) / 2
	}
}

func (c *slotChanges) pop() slotChange {
	s := *c
	first, n := s[0], len(s)-1
	s[0] = s[n]
	s = s[:n]
	*c = s
	for i := 0; ; {
		least := 2*i + 1
		if least >= n {
			return first
		}
		if least+1 < n && s[least+1].before(&s[least]) {
			least++
		}
		if !s[least].before(&s[i]) {
			return first
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
