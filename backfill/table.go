package backfill

import (
	"math/bits"
	"slices"
)

// JobTable holds a value for each of some jobs, by ID, in pages of consecutive IDs. Hosts mostly
// number jobs one after the other, so the list of pages is short and quickly searched. Copies share
// the pages that neither side changes.
type JobTable[V any] struct {
	numbers []JobID    // of the pages, ascending
	pages   []*page[V] // none is empty
	owner   *owner     // nil: it was never copied
	size    int
	last    int      // index of the page that was searched for last, mostly the next one too
	spare   *page[V] // a page that became empty, for the next one; or nil
}

// owner identifies the table that may change a page in place; any other copies the page first. It
// has a size so that two owners never share an address.
type owner struct{ _ byte }

const pageBits = 5

type page[V any] struct {
	owner  *owner
	used   uint32 // a bit for each value that is there
	values [1 << pageBits]V
}

// Len returns the number of jobs.
func (t *JobTable[V]) Len() int { return t.size }

// Find returns a job's value for reading, valid until the next change, or nil if there is none.
func (t *JobTable[V]) Find(id JobID) *V {
	i, ok := t.page(id >> pageBits)
	if !ok {
		return nil
	}
	p, n := t.pages[i], id&(1<<pageBits-1)
	if p.used&(1<<n) == 0 {
		return nil
	}
	return &p.values[n]
}

// page returns the index of the page with the number and true, or where to insert it and false.
func (t *JobTable[V]) page(number JobID) (i int, ok bool) {
	if t.last < len(t.numbers) && t.numbers[t.last] == number {
		return t.last, true
	}
	low, high := 0, len(t.numbers)
	if high > 0 { // no number is there twice, so few others are where it may be
		low = int(max(0, min(JobID(high), JobID(high-1)-(t.numbers[high-1]-number))))
		high = int(max(JobID(low), min(JobID(high), number-t.numbers[0]+1)))
	}
	i, ok = slices.BinarySearch(t.numbers[low:high], number)
	t.last = low + i
	return t.last, ok
}

// Put returns a job's value to be changed in place until the next call. It is the zero value if
// there was none.
func (t *JobTable[V]) Put(id JobID) *V {
	number, n := id>>pageBits, id&(1<<pageBits-1)
	i, ok := t.page(number)
	if !ok {
		t.numbers, t.pages = slices.Insert(t.numbers, i, number), slices.Insert(t.pages, i, t.newPage())
	}
	p := t.own(i)
	if p.used&(1<<n) == 0 {
		p.used |= 1 << n
		t.size++
	}
	return &p.values[n]
}

// Delete removes a job, if it is there.
func (t *JobTable[V]) Delete(id JobID) {
	i, ok := t.page(id >> pageBits)
	n := id & (1<<pageBits - 1)
	if !ok || t.pages[i].used&(1<<n) == 0 {
		return
	}
	p := t.own(i)
	var none V
	p.values[n] = none
	t.size--
	if p.used &^= 1 << n; p.used == 0 {
		t.numbers, t.pages, t.spare = slices.Delete(t.numbers, i, i+1), slices.Delete(t.pages, i, i+1), p
	}
}

// own returns the page with the index, which the table may change then.
func (t *JobTable[V]) own(i int) *page[V] {
	p := t.pages[i]
	if p.owner != t.owner {
		c := *p
		p, c.owner = &c, t.owner
		t.pages[i] = p
	}
	return p
}

// newPage returns an empty page.
func (t *JobTable[V]) newPage() *page[V] {
	p := t.spare
	if p == nil {
		p = new(page[V])
	}
	p.owner, t.spare = t.owner, nil
	return p
}

// Scan calls the callback with each value, by ID, until the callback returns false.
func (t *JobTable[V]) Scan(yield func(JobID, *V) bool) {
	for i, p := range t.pages {
		for used := p.used; used != 0; used &= used - 1 {
			n := bits.TrailingZeros32(used)
			if !yield(t.numbers[i]<<pageBits|JobID(n), &p.values[n]) {
				return
			}
		}
	}
}

// Copy returns an independent copy.
func (t *JobTable[V]) Copy() JobTable[V] {
	t.owner = new(owner) // both sides copy what they change
	return JobTable[V]{
		numbers: slices.Clone(t.numbers), pages: slices.Clone(t.pages), owner: new(owner), size: t.size,
	}
}

// table holds the records of the jobs.
type table struct{ JobTable[record] }

// Get returns a copy of a job's record, or false if there is none.
func (t *table) Get(id JobID) (record, bool) {
	if r := t.Find(id); r != nil {
		return *r, true
	}
	return record{}, false
}

// Set stores a copy of a job's record, and the old one in old. A record without a job removes the
// job.
func (t *table) Set(id JobID, r, old *record) {
	if r.job != nil {
		at := t.Put(id)
		*old, *at = *at, *r
		return
	}
	*old = record{}
	if at := t.Find(id); at != nil {
		*old = *at
		t.Delete(id)
	}
}
