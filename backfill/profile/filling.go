package profile

import (
	"container/heap"
	"math/bits"
	"slices"
	"strings"
)

// Filling places requests for chunks of one unit of the first resource on slots that are alike, one
// after the other by start. All that is known of later instants are ends, so what is free at a
// request's start is free until its end, and slots with equally much free differ in their names alone.
// A placement so looks at one list for each amount, and not at each slot. It chooses what
// [View.Place] would for candidates that are all slots, of equal rank. It leaves the profile as it is.
type Filling struct {
	p     *View
	slots []SlotID // by name
	index []int    // by slot: where it is in slots; -1: it takes no jobs
	free  []int64  // by index
	open  []indices
	ends  endings
}

// mostAlike is the largest capacity for which a Filling lists slots by what is free.
const mostAlike = 1024

// FillingOf returns a [Filling] from an instant on; ok is false if the slots are not alike, if less is
// free on one of them at some later instant than before, or if the rule spreads chunks.
func FillingOf(p *View, from Time) (f *Filling, ok bool) {
	f = &Filling{p: p, index: make([]int, len(p.slots))}
	var capacity Vector
	for id := range p.slots {
		s := &p.slots[id]
		if f.index[id] = -1; !s.up {
			continue
		}
		if capacity == nil {
			capacity = s.capacity
		}
		if !slices.Equal(capacity, s.capacity) || s.end != Forever {
			return nil, false
		}
		f.slots = append(f.slots, SlotID(id))
	}
	if p.rule == Spread || capacity == nil || capacity[0] > mostAlike || !capacity[1:].Zero() {
		return nil, false
	}
	slices.SortFunc(f.slots, func(a, b SlotID) int { return strings.Compare(p.slots[a].name, p.slots[b].name) })
	f.free, f.open = make([]int64, len(f.slots)), make([]indices, capacity[0]+1)
	for free := range f.open {
		f.open[free].bits = make([]uint64, (len(f.slots)+63)/64)
	}
	ok = true
	for i, id := range f.slots {
		free := &p.slots[id].free[0]
		f.index[id], f.free[i] = i, free.value(from)
		f.open[max(0, f.free[i])].add(i)
		free.root.each(func(at Time, change int64) {
			if at > from {
				ok = ok && change > 0
				f.ends = append(f.ends, ending{at, i, change})
			}
		})
	}
	heap.Init(&f.ends)
	return f, ok
}

// GoTo goes on to a later instant, at which some of the room is free again.
func (f *Filling) GoTo(now Time) {
	for len(f.ends) > 0 && f.ends[0].at <= now {
		e := heap.Pop(&f.ends).(ending) //nolint:forcetypeassert // nothing else is in it
		f.change(e.index, e.amount)
	}
}

// Fits reports whether a placement's chunks fit where they are.
func (f *Filling) Fits(at Placement) bool {
	return !slices.ContainsFunc(at, func(c Chunks) bool {
		i := f.index[c.Slot]
		return i < 0 || f.free[i] < int64(c.Count)
	})
}

// Place chooses slots for so many chunks; false: there is no room for them.
func (f *Filling) Place(nodes int) (at Placement, ok bool) {
	f.p.GoOn()
	for free := 1; free < len(f.open); free++ {
		for i := range f.open[free].all() {
			if nodes == 1 && at == nil {
				return f.p.slots[f.slots[i]].single, true
			}
			n := min(free, nodes)
			at = append(at, Chunks{Slot: f.slots[i], Count: n})
			if nodes -= n; nodes == 0 {
				return at, true
			}
		}
	}
	return nil, false
}

// Take takes room for chunks that fit, until an instant.
func (f *Filling) Take(at Placement, until Time) {
	for _, c := range at {
		i := f.index[c.Slot]
		f.change(i, -int64(c.Count))
		heap.Push(&f.ends, ending{until, i, int64(c.Count)})
	}
}

// change changes what is free on a slot.
func (f *Filling) change(i int, amount int64) {
	f.open[max(0, f.free[i])].remove(i)
	f.free[i] += amount
	f.open[max(0, f.free[i])].add(i)
}

// indices is a set of small numbers.
type indices struct {
	bits  []uint64
	count int
}

func (s *indices) add(i int)    { s.bits[i/64] |= 1 << (i % 64); s.count++ }
func (s *indices) remove(i int) { s.bits[i/64] &^= 1 << (i % 64); s.count-- }

// all calls the callback with each number, ascending, until it returns false.
func (s *indices) all() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if s.count == 0 {
			return
		}
		for word, rest := range s.bits {
			for ; rest != 0; rest &= rest - 1 {
				if !yield(word*64 + bits.TrailingZeros64(rest)) {
					return
				}
			}
		}
	}
}

// ending is an instant from which on an amount is free again on the slot with an index.
type ending struct {
	at     Time
	index  int
	amount int64
}

// endings is a heap, the first one on top.
type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) } //nolint:forcetypeassert // as Pop
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
