package profile

import "slices"

// Window is when jobs may begin on a candidate: from From until before To, which is Forever if that
// does not end. They may run on after To. The windows of a candidate are ascending and do not touch
// each other.
type Window struct{ From, To Time }

// Unforeseen is the only window of a candidate that is closed, and of which nobody can tell when it opens:
// it lies before all time.
func Unforeseen() Window { return Window{From: -Forever, To: 1 - Forever} }

// endAfter returns the index of the first window that ends after an instant.
func endAfter(all []Window, t Time) int {
	if len(all) > 0 && t < all[0].To { // mostly: it is the only one, or those before it are forgotten
		return 0
	}
	i, _ := slices.BinarySearchFunc(all, t, func(w Window, t Time) int {
		if w.To <= t {
			return -1
		}
		return 1
	})
	return i
}

// within returns the windows of the i-th candidate; empty: it is always open.
func (c *Candidates) within(i int) []Window {
	if c.Windows == nil {
		return nil
	}
	return c.Windows[i]
}

// Open reports whether a job may begin on the i-th candidate at an instant, as far as its windows
// say.
func (c *Candidates) Open(i int, t Time) bool {
	all := c.within(i)
	if len(all) == 0 {
		return true
	}
	n := endAfter(all, t)
	return n < len(all) && all[n].From <= t
}

// opens reports whether the slot is a candidate that is open at an instant.
func (c *Candidates) opens(id SlotID, t Time) bool {
	if c.Windows == nil {
		return c.Has(id)
	}
	i, found := slices.BinarySearch(c.Slots, id)
	return found && c.Open(i, t)
}

// opensBundle reports whether the bundle is a candidate that is open at an instant.
func (c *Candidates) opensBundle(id BundleID, t Time) bool {
	if c.Windows == nil {
		return c.HasBundle(id)
	}
	i, found := slices.BinarySearch(c.Bundles, id)
	return found && c.Open(i, t)
}

// Of returns the windows of a slot that is a candidate; nil: it is always open.
func (c *Candidates) Of(id SlotID) []Window {
	if c.Windows == nil {
		return nil
	}
	if i, found := slices.BinarySearch(c.Slots, id); found {
		return c.Windows[i]
	}
	return nil
}

// OpenAt returns the candidates that are open at an instant, without windows: the same ones if all
// are always open.
func (c *Candidates) OpenAt(t Time) *Candidates {
	if c.Windows == nil {
		return c
	}
	open := &Candidates{}
	for i := range c.Windows {
		if !c.Open(i, t) {
			continue
		}
		if c.Slots != nil {
			open.Slots = append(open.Slots, c.Slots[i])
		} else {
			open.Bundles = append(open.Bundles, c.Bundles[i])
		}
		if c.Rank != nil {
			open.Rank = append(open.Rank, c.Rank[i])
		}
		if c.Least != nil {
			open.Least = append(open.Least, c.Least[i])
		}
	}
	return open
}

// NextOpening returns the first instant after t at which a candidate opens; Forever if none does.
func (c *Candidates) NextOpening(t Time) Time {
	next := Forever
	var last *Window // of the entry before: neighbours mostly share theirs
	for _, all := range c.Windows {
		if len(all) == 0 || &all[0] == last {
			continue
		}
		last = &all[0]
		if n := endAfter(all, t); n < len(all) && all[n].From > t {
			next = min(next, all[n].From)
		} else if n+1 < len(all) {
			next = min(next, all[n+1].From)
		}
	}
	return next
}

// Closes returns the first instant from which on no candidate is open any more; Forever if there is
// none, and -Forever if there are no candidates.
func (c *Candidates) Closes() Time {
	if c.Windows == nil && len(c.Slots)+len(c.Bundles) > 0 {
		return Forever
	}
	last := -Forever
	for _, all := range c.Windows {
		if len(all) == 0 {
			return Forever
		}
		last = max(last, all[len(all)-1].To)
	}
	return last
}

// Opens reports whether a placement lies only on candidates of the request that are open at start:
// [View.Covers] with windows.
func (p *View) Opens(r Request, at Placement, start Time) bool {
	if r.Whole {
		id, ok := p.BundleAt(at)
		return ok && r.Candidates.opensBundle(id, start)
	}
	return !slices.ContainsFunc(at, func(c Chunks) bool { return !r.Candidates.opens(c.Slot, start) })
}

// earliestOpen is [View.earliestStart] for candidates that have windows, or need more free than a chunk: the first instant in
// [from, limit) that lies in a window of each candidate used and at which all chunks fit. It looks
// at every candidate.
func (p *View) earliestOpen(r *Request, from, limit Time) (Time, bool) {
	switch {
	case from >= limit:
		return 0, false
	case r.Whole:
		return p.firstOpen(len(r.Candidates.Bundles), from, limit, func(i int, limit Time) (Time, bool) {
			return p.earliestOpenBundle(i, r, from, limit)
		})
	case len(r.Candidates.Slots) == 1:
		return p.earliestOpenOn(0, r, r.Nodes, from, limit)
	case r.Nodes == 1:
		return p.firstOpen(len(r.Candidates.Slots), from, limit, func(i int, limit Time) (Time, bool) {
			return p.earliestOpenOn(i, r, 1, from, limit)
		})
	default:
		return p.earliestOpenOfMany(r, from, limit)
	}
}

// firstOpen returns the earliest of the first starts on n candidates, each of which the callback
// finds in [from, limit) for a limit; false if there is none.
func (p *View) firstOpen(n int, from, limit Time, on func(i int, limit Time) (Time, bool)) (first Time, ok bool) {
	first = limit
	for i := range n {
		if p.GoOn(); first == from {
			break
		}
		if t, fits := on(i, first); fits {
			first = t
		}
	}
	return first, first < limit
}

// earliestOpenOn is [View.earliestOn] for the i-th candidate, within its windows.
func (p *View) earliestOpenOn(i int, r *Request, chunks int, from, limit Time) (Time, bool) {
	all := r.Candidates.within(i)
	if len(all) == 0 {
		return p.earliestOf(i, r, chunks, from, limit)
	}
	for _, w := range all[endAfter(all, from):] {
		if w.From >= limit {
			break
		}
		if t, ok := p.earliestOf(i, r, chunks, max(from, w.From), min(limit, w.To)); ok {
			return t, true
		}
	}
	return 0, false
}

// earliestOpenBundle returns the first start in [from, limit), within its windows, at which the i-th
// candidate bundle is free for the request's duration; false if there is none.
func (p *View) earliestOpenBundle(i int, r *Request, from, limit Time) (Time, bool) {
	id, all := r.Candidates.Bundles[i], r.Candidates.within(i)
	if !p.bundleUp(id) {
		return 0, false
	}
	if p.toEnd(r) {
		r = r.onBundle(p, id)
	}
	if len(all) == 0 {
		t := p.bundleFrom(&p.bundles[id], r, from, limit)
		return t, t < limit
	}
	for _, w := range all[endAfter(all, from):] {
		if w.From >= limit {
			break
		}
		end := min(limit, w.To)
		if t := p.bundleFrom(&p.bundles[id], r, max(from, w.From), end); t < end {
			return t, true
		}
	}
	return 0, false
}

// earliestOpenOfMany returns the first instant in [from, limit) at which all of several chunks fit
// on open candidates together; false if there is none. Like [View.earliestOfMany] it goes from one
// instant to the next at which the number of chunks that fit on some candidate changes.
func (p *View) earliestOpenOfMany(r *Request, from, limit Time) (Time, bool) {
	changes := p.changes[:0]
	defer func() { p.changes = changes[:0] }()
	push := func(at Time, i, chunks int) {
		changes = append(changes, slotChange{at: at, candidate: int32(i), chunks: chunks})
		changes.up(len(changes) - 1)
	}
	for i := range r.Candidates.Slots {
		if t, ok := p.earliestOpenOn(i, r, 1, from, limit); ok {
			push(t, i, 0)
		}
	}
	for total := 0; len(changes) > 0; {
		p.GoOn()
		now := changes[0].at
		for len(changes) > 0 && changes[0].at == now { // all changes of the instant
			c := changes.pop()
			i, n := int(c.candidate), 0
			if r.Candidates.Open(i, now) {
				n = p.chunksOf(i, r, now)
			}
			total += n - c.chunks
			if next := p.nextOpenChange(i, r, n, now, limit); next < limit {
				push(next, i, n)
			}
		}
		if total >= r.Nodes {
			return now, true
		}
	}
	return 0, false
}

// nextOpenChange returns the first instant after now at which another number of chunks than n, which
// fits now, fits on the i-th candidate within its windows; limit if there is none before limit.
func (p *View) nextOpenChange(i int, r *Request, n int, now, limit Time) Time {
	if n == 0 {
		if t, ok := p.earliestOpenOn(i, r, 1, now+1, limit); ok {
			return t
		}
		return limit
	}
	end := limit // of the window that is open now
	if all := r.Candidates.within(i); len(all) > 0 {
		end = min(end, all[endAfter(all, now)].To)
	}
	if n < r.Nodes {
		if t, ok := p.earliestOf(i, r, n+1, now+1, end); ok {
			end = t
		}
	}
	return p.lessFrom(i, r, n, now, p.nextLess(r.Candidates.Slots[i], r, n, now, end))
}
