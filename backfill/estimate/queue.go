package estimate

// queue is first in, first out: a ring, whose length is a power of two.
type queue[T any] struct {
	ring         []T
	first, count int
}

func (q *queue[T]) len() int    { return q.count }
func (q *queue[T]) at(i int) *T { return &q.ring[(q.first+i)&(len(q.ring)-1)] }

func (q *queue[T]) push(item T) {
	if q.count == len(q.ring) {
		ring := make([]T, max(8, 2*q.count))
		copy(ring[copy(ring, q.ring[q.first:]):], q.ring[:q.first])
		q.ring, q.first = ring, 0
	}
	q.count++
	*q.at(q.count - 1) = item
}

func (q *queue[T]) pop() T {
	var none T
	oldest := q.at(0)
	item := *oldest
	*oldest = none
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.count--
	return item
}
