package profile

import (
	"container/heap"
	"slices"
)

// limits says for which requests a profile keeps a [reach], and how much memory these may take.
type limits struct {
	manySlots int    // requests with fewer candidates search every slot
	maxReach  int    // largest number of bounds in all reaches together, of boundBytes each
	maxGrown  int    // largest number of growths in the list before they are applied to all reaches
	spans     []Time // durations for which reaches are kept, ascending
}

// usualLimits returns the limits of every profile outside tests.
func usualLimits() limits {
	return limits{manySlots: 32, maxReach: 8 << 20, maxGrown: 4096, spans: []Time{1, 256, 2048, 16384}}
}

// boundBytes is what a bound takes: 16 bytes in the reach, and 8 and a bit in its idleOrder, unless
// another reach shares that.
const boundBytes = 25

// KeepAtMost bounds what the profile keeps to answer faster, in bytes, if it may keep more so far.
// With less it gives the same answers, but may take longer for them. It is for copies of which there
// are several.
func (p *Profile) KeepAtMost(bytes int64) {
	if p.limits.maxReach = int(min(int64(p.limits.maxReach), bytes/boundBytes)); p.reached > p.limits.maxReach {
		p.forgetReaches()
	}
}

// reach holds, for requests with many candidates, a lower bound for each candidate: the earliest
// instant at which it might host a chunk. A search skips all candidates whose bound is later than
// its answer. A reach serves all requests for the same candidates and chunk that last at least
// span.
//
// A bound stays valid when room on its slot is taken. When room is given back, which is a [growth],
// the bound is lowered; after a search has looked at the slot, the bound may be computed again.
// When a slot is new or changes, all reaches are dropped; when a slot goes, its bound stays valid,
// and its return is a growth. Idle slots, which are free for all time, have the bound Forever:
// searches find them through the [idleOrder].
type reach struct {
	candidates *Candidates
	chunk      Vector
	span       Time
	idle       *idleOrder // shared with the reaches for other spans
	bound      []Time     // by candidate
	heap       []int32    // candidates as a binary heap by bound, the lowest first
	place      []int32    // by candidate: its index in heap
	applied    int        // number of growths applied to the bounds, with those removed from the list
	used       bool       // asked for since the list of growths was last emptied
}

// growth notes that room was given back on a slot, free from an instant on.
type growth struct {
	slot SlotID
	from Time
}

// reach returns the [reach], which holds lower bounds of the candidates' starts, for a request that
// starts at from or later, and creates it if there is none. It returns nil if the request has too
// few candidates or these have windows or need more free than a chunk, or if from is before p.from, where the bounds begin.
func (p *View) reach(r *Request, from Time) *reach {
	if len(r.Candidates.Slots) < p.limits.manySlots || from < p.from || r.Candidates.Windows != nil ||
		r.Candidates.Least != nil {
		return nil
	}
	span := p.limits.spans[0]
	for _, s := range p.limits.spans {
		if !r.bounded && s <= r.Duration && !p.toEnd(r) {
			span = s
		}
	}
	known := p.reaches[r.Candidates]
	for _, x := range known {
		if x.span == span && slices.Equal(x.chunk, r.Chunk) {
			p.applyGrowth(x)
			return x
		}
	}
	if p.reached+len(r.Candidates.Slots) > p.limits.maxReach {
		return nil // those that are not used any more will be dropped, see grew
	}
	p.reached += len(r.Candidates.Slots)
	p.watch()
	x := &reach{
		candidates: r.Candidates, chunk: r.Chunk, span: span, applied: p.grownBefore + len(p.grown), used: true,
		bound: make([]Time, len(r.Candidates.Slots)), heap: make([]int32, len(r.Candidates.Slots)), place: make([]int32,
			len(r.Candidates.Slots)),
	}
	for i := range x.heap {
		x.heap[i], x.place[i], x.bound[i] = int32(i), int32(i), p.boundOf(x, int32(i), p.from)
	}
	heap.Init(x)
	x.idle = p.idleOrder(known, r)
	if p.reaches == nil {
		p.reaches = map[*Candidates][]*reach{}
	}
	p.reaches[r.Candidates] = append(known, x)
	return x
}

// idleOrder returns the order in which the rule prefers the request's candidates while they are
// idle, that is free for all time. The list known holds the reaches for these candidates: if one of
// them is for the same chunk, idleOrder returns its order.
func (p *View) idleOrder(known []*reach, r *Request) *idleOrder {
	for _, x := range known {
		if slices.Equal(x.chunk, r.Chunk) {
			x.idle.seeAll() // growths may not be applied to it yet
			return x.idle
		}
	}
	return p.newIdleOrder(r.Candidates, r.Chunk)
}

// boundOf returns the first instant, not before from, at which the reach's i-th candidate can host
// a chunk for the reach's span. It returns Forever if there is none, or if the slot is idle.
func (p *View) boundOf(x *reach, i int32, from Time) Time {
	if p.isIdle(x.candidates.Slots[i]) {
		return Forever
	}
	t, ok := p.earliestOn(x.candidates.Slots[i], &Request{Chunk: x.chunk, Nodes: 1, Duration: x.span}, 1, from, Forever)
	if !ok {
		return Forever
	}
	return t
}

// tighten computes the bound of the reach's i-th candidate again, which can only raise it.
func (p *View) tighten(x *reach, i int32) {
	if bound := p.boundOf(x, i, max(x.bound[i], p.from)); bound != x.bound[i] {
		x.bound[i] = bound
		heap.Fix(x, int(x.place[i]))
	}
}

// grew notes that room was given back on a slot, free from an instant on. If the list of growths is
// full, grew first drops the reaches that were not used since the list was last emptied, applies
// the list to the other reaches, and empties it.
func (p *View) grew(slot SlotID, from Time) {
	if len(p.reaches) == 0 {
		return
	}
	if len(p.grown) == p.limits.maxGrown {
		for candidates, known := range p.reaches {
			known = slices.DeleteFunc(known, func(x *reach) bool {
				if !x.used {
					p.reached -= len(x.bound)
				}
				return !x.used
			})
			for _, x := range known {
				p.applyGrowth(x)
				x.used = false
			}
			if p.reaches[candidates] = known; len(known) == 0 {
				delete(p.reaches, candidates)
			}
		}
		p.grownBefore, p.grown = p.grownBefore+len(p.grown), p.grown[:0]
	}
	p.grown = append(p.grown, growth{slot, from})
}

// applyGrowth applies to a reach the growths, the room that was given back since the last call for
// this reach: it lowers the bounds of their slots, and marks in x.idle the slots that are idle now.
func (p *View) applyGrowth(x *reach) {
	x.used = true
	for _, g := range p.grown[x.applied-p.grownBefore:] {
		i, found := slices.BinarySearch(x.candidates.Slots, g.slot)
		if !found {
			continue
		}
		if p.isIdle(g.slot) {
			x.idle.see(i)
			continue
		}
		if from := max(p.from, g.from-x.span+1); from < x.bound[i] {
			x.bound[i] = from
			heap.Fix(x, int(x.place[i]))
		}
	}
	x.applied = p.grownBefore + len(p.grown)
}

// forgetReaches drops all reaches and all marks of idle slots.
func (p *View) forgetReaches() {
	p.reaches, p.reached, p.grown, p.grownBefore, p.idle = nil, 0, nil, 0, nil
}

// upTo appends to list the indices of the candidates whose bound is limit or earlier.
func (x *reach) upTo(limit Time, list []int32) []int32 {
	x.each(limit, func(i int32) bool {
		list = append(list, i)
		return true
	})
	return list
}

// each calls see with the index of each candidate whose bound is limit or earlier, until it returns
// false. It goes down the heap only where bounds are that early.
func (x *reach) each(limit Time, see func(i int32) bool) {
	for at := 0; ; {
		if at < len(x.heap) && x.bound[x.heap[at]] <= limit {
			if !see(x.heap[at]) {
				return
			}
			at = 2*at + 1 // the left child
			continue
		}
		for at > 0 && at%2 == 0 { // all below the parent is done after its right child
			at = (at - 1) / 2
		}
		if at == 0 {
			return
		}
		at++ // the right child
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface. Push and Pop are never called: candidates
// only change places.
func (x *reach) Len() int           { return len(x.heap) }
func (x *reach) Less(i, j int) bool { return x.bound[x.heap[i]] < x.bound[x.heap[j]] }
func (x *reach) Swap(i, j int) {
	x.heap[i], x.heap[j] = x.heap[j], x.heap[i]
	x.place[x.heap[i]], x.place[x.heap[j]] = int32(i), int32(j)
}
func (x *reach) Push(any) {}
func (x *reach) Pop() any { return nil }
