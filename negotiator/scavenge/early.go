package scavenge

import "container/heap"

// early are the scavengers that wait and may not start yet: a heap by when they may.
type early []*entry

func (all *early) add(e *entry) { heap.Push(all, e) }

// take removes one, and returns it.
func (all *early) take(e *entry) *entry {
	heap.Remove(all, e.place-1)
	return e
}

func (all *early) Len() int           { return len(*all) }
func (all *early) Less(i, j int) bool { return (*all)[i].Release < (*all)[j].Release }
func (all *early) Swap(i, j int) {
	list := *all
	list[i], list[j] = list[j], list[i]
	list[i].place, list[j].place = i+1, j+1
}

func (all *early) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // nothing else is pushed
	*all = append(*all, e)
	e.place = len(*all)
}

func (all *early) Pop() any {
	last := len(*all) - 1
	e := (*all)[last]
	(*all)[last], *all = nil, (*all)[:last]
	e.place = 0
	return e
}
