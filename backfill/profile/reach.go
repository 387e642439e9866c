package profile

import (
	"container/heap"
	"slices"
)

// manySlots is from how many candidates on a request is answered with a reach
// rather than by asking every slot. It is a variable for the tests only.
var manySlots = 32

// maxReach is how many bounds are kept in all, of 16 bytes each. It is a variable
// for the tests only.
var maxReach = 8 << 20

// maxGrown is how many growths are noted before the reaches must heed them. It is a
// variable for the tests only.
var maxGrown = 4096

// reach knows for a request of many candidates how early each of them might host
// a chunk, so that a question passes by most slots: those that cannot before the
// answer. It holds for requests of the same candidates and chunk that last at
// least a span.
//
// What it knows are lower bounds. A span that is added leaves them true; one that
// is removed lowers that of its slot; a slot that was looked at in vain gets its
// bound anew. When slots come, go or change, all is forgotten. Idle slots are set
// aside, behind all others: they are asked in an order of their own.
type reach struct {
	candidates *Candidates
	chunk      Vector
	span       Time
	idle       *idleOrder // shared by the reaches of other spans
	bound      []Time     // by candidate
	heap       []int32    // candidates, the lowest bound first
	place      []int32    // of each candidate in the heap
	heeded     int        // growths
	used       bool       // since the growths were last forgotten
}

// growth is a place on a slot that was given back.
type growth struct {
	slot SlotID
	from Time
}

// spans are those that reaches are kept for. It is a variable for the tests only.
var spans = []Time{1, 256, 2048, 16384}

// reach finds or makes what is known for a request about starts not before from; nil
// if it has few candidates, or nothing is known of such early ones.
func (p *Profile) reach(r *Request, from Time) *reach {
	if len(r.Candidates.Slots) < manySlots || from < p.from {
		return nil
	}
	span := spans[0]
	for _, s := range spans {
		if !r.bounded && s <= r.Duration {
			span = s
		}
	}
	known := p.reaches[r.Candidates]
	for _, x := range known {
		if x.span == span && slices.Equal(x.chunk, r.Chunk) {
			p.heed(x)
			return x
		}
	}
	if p.reached += len(r.Candidates.Slots); p.reached > maxReach {
		p.forgetReaches()
		known, p.reached = nil, len(r.Candidates.Slots)
	}
	p.watch()
	x := &reach{
		candidates: r.Candidates, chunk: r.Chunk, span: span, heeded: p.grownBefore + len(p.grown), used: true,
		bound: make([]Time, len(r.Candidates.Slots)), heap: make([]int32, len(r.Candidates.Slots)), place: make([]int32, len(r.Candidates.Slots)),
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

// idleOrder finds or makes the order of idle slots for a request.
func (p *Profile) idleOrder(known []*reach, r *Request) *idleOrder {
	for _, x := range known {
		if slices.Equal(x.chunk, r.Chunk) {
			x.idle.seeAll() // it may not have heeded all
			return x.idle
		}
	}
	return p.newIdleOrder(r.Candidates, r.Chunk)
}

// boundOf is the first instant from or later at which the candidate can host a
// chunk for the span, if it is not set aside.
func (p *Profile) boundOf(x *reach, i int32, from Time) Time {
	if p.isIdle(x.candidates.Slots[i]) {
		return Forever
	}
	t, ok := p.earliestOn(x.candidates.Slots[i], &Request{Chunk: x.chunk, Nodes: 1, Duration: x.span}, 1, from, Forever)
	if !ok {
		return Forever
	}
	return t
}

// tighten looks a candidate's bound up.
func (p *Profile) tighten(x *reach, i int32) {
	if bound := p.boundOf(x, i, max(x.bound[i], p.from)); bound != x.bound[i] {
		x.bound[i] = bound
		heap.Fix(x, int(x.place[i]))
	}
}

// grew notes that something was given back on a slot.
func (p *Profile) grew(slot SlotID, from Time) {
	if len(p.reaches) == 0 {
		return
	}
	if len(p.grown) == maxGrown {
		for candidates, known := range p.reaches {
			known = slices.DeleteFunc(known, func(x *reach) bool {
				if !x.used {
					p.reached -= len(x.bound)
				}
				return !x.used
			})
			for _, x := range known {
				p.heed(x)
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

// heed lowers the bounds of slots that grew, and sees those that are idle now.
func (p *Profile) heed(x *reach) {
	x.used = true
	for _, g := range p.grown[x.heeded-p.grownBefore:] {
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
	x.heeded = p.grownBefore + len(p.grown)
}

// forgetReaches drops all that is known, as slots have come, gone or changed.
func (p *Profile) forgetReaches() {
	p.reaches, p.reached, p.grown, p.grownBefore, p.idle = nil, 0, nil, 0, nil
}

// upTo lists the candidates whose bound is limit or earlier.
func (x *reach) upTo(limit Time, list []int32) []int32 {
	var walk func(at int)
	walk = func(at int) {
		if at < len(x.heap) && x.bound[x.heap[at]] <= limit {
			list = append(list, x.heap[at])
			walk(2*at + 1)
			walk(2*at + 2)
		}
	}
	walk(0)
	return list
}

// Len, Less, Swap, Push and Pop are for container/heap. Candidates only change
// places: the last two are never called.
func (x *reach) Len() int           { return len(x.heap) }
func (x *reach) Less(i, j int) bool { return x.bound[x.heap[i]] < x.bound[x.heap[j]] }
func (x *reach) Swap(i, j int) {
	x.heap[i], x.heap[j] = x.heap[j], x.heap[i]
	x.place[x.heap[i]], x.place[x.heap[j]] = int32(i), int32(j)
}
func (x *reach) Push(any) {}
func (x *reach) Pop() any { return nil }
