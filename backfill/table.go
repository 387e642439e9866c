package backfill

import (
	"math/bits"
	"slices"
)

// table holds the records of the jobs by ID, in pages of consecutive IDs. Hosts mostly number jobs
// one after the other, so the list of pages is short and quickly searched. Copies share the pages
// that neither side changes.
type table struct {
	numbers []JobID // of the pages, ascending
	pages   []*page // none is empty
	owner   *owner
	size    int
	last    int   // index of the page that was searched for last, mostly the next one too
	spare   *page // a page that became empty, for the next one; or nil
}

// owner identifies the table that may change a page in place; any other copies the page first. It
// has a size so that two owners never share an address.
type owner struct{ _ byte }

const pageBits = 5

type page struct {
	owner   *owner
	used    uint32 // a bit for each record that is there
	records [1 << pageBits]record
}

func newTable() *table { return &table{owner: new(owner)} }

// Len returns the number of records.
func (t *table) Len() int { return t.size }

// Get returns a copy of a job's record, or false if there is none.
func (t *table) Get(id JobID) (record, bool) {
	if r := t.Find(id); r != nil {
		return *r, true
	}
	return record{}, false
}

// Find returns a job's record for reading, valid until the next Set, or nil if there is none.
func (t *table) Find(id JobID) *record {
	i, ok := t.page(id >> pageBits)
	if !ok {
		return nil
	}
	p, n := t.pages[i], id&(1<<pageBits-1)
	if p.used&(1<<n) == 0 {
		return nil
	}
	return &p.records[n]
}

// page returns the index of the page with the number and true, or where to insert it and false.
func (t *table) page(number JobID) (i int, ok bool) {
	if t.last < len(t.numbers) && t.numbers[t.last] == number {
		return t.last, true
	}
	i, ok = slices.BinarySearch(t.numbers, number)
	t.last = i
	return i, ok
}

// Set stores a copy of a job's record, and the old one in old. A record without a job removes the
// job.
func (t *table) Set(id JobID, r, old *record) {
	number, n := id>>pageBits, id&(1<<pageBits-1)
	i, ok := t.page(number)
	if !ok {
		if *old = (record{}); r.job == nil {
			return
		}
		t.numbers, t.pages = slices.Insert(t.numbers, i, number), slices.Insert(t.pages, i, t.newPage())
	}
	p := t.pages[i]
	if p.owner != t.owner {
		c := *p
		p, c.owner = &c, t.owner
		t.pages[i] = p
	}
	*old, p.records[n] = p.records[n], *r
	if had, has := old.job != nil, r.job != nil; had != has {
		p.used ^= 1 << n
		if has {
			t.size++
		} else if t.size--; p.used == 0 {
			t.numbers, t.pages, t.spare = slices.Delete(t.numbers, i, i+1), slices.Delete(t.pages, i, i+1), p
		}
	}
}

// newPage returns an empty page.
func (t *table) newPage() *page {
	p := t.spare
	if p == nil {
		p = new(page)
	}
	p.owner, t.spare = t.owner, nil
	return p
}

// Scan calls the callback with each record, by ID, until the callback returns false.
func (t *table) Scan(yield func(JobID, *record) bool) {
	for i, p := range t.pages {
		for used := p.used; used != 0; used &= used - 1 {
			n := bits.TrailingZeros32(used)
			if !yield(t.numbers[i]<<pageBits|JobID(n), &p.records[n]) {
				return
			}
		}
	}
}

// Copy returns an independent copy.
func (t *table) Copy() *table {
	t.owner = new(owner) // both sides copy what they change
	return &table{numbers: slices.Clone(t.numbers), pages: slices.Clone(t.pages), owner: new(owner), size: t.size}
}
