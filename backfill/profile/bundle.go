package profile

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// bundle is a set of slots that one job takes whole. It is never changed.
type bundle struct {
	name  string
	slots []SlotID
	at    Placement // one chunk on each slot; shared, not to be changed
}

// partition says which bundles contain a slot and which bundles share one. It is computed from the
// bundles alone and never changed, so clones share it.
type partition struct {
	slots     []SlotID // of all bundles, ascending
	on        []set    // by SlotID: the bundles that contain the slot; nil if none
	conflicts []set    // by BundleID: the other bundles that share a slot with it
}

// set is a set of bundles, with a bit for each BundleID.
type set []uint64

func (s set) has(id BundleID) bool { return s[id/64]>>(id%64)&1 == 1 }
func (s set) add(id BundleID)      { s[id/64] |= 1 << (id % 64) }
func (s set) remove(id BundleID)   { s[id/64] &^= 1 << (id % 64) }

// addAll adds all bundles of the set o.
func (s set) addAll(o set) {
	for i, word := range o {
		s[i] |= word
	}
}

// AddBundle adds a bundle of slots, which are in ascending order and may be added to the profile
// later. The bundle's ID is the number of bundles before it. From then on its slots must keep their
// capacity, also when they are dropped and return.
func (p *Profile) AddBundle(name string, slots []SlotID) {
	b := bundle{name: name, slots: slots, at: make(Placement, len(slots))}
	for i, id := range slots {
		b.at[i] = Chunks{Slot: id, Count: 1}
	}
	p.bundles = append(slices.Clip(p.bundles), b) // in a new array, as clones share the old one
	p.parts = nil
}

// DropLastBundle undoes the last AddBundle.
func (p *Profile) DropLastBundle() {
	p.bundles = p.bundles[:len(p.bundles)-1]
	p.parts = nil
}

// partition returns which bundles contain a slot and which share one. It computes this once.
func (p *View) partition() *partition {
	if p.parts != nil {
		return p.parts
	}
	x := &partition{conflicts: make([]set, len(p.bundles))}
	words := (len(p.bundles) + 63) / 64
	for id, b := range p.bundles {
		for _, slot := range b.slots {
			for int(slot) >= len(x.on) {
				x.on = append(x.on, nil)
			}
			if x.on[slot] == nil {
				x.on[slot] = make(set, words)
				x.slots = append(x.slots, slot)
			}
			x.on[slot].add(BundleID(id))
		}
	}
	slices.Sort(x.slots)
	for id, b := range p.bundles {
		x.conflicts[id] = make(set, words)
		for _, slot := range b.slots {
			x.conflicts[id].addAll(x.on[slot])
		}
		x.conflicts[id].remove(BundleID(id))
	}
	p.parts = x
	return x
}

// BundleAt returns the bundle whose slots the placement occupies, with one chunk on each. It
// returns false if there is no such bundle.
func (p *View) BundleAt(at Placement) (BundleID, bool) {
	if len(at) == 0 || len(p.bundles) == 0 {
		return 0, false
	}
	x := p.partition()
	if first := at[0].Slot; first < 0 || int(first) >= len(x.on) {
		return 0, false
	}
	for word, rest := range x.on[at[0].Slot] {
		for ; rest != 0; rest &= rest - 1 {
			id := BundleID(word*64 + bits.TrailingZeros64(rest))
			if p.bundles[id].at.Equal(at) {
				return id, true
			}
		}
	}
	return 0, false
}

// InBundle reports whether the slot is part of some bundle.
func (p *View) InBundle(slot SlotID) bool {
	on := p.partition().on
	return slot >= 0 && int(slot) < len(on) && on[slot] != nil
}

// Covers reports whether a placement lies only on candidates of the request: on candidate slots or,
// if the job takes bundles, exactly on one candidate bundle.
func (p *View) Covers(r Request, at Placement) bool {
	if !r.Whole {
		return r.Candidates.Cover(at)
	}
	id, ok := p.BundleAt(at)
	return ok && r.Candidates.HasBundle(id)
}

// MayUse reports whether the slot is a candidate of the request, or part of a candidate bundle.
func (p *View) MayUse(r Request, slot SlotID) bool {
	if !r.Whole {
		return r.Candidates.Has(slot)
	}
	return p.InBundle(slot) && slices.ContainsFunc(r.Candidates.Bundles, func(id BundleID) bool {
		return p.isBundle(id) && p.partition().on[slot].has(id)
	})
}

// isBundle reports whether a bundle has this ID. Candidates may name bundles that are yet to be
// added.
func (p *View) isBundle(id BundleID) bool { return id >= 0 && int(id) < len(p.bundles) }

// misfitWhole is [View.Misfit] for a request that takes a bundle.
func (p *View) misfitWhole(r Request, at Placement, start Time) error {
	id, ok := p.BundleAt(at)
	switch {
	case !ok:
		return fmt.Errorf("the job takes one bundle whole, and %v is none", at)
	case !r.Candidates.HasBundle(id):
		return fmt.Errorf("bundle %s is no candidate of the job", p.bundles[id].name)
	case !r.Candidates.opensBundle(id, start):
		return fmt.Errorf("on bundle %s the job may not begin at %d", p.bundles[id].name, start)
	}
	r.bundle = p.bundleEnd(id)
	for _, c := range at {
		switch {
		case !p.Up(c.Slot):
			return fmt.Errorf("slot %d of bundle %s is not there", c.Slot, p.bundles[id].name)
		case !p.wholeAt(c.Slot, &r, start):
			return fmt.Errorf("slot %s of bundle %s is not all free during [%d, %d)", p.slots[c.Slot].name,
				p.bundles[id].name, start, p.Ends().Run(r, at, start))
		}
	}
	return nil
}

// bundleUp reports whether all of the bundle's slots are up.
func (p *View) bundleUp(id BundleID) bool {
	return p.isBundle(id) && !slices.ContainsFunc(p.bundles[id].slots, func(slot SlotID) bool { return !p.Up(slot) })
}

// wholeAt reports whether the slot is up and all of it is free from start on, for the request's
// duration.
func (p *View) wholeAt(id SlotID, r *Request, start Time) bool {
	if !p.Up(id) {
		return false
	}
	s := &p.slots[id]
	for k, all := range s.capacity {
		free := &s.free[k]
		if all > 0 && (free.value(start) < all || free.min(start, p.end(r, id, start)) < all) {
			return false
		}
	}
	return true
}

// placeBundle chooses one of the candidate bundles that are free from start on for the request's
// duration, and returns its placement; false if none is. It prefers the one on which a
// request that may run to its end may run longest; then the highest rank, if the rule is ByRank; then
// the bundle that shares a slot with the fewest other free bundles; then the first by name.
func (p *View) placeBundle(r *Request, start Time) (Placement, bool) {
	if p.toEnd(r) {
		return p.placeBundleToEnd(r, start)
	}
	if !slices.ContainsFunc(r.Candidates.Bundles, func(id BundleID) bool { // a cheap test that often suffices
		return p.isBundle(id) && p.Up(p.bundles[id].slots[0]) && p.wholeAt(p.bundles[id].slots[0], r, start)
	}) {
		return nil, false
	}
	return p.firstBundle(r, start, p.freeBundles(p.partition(), r, start))
}

// firstBundle is placeBundle for bundles that are free.
func (p *View) firstBundle(r *Request, start Time, free set) (Placement, bool) {
	x := p.partition()
	best, bestRank, bestBlocks, longest := BundleID(-1), int32(0), 0, Time(0)
	for i, id := range r.Candidates.Bundles {
		if !p.isBundle(id) || !free.has(id) || !r.Candidates.Open(i, start) {
			continue
		}
		if p.toEnd(r) {
			lasts := min(r.Duration, p.bundleEnd(id)-start)
			if lasts < longest {
				continue
			}
			if lasts > longest {
				best, longest = -1, lasts
			}
		}
		rank := int32(0)
		if p.rule == ByRank && r.Candidates.Rank != nil {
			rank = r.Candidates.Rank[i]
		}
		if best >= 0 && rank < bestRank {
			continue
		}
		blocks := 0
		for word, others := range x.conflicts[id] {
			blocks += bits.OnesCount64(others & free[word])
		}
		if best < 0 || rank > bestRank || blocks < bestBlocks ||
			blocks == bestBlocks && strings.Compare(p.bundles[id].name, p.bundles[best].name) < 0 {
			best, bestRank, bestBlocks = id, rank, blocks
		}
	}
	if best < 0 {
		return nil, false
	}
	return p.bundles[best].at, true
}

// freeBundles returns the set of all bundles that are free from start on, for the request's
// duration. The partition x says which slots are in which bundle. The set is valid until the next
// query.
func (p *View) freeBundles(x *partition, r *Request, start Time) set {
	words := (len(p.bundles) + 63) / 64
	busy := append(p.busy[:0], make(set, words)...)
	p.busy = busy
	for _, slot := range x.slots {
		if !p.wholeAt(slot, r, start) {
			busy.addAll(x.on[slot])
		}
	}
	for i := range busy {
		busy[i] = ^busy[i]
	}
	return busy
}

// earliestBundle returns the first instant in [from, limit) at which a candidate bundle is free for
// the request's duration; false if there is none. It first searches the bundle whose slots, each by
// itself, are free earliest. Most other bundles need no search then.
func (p *View) earliestBundle(r *Request, from, limit Time) (Time, bool) {
	if from >= limit {
		return 0, false
	}
	starts := p.starts(r, from, limit)
	best, likely := limit, BundleID(-1)
	for _, id := range r.Candidates.Bundles {
		if at := starts.least(id, best); at < best {
			best, likely = at, id
		}
	}
	if likely < 0 {
		return 0, false
	}
	best = p.bundleFrom(&p.bundles[likely], r, best, limit)
	for _, id := range r.Candidates.Bundles {
		if at := starts.least(id, best); at < best && id != likely {
			best = p.bundleFrom(&p.bundles[id], r, at, best)
		}
	}
	return best, best < limit
}

// starts caches for each slot the first start in [from, limit) at which the slot, whatever becomes
// of others, is wholly free for the request's duration; limit if there is none.
type starts struct {
	p           *View
	r           *Request
	from, limit Time
	earliest    []Time // by SlotID; notAsked if not computed yet
}

const notAsked = -Forever

func (p *View) starts(r *Request, from, limit Time) starts {
	earliest := p.first[:0]
	for range p.slots {
		earliest = append(earliest, notAsked)
	}
	p.first = earliest
	return starts{p, r, from, limit, earliest}
}

// least returns a lower bound for the bundle's first start: the latest of its slots' first starts.
// It may stop as soon as the bound is best or later.
func (s *starts) least(id BundleID, best Time) Time {
	if !s.p.isBundle(id) {
		return s.limit
	}
	at := s.from
	for _, slot := range s.p.bundles[id].slots {
		if at = max(at, s.slot(slot)); at >= best {
			break
		}
	}
	return at
}

func (s *starts) slot(id SlotID) Time {
	if !s.p.Up(id) {
		return s.limit
	}
	if s.earliest[id] == notAsked {
		var ok bool
		if s.earliest[id], ok = s.p.wholeFrom(id, s.r, s.from, s.limit); !ok {
			s.earliest[id] = s.limit
		}
	}
	return s.earliest[id]
}

// bundleFrom returns the first start in [at, limit) from which all of the bundle's slots are free
// for the request's duration. If there is none, it returns limit.
func (p *View) bundleFrom(b *bundle, r *Request, at, limit Time) Time {
	for settled := 0; settled < len(b.slots); { // slots in a row that are free from at on
		for _, slot := range b.slots {
			start, ok := p.wholeFrom(slot, r, at, limit)
			if !ok {
				return limit
			}
			settled++
			if start > at {
				at, settled = start, 1
			}
			if settled == len(b.slots) {
				break
			}
		}
	}
	return at
}

// wholeFrom returns the first start in [from, limit) at which all of a slot is free for the
// request's duration; false if there is none.
func (p *View) wholeFrom(id SlotID, r *Request, from, limit Time) (Time, bool) {
	whole := *r
	whole.Chunk = p.slots[id].capacity
	return p.earliestOn(id, &whole, 1, from, limit)
}
