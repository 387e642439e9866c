package profile

import (
	"fmt"
	"slices"
)

// Profile is what is free when, on every slot, for every resource: a [View] that answers
// questions, and the operations that change it.
type Profile struct{ View }

// View is the part of a profile that answers questions and changes nothing that can be seen.
//
// Only one goroutine at a time may use it, even to ask, because it remembers answers; a clone
// is independent of its origin.
type View struct {
	slots   []slot   // by SlotID
	bundles []bundle // by BundleID
	rule    Rule
	owner   *owner
	past    Time // the origin: instants before it do not matter
	from    Time // the origin or later: questions about earlier instants are rare

	limits      limits
	reaches     map[*Candidates][]*reach
	reached     int      // bounds in all of them
	grown       []growth // not yet applied to all reaches
	grownBefore int      // and how many there were before
	changes     slotChanges
	idle        []bool     // by SlotID: what the reaches pass by; nil if there are none
	parts       *partition // nil: not made yet
	looked      []int32    // room for what questions need
	found       []host
	busy        set
	first       []Time
}

// slot is one slot's future.
type slot struct {
	name     string
	up       bool
	capacity Vector
	free     []steps   // by resource
	single   Placement // one chunk here, shared by all who need it
}

// New returns a profile without slots. The rule says how it places requests
// when several slots could host them.
func New(rule Rule) *Profile {
	return &Profile{View{rule: rule, owner: new(owner), past: -Forever, from: -Forever, limits: usualLimits()}}
}

// SetSlot adds the slot, or gives it another name and capacity; what occupies it
// stays.
// IDs are dense: a new slot's ID is the number of slots so far.
func (p *Profile) SetSlot(id SlotID, name string, capacity Vector) {
	if int(id) < len(p.slots) && name == p.slots[id].name && slices.Equal(capacity, p.slots[id].capacity) {
		p.slots[id].up = true
		p.grew(id, p.past)
		p.look(id)
		return
	}
	p.forgetReaches()
	if int(id) == len(p.slots) {
		p.slots = append(p.slots, slot{
			name: name, up: true, capacity: capacity, free: make([]steps, len(capacity)),
			single: Placement{{Slot: id, Count: 1}},
		})
		for i, c := range capacity {
			p.slots[id].free[i].base = c
		}
		return
	}
	s := &p.slots[id]
	s.free = slices.Clone(s.free)
	for i, c := range capacity {
		s.free[i].isAnswered = false
		s.free[i].base += c - s.capacity[i]
	}
	s.name, s.capacity, s.up = name, capacity, true
}

// DropLastSlot undoes the SetSlot that added the last slot. Nothing may be
// planned on it.
func (p *Profile) DropLastSlot() {
	p.forgetReaches()
	p.slots = p.slots[:len(p.slots)-1]
}

// DropSlot takes a slot away: nothing fits there any more. Spans on it may
// still be removed. SetSlot brings it back.
func (p *Profile) DropSlot(id SlotID) {
	p.slots[id].up = false
	p.look(id)
}

// Up reports whether the slot exists and is not dropped.
func (p *View) Up(id SlotID) bool {
	return id >= 0 && int(id) < len(p.slots) && p.slots[id].up
}

// Forget drops the time before now: later questions and changes concern now and after. A slot drops
// its past when it changes next.
func (p *Profile) Forget(now Time) {
	p.past = max(p.past, now)
	p.from = max(p.from, now)
}

// AskFrom says that the next questions concern now and after, so that no time is spent on earlier
// instants. Earlier questions are still answered, but slowly. Unlike [Profile.Forget] it can be
// taken back.
func (p *Profile) AskFrom(now Time) {
	if now < p.from {
		p.forgetReaches() // what they know begins later
	}
	p.from = max(p.past, now)
}

// Clone returns a copy which shares all that neither side changes.
func (p *View) Clone() *Profile {
	// Both sides get a new owner, so that each copies what it changes.
	p.owner = new(owner)
	c := &Profile{View{
		slots: slices.Clone(p.slots), bundles: slices.Clip(p.bundles), parts: p.parts,
		rule: p.rule, owner: new(owner), past: p.past, from: p.from, limits: p.limits,
	}}
	for i := range c.slots {
		c.slots[i].free = slices.Clone(c.slots[i].free)
	}
	return c
}

// Add occupies the placement's chunks during [start, end). It does not ask
// whether they fit. Without a vector each chunk is all that its slot has.
func (p *Profile) Add(at Placement, chunk Vector, start, end Time) {
	p.shift(at, chunk, start, end, -1)
}

// Remove gives back what Add occupied.
func (p *Profile) Remove(at Placement, chunk Vector, start, end Time) {
	p.shift(at, chunk, start, end, 1)
}

func (p *Profile) shift(at Placement, chunk Vector, start, end Time, sign int64) {
	start = max(start, p.past)
	if start >= end {
		for _, c := range at { // maybe it was the last that the slot keeps of the past
			p.look(c.Slot)
		}
		return
	}
	for _, c := range at {
		s := &p.slots[c.Slot]
		free, amounts := s.free, chunk
		if chunk == nil {
			amounts = s.capacity
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
}

// shiftSpan is add, but a span that begins in the forgotten past, or at its edge, changes the base
// instead of adding a change that would never be dropped.
func (s *steps) shiftSpan(o *owner, past, start, end Time, amount int64) {
	if start > past {
		s.add(o, start, end, amount)
		return
	}
	s.isAnswered = false
	s.base += amount
	if end < Forever {
		s.add(o, end, Forever, -amount)
	}
}

// Free is the amount of each resource that is free on the slot at t; it may be
// negative where jobs stay longer than planned.
func (p *View) Free(id SlotID, t Time) Vector {
	free := make(Vector, len(p.slots[id].free))
	for k := range free {
		free[k] = p.slots[id].free[k].value(t)
	}
	return free
}

// FreeOf is [View.Free] for one resource.
func (p *View) FreeOf(id SlotID, resource int, t Time) int64 {
	return p.slots[id].free[resource].value(t)
}

// Overfull reports whether more than the slot's capacity is planned at some
// time from t on.
func (p *View) Overfull(id SlotID, t Time) bool {
	for k := range p.slots[id].free {
		if p.slots[id].free[k].min(t, Forever) < 0 {
			return true
		}
	}
	return false
}

// Fits reports whether the placement is one of the request's (its slots are up
// and among the candidates, its chunks are all there, once; or it is all of a
// candidate bundle) and is free during [start, start+Duration).
func (p *View) Fits(r Request, at Placement, start Time) bool {
	return p.Misfit(r, at, start) == nil
}

// Misfit says why the placement does not fit, or nil if it does.
func (p *View) Misfit(r Request, at Placement, start Time) error {
	if r.Whole {
		return p.misfitWhole(r, at, start)
	}
	count := 0
	for i, c := range at {
		switch {
		case !p.Up(c.Slot):
			return fmt.Errorf("slot %d is not there", c.Slot)
		case c.Count <= 0 || c.Count > r.Nodes:
			return fmt.Errorf("%d chunks on slot %s: the job has %d", c.Count, p.slots[c.Slot].name, r.Nodes)
		case !r.Candidates.Has(c.Slot):
			return fmt.Errorf("slot %s is no candidate of the job", p.slots[c.Slot].name)
		case slices.ContainsFunc(at[:i], func(o Chunks) bool { return o.Slot == c.Slot }):
			return fmt.Errorf("slot %s is named twice", p.slots[c.Slot].name)
		case !p.slots[c.Slot].hosts(r.Chunk, c.Count, start, start+r.Duration):
			return fmt.Errorf("%d chunks of %v are not free on slot %s during [%d, %d)", c.Count, r.Chunk,
				p.slots[c.Slot].name, start, start+r.Duration)
		}
		count += c.Count
	}
	if count != r.Nodes {
		return fmt.Errorf("%d chunks are placed, the job has %d", count, r.Nodes)
	}
	return nil
}

// EverFits reports whether the request would fit an empty pool.
func (p *View) EverFits(r Request) bool {
	if r.Whole {
		return slices.ContainsFunc(r.Candidates.Bundles, p.bundleUp)
	}
	chunks := 0
	for _, id := range r.Candidates.Slots {
		if p.Up(id) {
			chunks += chunksWithin(p.slots[id].capacity, r.Chunk, r.Nodes-chunks)
		}
		if chunks == r.Nodes { // mostly the first slot will do
			return true
		}
	}
	return false
}

// EarliestFit finds the earliest start, not before notBefore, at which the
// request fits during all of its duration, and the placement that the rule
// chooses there. It is false if the request fits at no time.
func (p *View) EarliestFit(r Request, notBefore Time) (Time, Placement, bool) {
	return p.EarliestFitBefore(r, notBefore, Forever)
}

// EarliestFitBefore is EarliestFit, but the search ends at limit: it is false if the request fits
// only there or later.
func (p *View) EarliestFitBefore(r Request, notBefore, limit Time) (Time, Placement, bool) {
	start, ok := p.earliestStart(r, notBefore, limit)
	if !ok {
		return 0, nil, false
	}
	at, ok := p.Place(r, start)
	return start, at, ok
}

// EarliestAhead is the earliest start in [notBefore, limit) at which a request
// that has a place from start on would fit as long as that does not matter, that
// is until start; limit is at most start. No earlier start is possible, and none
// at all if there is no such. On a single slot it is possible: from start on the
// request stands on its own place.
func (p *View) EarliestAhead(r Request, start, notBefore, limit Time) (Time, bool) {
	r.until, r.bounded = start, true
	return p.earliestStart(r, notBefore, limit)
}

// earliestStart is the first instant in [from, limit) at which enough chunks
// fit.
func (p *View) earliestStart(r Request, from, limit Time) (Time, bool) {
	if r.Whole {
		return p.earliestBundle(&r, from, limit)
	}
	if len(r.Candidates.Slots) == 1 {
		return p.earliestOn(r.Candidates.Slots[0], &r, r.Nodes, from, limit)
	}
	if x := p.reach(&r, from); x != nil {
		return p.earliestOfMany(x, &r, from, limit)
	}
	for from < limit {
		// The number of chunks that fit a slot can rise only where one more
		// begins to fit; until the first such instant the total cannot reach
		// what it did not reach at from.
		total, next := 0, limit
		for _, id := range r.Candidates.Slots {
			n := p.chunksAt(id, &r, from)
			if total += n; total >= r.Nodes {
				return from, true
			}
			if t, ok := p.earliestOn(id, &r, n+1, from, next); ok {
				next = t
			}
		}
		from = next
	}
	return 0, false
}

// chunksAt is how many chunks of the request fit the slot from start on, at
// most r.Nodes.
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
		n = min(n, max(0, free.min(start, r.end(start)))/need)
	}
	return int(n)
}

// earliestOn is the first start in [from, limit) at which so many chunks of the
// request fit the slot during all of the duration.
func (p *View) earliestOn(id SlotID, r *Request, chunks int, from, limit Time) (Time, bool) {
	if !p.Up(id) || chunksWithin(p.slots[id].capacity, r.Chunk, chunks) < chunks {
		return 0, false
	}
	start := from
	for start < limit {
		blocked := false
		for k, need := range r.Chunk {
			need *= int64(chunks)
			if need == 0 {
				continue
			}
			free := &p.slots[id].free[k]
			short, found := free.firstBelow(start, need)
			if !found || short >= r.end(start) {
				continue
			}
			if short+1 >= limit {
				return 0, false
			}
			again, found := free.nextAtLeast(short, need)
			if !found || again >= limit {
				return 0, false
			}
			start, blocked = again, true
		}
		if !blocked {
			return start, true
		}
	}
	return 0, false
}

// hosts reports whether so many chunks are free on the slot during [start, end).
func (s *slot) hosts(chunk Vector, chunks int, start, end Time) bool {
	for k, need := range chunk {
		if need > 0 && s.free[k].min(start, end)/need < int64(chunks) { // dividing, as the product may overflow
			return false
		}
	}
	return true
}

// chunksWithin is how many chunks fit an amount, at most limit.
func chunksWithin(amount, chunk Vector, limit int) int {
	n := int64(limit)
	for k, need := range chunk {
		if need > 0 {
			n = min(n, max(0, amount[k])/need)
		}
	}
	return int(n)
}
