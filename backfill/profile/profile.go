package profile

import (
	"slices"
)

// Profile holds what is free when, on every slot, for every resource: a [View] that answers
// questions, and the operations that change it.
type Profile struct{ View }

// View is the part of a profile that answers questions. It makes no change that a caller can see.
//
// Only one goroutine at a time may use it, even to ask, because it caches answers. A clone is
// independent of its origin.
type View struct {
	slots   []slot   // by SlotID
	bundles []bundle // by BundleID
	rows    []row    // by RowID
	rule    Rule     // chooses the slots of a placement
	owner   *owner
	places  int  // on how many slots the spans are, each span for itself
	ending  int  // number of slots that are up and have an end
	past    Time // the origin: instants before it do not matter
	from    Time // the origin or later: questions about earlier instants are rare

	limits      limits
	reaches     map[*Candidates][]*reach
	reached     int      // number of bounds in all reaches
	grown       []growth // freed room that is not yet applied to all reaches
	grownBefore int      // number of growths that were removed from the list
	changes     slotChanges
	idle        []bool     // by SlotID: all of the slot is free for all time; nil: not computed
	parts       *partition // which bundles share slots; nil: not computed
	sums        sums
	over        func() error // see BreakOff; nil: queries take as long as they need
	looked      []int32      // this and the next three are buffers of queries
	found       []host
	busy        set
	first       []Time
}

// slot is one slot with what is free on it in the future.
type slot struct {
	name     string
	up       bool
	capacity Vector
	end      Time      // from which on it has nothing; Forever: it has no end
	free     []steps   // by resource
	leads    leads     // what is occupied for jobs that begin only while more is free than they take
	single   Placement // one chunk on this slot, shared by all callers
}

// New returns a profile without slots. The rule chooses among the slots that could take a request.
func New(rule Rule) *Profile {
	return &Profile{View{rule: rule, owner: new(owner), past: -Forever, from: -Forever, limits: usualLimits()}}
}

// SetSlot adds the slot, or changes its name and capacity; it also brings a dropped slot back. The
// spans on the slot stay, and so does its end. IDs are dense: a new slot's ID is the number of slots so
// far, and it has no end; see [Profile.SetEnd].
func (p *Profile) SetSlot(id SlotID, name string, capacity Vector) {
	p.sums = nil
	if int(id) < len(p.slots) && name == p.slots[id].name && slices.Equal(capacity, p.slots[id].capacity) {
		p.raise(&p.slots[id])
		p.grew(id, p.past)
		p.look(id)
		return
	}
	p.forgetReaches()
	if int(id) == len(p.slots) {
		p.slots = append(p.slots, slot{
			name: name, up: true, capacity: capacity, end: Forever, free: make([]steps, len(capacity)),
			single: Placement{{Slot: id, Count: 1}},
		})
		for i, c := range capacity {
			p.slots[id].free[i].base = c
		}
		return
	}
	s := &p.slots[id]
	s.free = slices.Clone(s.free)
	p.cut(s, 1)
	for i, c := range capacity {
		s.free[i].isAnswered = false
		s.free[i].base += c - s.capacity[i]
	}
	s.name, s.capacity = name, capacity
	p.cut(s, -1)
	p.raise(s)
}

// DropLastSlot undoes the SetSlot that added the last slot. The slot must have no spans.
func (p *Profile) DropLastSlot() {
	p.sums = nil
	p.forgetReaches()
	p.lower(&p.slots[len(p.slots)-1])
	p.slots = p.slots[:len(p.slots)-1]
}

// DropSlot takes a slot away: no request fits there any more. Spans on it may still be removed.
// SetSlot brings it back.
func (p *Profile) DropSlot(id SlotID) {
	p.sums = nil
	p.lower(&p.slots[id])
	p.look(id)
}

// Up reports whether the slot exists and is not dropped.
func (p *View) Up(id SlotID) bool {
	return id >= 0 && int(id) < len(p.slots) && p.slots[id].up
}

// Forget drops what was free before now: from then on, only instants from now on may be asked about
// or changed. A slot's data before now is dropped when the slot changes next.
func (p *Profile) Forget(now Time) {
	p.past = max(p.past, now)
	p.from = max(p.from, now)
}

// AskFrom announces that the next queries are about instants from now on, which makes them faster.
// Queries about earlier instants are still answered, but slowly. Unlike after [Profile.Forget], a
// later call may name an earlier instant.
func (p *Profile) AskFrom(now Time) {
	if now < p.from {
		p.forgetReaches() // their bounds hold from p.from on only
	}
	p.from = max(p.past, now)
}

// Clone returns an independent copy. Both sides share data until one of them changes it.
func (p *View) Clone() *Profile {
	// Both sides get a new owner, so that each copies what it changes.
	p.owner = new(owner)
	c := &Profile{View{
		slots: slices.Clone(p.slots), bundles: slices.Clip(p.bundles), parts: p.parts,
		rule: p.rule, owner: new(owner), places: p.places, ending: p.ending, past: p.past, from: p.from, limits: p.limits, over: p.over,
	}}
	for i := range c.slots {
		c.slots[i].free = slices.Clone(c.slots[i].free)
	}
	c.rows, c.sums = slices.Clone(p.rows), slices.Clone(p.sums)
	return c
}

// Add occupies the placement's chunks during [start, end). It does not check whether they fit. If
// chunk is nil, each chunk is its whole slot.
func (p *Profile) Add(at Placement, chunk Vector, start, end Time) {
	p.places += len(at)
	p.shift(at, chunk, start, end, -1)
}

// Bytes returns about how much memory the spans take together with the placements that they were
// added with: in each slot a span is two changes of each resource, in nodes that are half full.
func (p *Profile) Bytes() int64 {
	if len(p.slots) == 0 {
		return 0
	}
	const placed, changed = 16, 64
	return int64(p.places) * int64(placed+changed*len(p.slots[0].free))
}

// Remove frees what Add with the same arguments occupied.
func (p *Profile) Remove(at Placement, chunk Vector, start, end Time) {
	p.places -= len(at)
	p.shift(at, chunk, start, end, 1)
}

// shift adds the chunks to what is free during [start, end) if sign is 1, and subtracts them if
// sign is -1. Time before the origin is ignored.
func (p *Profile) shift(at Placement, chunk Vector, start, end Time, sign int64) {
	start = max(start, p.past)
	if start >= end {
		for _, c := range at { // the span may have been the last on its slot, which is idle then
			p.look(c.Slot)
		}
		return
	}
	together := int64(0) // chunks on slots that are up
	for _, c := range at {
		s := &p.slots[c.Slot]
		free, amounts := s.free, chunk
		if chunk == nil {
			amounts = s.capacity
		}
		switch {
		case p.sums == nil || !s.up:
		case chunk == nil:
			p.addToSums(amounts, sign*int64(c.Count), start, end)
		default:
			together += int64(c.Count)
		}
		for k, amount := range amounts {
			if amount != 0 {
				free[k].forget(p.owner, p.past)
				free[k].shiftSpan(p.owner, p.past, start, end, sign*amount*int64(c.Count))
			}
		}
		if sign > 0 {
			p.grew(c.Slot, start)
		}
		p.look(c.Slot)
	}
	if together > 0 {
		p.addToSums(chunk, sign*together, start, end)
	}
}

// shiftSpan is [steps.add], but if the span begins at the origin past or earlier, it changes the
// base value instead of adding a change at start, which would never be dropped.
func (s *steps) shiftSpan(o *owner, past, start, end Time, amount int64) {
	switch {
	case start > past:
		s.add(o, start, end, amount)
		return
	case end <= past:
		return
	}
	s.isAnswered = false
	s.base += amount
	if end < Forever {
		s.add(o, end, Forever, -amount)
	}
}

// EarliestFit returns the earliest start, not before notBefore, that lies in a window of each slot
// used and at which the request fits for all of its duration, and the placement that the profile's [Rule] chooses then. It returns false if
// the request fits at no time.
func (p *View) EarliestFit(r Request, notBefore Time) (Time, Placement, bool) {
	return p.EarliestFitBefore(r, notBefore, Forever)
}

// EarliestFitBefore is EarliestFit with a search that ends before limit: it returns false if the
// request fits only at limit or later, or never.
func (p *View) EarliestFitBefore(r Request, notBefore, limit Time) (Time, Placement, bool) {
	start, ok := p.earliestStart(r, notBefore, limit)
	if !ok {
		return 0, nil, false
	}
	at, ok := p.Place(r, start)
	return start, at, ok
}

// EarliestAhead is for a request that has a place from start on, and might start earlier. It
// returns the first instant in [notBefore, limit) from which the request fits for its duration or
// until start, whichever ends first; limit is at most start. The request can have no earlier start,
// and none before limit if the result is false. On a single slot it can really start at that
// instant, as from start on it uses its own place.
func (p *View) EarliestAhead(r Request, start, notBefore, limit Time) (Time, bool) {
	r.until, r.bounded = start, true
	return p.earliestStart(r, notBefore, limit)
}

// earliestStart returns the first instant in [from, limit) at which all chunks of the request fit,
// and false if there is none.
func (p *View) earliestStart(r Request, from, limit Time) (Time, bool) {
	p.GoOn()
	if r.Takes != nil {
		return p.earliestInBoth(&r, from, limit)
	}
	return p.earliestOnSlots(&r, from, limit)
}

// earliestOnSlots is [View.earliestStart] without what the request takes of rows.
func (p *View) earliestOnSlots(r *Request, from, limit Time) (Time, bool) {
	if r.Candidates.Windows != nil || r.Candidates.Least != nil || r.Whole && p.toEnd(r) {
		return p.earliestOpen(r, from, limit)
	}
	if r.Whole {
		return p.earliestBundle(r, from, limit)
	}
	if len(r.Candidates.Slots) == 1 {
		return p.earliestOn(r.Candidates.Slots[0], r, r.Nodes, from, limit)
	}
	if x := p.reach(r, from); x != nil {
		return p.earliestOfMany(x, r, from, limit)
	}
	for from < limit {
		p.GoOn()
		// The number of chunks that fit a slot can rise only when one more
		// begins to fit. Until the first such instant, the total cannot be
		// higher than it is at from.
		total, next := 0, limit
		for _, id := range r.Candidates.Slots {
			n := p.chunksAt(id, r, from)
			if total += n; total >= r.Nodes {
				return from, true
			}
			if t, ok := p.earliestOn(id, r, n+1, from, next); ok {
				next = t
			}
		}
		from = next
	}
	return 0, false
}

// chunksAt returns how many chunks of the request fit the slot from start on, at most r.Nodes.
func (p *View) chunksAt(id SlotID, r *Request, start Time) int {
	if !p.Up(id) {
		return 0
	}
	n := int64(r.Nodes)
	for k, need := range r.Chunk {
		if need == 0 {
			continue
		}
		free := &p.slots[id].free[k]
		if free.value(start) < need { // mostly that is enough to know
			return 0
		}
		n = min(n, max(0, free.min(start, p.end(r, id, start)))/need)
	}
	return int(n)
}

// earliestOn returns the first start in [from, limit) at which the given number of chunks fits the
// slot for the request's duration, and false if there is none.
func (p *View) earliestOn(id SlotID, r *Request, chunks int, from, limit Time) (Time, bool) {
	if !p.Up(id) || chunksWithin(p.slots[id].capacity, r.Chunk, chunks) < chunks {
		return 0, false
	}
	return p.earliestIn(p.slots[id].free, id, r, chunks, from, limit)
}

// earliestIn is [View.earliestOn] for a slot, or for all together, of which the step functions by resource
// are given.
func (p *View) earliestIn(resources []steps, id SlotID, r *Request, chunks int, from, limit Time) (Time, bool) {
	start := from
	// Resources are asked in turn until each has enough from the start on that the last of them needed.
	for k, enough := 0, 0; enough < len(r.Chunk); k++ {
		if k == len(r.Chunk) {
			k = 0
		}
		enough++
		need := r.Chunk[k] * int64(chunks)
		if need == 0 {
			continue
		}
		free := &resources[k]
		if start+1 >= limit && free.value(start) < need {
			return 0, false
		}
		// No start up to the last short instant can do, as the request would last until then.
		end := p.end(r, id, start)
		short, again, found := free.lastBelow(start, end, need)
		if !found {
			continue
		}
		if short+1 >= limit || again == Forever && end >= limit {
			return 0, false
		}
		if again == Forever {
			again, found = free.nextAtLeast(short, need)
		}
		if start = again; !found || start >= limit {
			return 0, false
		}
		if enough = 0; p.end(r, id, start) <= end { // as ever if a job moves a little
			enough = 1
		}
	}
	return start, start < limit
}

// hosts reports whether the given number of chunks is free on the slot during [start, end).
func (s *slot) hosts(chunk Vector, chunks int, start, end Time) bool {
	for k, need := range chunk {
		if need > 0 && s.free[k].min(start, end)/need < int64(chunks) { // dividing, as the product may overflow
			return false
		}
	}
	return true
}

// chunksWithin returns how many chunks fit an amount of resources, at most limit.
func chunksWithin(amount, chunk Vector, limit int) int {
	n := int64(limit)
	for k, need := range chunk {
		if need > 0 {
			n = min(n, max(0, amount[k])/need)
		}
	}
	return int(n)
}
