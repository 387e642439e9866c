package scavenge

import "slices"

// queue is who waits of a user and a kind, the oldest first. It is cheap to add and remove one near either end,
// however many there are: the first ones start, and come back when they have made way.
type queue struct {
	kind kind
	// memory holds the jobs, after so many unused entries.
	memory []*entry
	unused int
}

func (q *queue) jobs() []*entry { return q.memory[q.unused:] }

func (q *queue) len() int { return len(q.memory) - q.unused }

// at returns the i-th job, from 0.
func (q *queue) at(i int) *entry { return q.memory[q.unused+i] }

// add adds a job where it belongs.
func (q *queue) add(e *entry) {
	i, _ := slices.BinarySearchFunc(q.jobs(), e, compare)
	switch front := i < q.len()-i; {
	case front:
		if q.unused == 0 {
			q.spread()
		}
		q.unused--
		all := q.jobs()
		copy(all[:i], all[1:i+1])
		all[i] = e
	case len(q.memory) == cap(q.memory) && 2*q.unused > len(q.memory): // so that it does not grow for ever
		q.pack()
		fallthrough
	default:
		q.memory = slices.Insert(q.memory, q.unused+i, e)
	}
}

// remove takes a job out, which must be there.
func (q *queue) remove(e *entry) {
	i, _ := slices.BinarySearchFunc(q.jobs(), e, compare)
	if i < q.len()-i {
		all := q.jobs()
		copy(all[1:i+1], all[:i])
		all[0] = nil
		q.unused++
		return
	}
	q.memory = slices.Delete(q.memory, q.unused+i, q.unused+i+1)
}

// spread makes room before the first job, for as many as there are.
func (q *queue) spread() {
	room := max(1, q.len())
	wider := make([]*entry, room, 2*room+q.len())
	q.memory, q.unused = append(wider, q.jobs()...), room
}

// pack moves the jobs to the beginning of the memory.
func (q *queue) pack() {
	n := copy(q.memory, q.jobs())
	clear(q.memory[n:])
	q.memory, q.unused = q.memory[:n], 0
}
