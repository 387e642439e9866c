package backfill

import (
	"math/bits"

	"github.com/tidwall/btree"
)

// table holds the records of the jobs by ID, in pages, because hosts mostly number their jobs one after the other: a
// tree of pages is small enough to be searched in no time. Copies share the pages that neither side changes.
type table struct {
	pages *btree.Map[JobID, *page]
	owner *tableOwner
	size  int
}

// tableOwner marks pages that may be changed in place. It has a size so that two owners never share an address.
type tableOwner struct{ _ byte }

const pageBits = 6

type page struct {
	owner   *tableOwner
	records [1 << pageBits]*record
	used    uint64 // a bit for each record that is there
}

func newTable() *table {
	return &table{pages: new(btree.Map[JobID, *page]), owner: new(tableOwner)}
}

// Len counts the records.
func (t *table) Len() int { return t.size }

// Get gives the record of a job.
func (t *table) Get(id JobID) (*record, bool) {
	p, ok := t.pages.Get(id >> pageBits)
	if !ok {
		return nil, false
	}
	r := p.records[id&(1<<pageBits-1)]
	return r, r != nil
}

// Set gives a job a record, or takes it away (nil), and returns what it had.
func (t *table) Set(id JobID, r *record) (old *record) {
	p, ok := t.pages.Get(id >> pageBits)
	switch {
	case !ok && r == nil:
		return nil
	case !ok:
		p = &page{owner: t.owner}
		t.pages.Set(id>>pageBits, p)
	case p.owner != t.owner:
		c := *p
		p, c.owner = &c, t.owner
		t.pages.Set(id>>pageBits, p)
	}
	i := id & (1<<pageBits - 1)
	old, p.records[i] = p.records[i], r
	if had, has := old != nil, r != nil; had != has {
		p.used ^= 1 << i
		if has {
			t.size++
		} else if t.size--; p.used == 0 {
			t.pages.Delete(id >> pageBits)
		}
	}
	return old
}

// Scan walks the records by ID until yield has enough.
func (t *table) Scan(yield func(JobID, *record) bool) {
	t.pages.Scan(func(number JobID, p *page) bool {
		for used := p.used; used != 0; used &= used - 1 {
			i := bits.TrailingZeros64(used)
			if !yield(number<<pageBits|JobID(i), p.records[i]) {
				return false
			}
		}
		return true
	})
}

// Copy is an independent copy.
func (t *table) Copy() *table {
	t.owner = new(tableOwner) // both sides copy what they change
	return &table{pages: t.pages.Copy(), owner: new(tableOwner), size: t.size}
}
