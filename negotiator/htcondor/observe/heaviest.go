package observe

import (
	"cmp"
	"container/heap"
)

// weight is what something takes, in bytes of memory, and its place among others that take some.
type weight struct {
	name        string
	size, place int // place 0: nowhere, else one above the index
}

func (w *weight) weigh() *weight { return w }

type weighed interface{ weigh() *weight }

// heaviest are things by what they take: the one that takes most first; of several, the first by
// name.
type heaviest[T weighed] []T

// Len is for container/heap, as are the next four.
func (h heaviest[T]) Len() int { return len(h) }

// Less reports whether the first takes more.
func (h heaviest[T]) Less(i, j int) bool {
	a, b := h[i].weigh(), h[j].weigh()
	return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name)) < 0
}

// Swap changes places.
func (h heaviest[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].weigh().place, h[j].weigh().place = i+1, j+1
}

// Push appends.
func (h *heaviest[T]) Push(x any) {
	one, _ := x.(T)
	*h = append(*h, one)
	one.weigh().place = len(*h)
}

// Pop takes the last one off.
func (h *heaviest[T]) Pop() any {
	var none T
	last := len(*h) - 1
	one := (*h)[last]
	(*h)[last], *h = none, (*h)[:last]
	one.weigh().place = 0
	return one
}

// put adds one.
func (h *heaviest[T]) put(one T) { heap.Push(h, one) }

// drop removes one, if it is there.
func (h *heaviest[T]) drop(one T) {
	if place := one.weigh().place; place > 0 {
		heap.Remove(h, place-1)
	}
}

// grow has one take so many bytes more, whether it is there or not.
func (h *heaviest[T]) grow(one T, bytes int) {
	w := one.weigh()
	if w.size += bytes; w.place > 0 {
		heap.Fix(h, w.place-1)
	}
}

// first returns the one that takes most, if there is any.
func (h heaviest[T]) first() (one T) {
	if len(h) > 0 {
		one = h[0]
	}
	return one
}
