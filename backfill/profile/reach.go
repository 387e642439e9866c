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
// bound anew. When slots come, go or change, all is forgotten.
type reach struct {
	candidates *Candidates
	chunk      Vector
	span       Time
	bound      []Time  // by candidate
	heap       []int32 // candidates, the lowest bound first
	place      []int32 // of each candidate in the heap
	heeded     int     // growths
	used       bool    // since the growths were last forgotten
}

// growth is a place on a slot that was given back.
type growth struct {
	slot SlotID
	from Time
}

// spans are those that reaches are kept for. It is a variable for the tests only.
var spans = []Time{1, 256, 2048, 16384}

// reach finds or makes what is known for a request; nil if it has few candidates.
func (p *Profile) reach(r *Request) *reach {
	if len(r.Candidates.Slots) < manySlots {
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
	x := &reach{
		candidates: r.Candidates, chunk: r.Chunk, span: span, heeded: p.grownBefore + len(p.grown), used: true,
		bound: make([]Time, len(r.Candidates.Slots)), heap: make([]int32, len(r.Candidates.Slots)), place: make([]int32, len(r.Candidates.Slots)),
	}
	for i := range x.heap {
		x.heap[i], x.place[i], x.bound[i] = int32(i), int32(i), p.boundOf(x, int32(i), p.past)
	}
	heap.Init(x)
	if p.reaches == nil {
		p.reaches = map[*Candidates][]*reach{}
	}
	p.reaches[r.Candidates] = append(known, x)
	return x
}

// boundOf is the first instant from or later at which the candidate can host a
// chunk for the span.
func (p *Profile) boundOf(x *reach, i int32, from Time) Time {
	t, ok := p.earliestOn(x.candidates.Slots[i], &Request{Chunk: x.chunk, Nodes: 1, Duration: x.span}, 1, from, Forever)
	if !ok {
		return Forever
	}
	return t
}

// tighten looks a candidate's bound up.
func (p *Profile) tighten(x *reach, i int32) {
	if bound := p.boundOf(x, i, max(x.bound[i], p.past)); bound != x.bound[i] {
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

// heed lowers the bounds of slots that grew.
func (p *Profile) heed(x *reach) {
	x.used = true
	for _, g := range p.grown[x.heeded-p.grownBefore:] {
		i, found := slices.BinarySearch(x.candidates.Slots, g.slot)
		if from := max(p.past, g.from-x.span+1); found && from < x.bound[i] {
			x.bound[i] = from
			heap.Fix(x, int(x.place[i]))
		}
	}
	x.heeded = p.grownBefore + len(p.grown)
}

// forgetReaches drops all that is known, as slots have come, gone or changed.
func (p *Profile) forgetReaches() { p.reaches, p.reached, p.grown, p.grownBefore = nil, 0, nil, 0 }

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

// earliestOfMany is the first instant in [from, limit) at which enough chunks fit
// on the candidates together: it follows the instants at which the number that
// fits on a slot changes.
func (p *Profile) earliestOfMany(x *reach, r *Request, from, limit Time) (Time, bool) {
	changes := p.changes[:0]
	defer func() { p.changes = changes[:0] }()
	push := func(c slotChange) {
		if c.at < limit {
			changes = append(changes, c)
			changes.up(len(changes) - 1)
		}
	}
	// A place in the heap stands for all below it, which are no earlier.
	see := func(place int) {
		if place < len(x.heap) {
			push(slotChange{at: max(from, x.bound[x.heap[place]]), place: place, candidate: -1})
		}
	}
	looked := p.looked[:0]
	total := 0
	var found Time
	ok := false
	see(0)
	for len(changes) > 0 && !ok {
		now := changes[0].at
		for len(changes) > 0 && changes[0].at == now { // all of the instant
			c := changes.pop()
			if c.candidate < 0 {
				i := x.heap[c.place]
				looked = append(looked, i)
				see(2*c.place + 1)
				see(2*c.place + 2)
				c.candidate, c.chunks = i, 0
			}
			id := x.candidates.Slots[c.candidate]
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

// nextChange is the first instant after now at which another number than n of
// chunks fits on the slot, or limit.
func (p *Profile) nextChange(id SlotID, r *Request, n int, now, limit Time) Time {
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
			next = min(next, max(now+1, short-r.Duration+1))
		}
	}
	return next
}

// slotChange is an instant at which the number of chunks that fit may change: on
// a candidate, or on those at and below a place in the heap that have not been
// looked at.
type slotChange struct {
	at        Time
	place     int
	candidate int32 // -1: the place
	chunks    int   // that fitted before
}

// slotChanges is a heap by time.
type slotChanges []slotChange

func (c slotChanges) up(i int) {
	for i > 0 && c[i].at < c[(i-1)/2].at {
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
		if least+1 < n && s[least+1].at < s[least].at {
			least++
		}
		if s[i].at <= s[least].at {
			return first
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
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
