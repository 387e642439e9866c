package statefile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// The structure of bbolt's files (go.etcd.io/bbolt, internal/common): pages of one size, the first
// two with a header each, of which the one of the later transaction counts. A page begins with its
// number, its type, its number of elements, and the number of further pages that belong to it.
const (
	magic, version = 0xED0CDAED, 2
	headerLength   = 64
	pageStart      = 16 // bytes before the elements
	elementLength  = 16
	noFreelist     = 1<<64 - 1
	maxPageSize    = 16 << 20
)

// Types of pages.
const (
	branchPage   = 1
	leafPage     = 2
	freelistPage = 16
)

var native = binary.NativeEndian

// header is what a file says of itself.
type header struct {
	pageSize             uint32
	root, freelist, high uint64 // pages; all pages are below high
	transaction          uint64
}

// check checks the structure of a file: that all pages are there, that they are a tree, and that
// their elements lie in them. bbolt would read elsewhere, or for ever. The note says what is wrong
// and does no harm.
func check(text []byte) (note string, err error) {
	h, note, err := newest(text)
	if err != nil {
		return "", err
	}
	if whole := uint64(len(text)) / uint64(h.pageSize); whole < h.high {
		return "", fmt.Errorf("%w: it has %d pages, and should have %d", ErrDamaged, whole, h.high)
	}
	t := tree{text, h, make([]bool, h.high)}
	if err = t.visit(h.root); err == nil && h.freelist != noFreelist {
		err = t.free()
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return note, nil
}

// newest returns the header that counts.
func newest(text []byte) (h header, note string, err error) {
	first, err := headerAt(text, 0)
	sizes := []uint64{uint64(first.pageSize)}
	if err != nil {
		sizes = nil
		for size := uint64(1024); size <= maxPageSize; size *= 2 {
			sizes = append(sizes, size)
		}
	}
	for _, size := range sizes {
		second, wrong := headerAt(text, size)
		switch {
		case wrong != nil:
			continue
		case err == nil && first.transaction > second.transaction:
			return first, "", nil
		case err == nil:
			return second, "", nil
		case uint64(second.pageSize) == size:
			return second, tornNote, nil
		}
	}
	return first, tornNote, err
}

const tornNote = "one of the two headers of the file is broken, as by a crash of the machine: " +
	"what was written last may be missing"

// headerAt reads the header of a page.
func headerAt(text []byte, page uint64) (h header, err error) {
	start := page + pageStart
	if uint64(len(text)) < start+headerLength {
		return h, fmt.Errorf("%w: it ends in its headers, after %d bytes", ErrDamaged, len(text))
	}
	b := text[start : start+headerLength]
	if native.Uint32(b) != magic || native.Uint64(b[headerLength-8:]) != headerSum(b) {
		return h, fmt.Errorf("%w: its headers are broken", ErrDamaged)
	}
	if v := native.Uint32(b[4:]); v != version {
		return h, fmt.Errorf("%w: of bbolt's version %d", ErrNewer, v)
	}
	h = header{
		native.Uint32(b[8:]), native.Uint64(b[16:]), native.Uint64(b[32:]), native.Uint64(b[40:]), native.Uint64(b[48:]),
	}
	if h.pageSize < 1024 || h.pageSize > maxPageSize {
		return h, fmt.Errorf("%w: its pages have %d bytes", ErrDamaged, h.pageSize)
	}
	return h, nil
}

// headerSum is the checksum of a header: of all that comes before the checksum.
func headerSum(header []byte) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write(header[:headerLength-8])
	return sum.Sum64()
}

// tree is the pages of a file, and those that were seen.
type tree struct {
	text []byte
	header
	seen []bool
}

// page is a page with those that belong to it.
type page struct {
	id          uint64
	kind, count uint16
	text        []byte
}

// take returns a page that was not seen before.
func (t *tree) take(id uint64) (page, error) {
	if id < 2 || id >= t.high {
		return page{}, fmt.Errorf("page %d is asked for, of %d", id, t.high)
	}
	p := page{id: id}
	start, size := id*uint64(t.pageSize), uint64(t.pageSize)
	b := t.text[start : start+size]
	more := uint64(native.Uint32(b[12:]))
	if native.Uint64(b) != id || more >= t.high-id {
		return p, fmt.Errorf("page %d is none", id)
	}
	p.kind, p.count, p.text = native.Uint16(b[8:]), native.Uint16(b[10:]), t.text[start:start+(more+1)*size]
	return p, t.see(id, more+1)
}

// see marks pages as seen.
func (t *tree) see(id, count uint64) error {
	for ; count > 0; count-- {
		if t.seen[id] {
			return fmt.Errorf("page %d is in two places", id)
		}
		t.seen[id] = true
		id++
	}
	return nil
}

// visit checks a page of a bucket, and all pages below.
func (t *tree) visit(id uint64) error {
	p, err := t.take(id)
	if err != nil {
		return err
	}
	switch {
	case p.kind == leafPage:
		return p.leaves(t.visit)
	case p.kind == branchPage && p.count > 0:
		return p.branches(t.visit)
	default:
		return fmt.Errorf("page %d is of type %d with %d elements", id, p.kind, p.count)
	}
}

// element returns an element, and how many bytes follow its beginning in the page.
func (p page) element(i int) (element []byte, room uint64, err error) {
	start := pageStart + i*elementLength
	if start+elementLength > len(p.text) {
		return nil, 0, fmt.Errorf("page %d is too short for its %d elements", p.id, p.count)
	}
	return p.text[start:], uint64(len(p.text) - start), nil
}

// branches checks the elements of a branch: the place and length of a key, and a page to be visited.
func (p page) branches(visit func(uint64) error) error {
	for i := range int(p.count) {
		e, room, err := p.element(i)
		if err != nil {
			return err
		}
		if uint64(native.Uint32(e))+uint64(native.Uint32(e[4:])) > room {
			return fmt.Errorf("page %d has a key that does not lie in it", p.id)
		}
		if err = visit(native.Uint64(e[8:])); err != nil {
			return err
		}
	}
	return nil
}

// leaves checks the elements of a leaf: the kind of its value, the place and length of the key, and
// the length of the value that follows it. Visit checks buckets of their own pages.
func (p page) leaves(visit func(uint64) error) error {
	for i := range int(p.count) {
		e, room, err := p.element(i)
		if err != nil {
			return err
		}
		value := uint64(native.Uint32(e[4:])) + uint64(native.Uint32(e[8:]))
		end := value + uint64(native.Uint32(e[12:]))
		if end > room {
			return fmt.Errorf("page %d has a record that does not lie in it", p.id)
		}
		if native.Uint32(e)&1 == 0 {
			continue
		}
		if err = p.bucket(e[value:end], visit); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a value that is a bucket: its root, or 0 if a leaf follows in place.
func (p page) bucket(value []byte, visit func(uint64) error) error {
	const start = 16
	if len(value) < start {
		return fmt.Errorf("page %d has a bucket of %d bytes", p.id, len(value))
	}
	if root := native.Uint64(value); root != 0 {
		return visit(root)
	}
	if len(value) < start+pageStart || native.Uint16(value[start+8:]) != leafPage {
		return fmt.Errorf("page %d has a bucket that is none", p.id)
	}
	inline := page{id: p.id, count: native.Uint16(value[start+10:]), text: value[start:]}
	return inline.leaves(func(uint64) error { return fmt.Errorf("page %d has a bucket in a bucket", p.id) })
}

// free checks the list of free pages.
func (t *tree) free() error {
	p, err := t.take(t.freelist)
	if err != nil {
		return err
	}
	ids, count := p.text[pageStart:], uint64(p.count)
	if count == 0xFFFF { // the true number follows
		count, ids = native.Uint64(ids), ids[8:]
	}
	if p.kind != freelistPage || count > uint64(len(ids)/8) {
		return fmt.Errorf("page %d is no list of free pages", p.id)
	}
	for i := range count {
		id := native.Uint64(ids[i*8:])
		if id < 2 || id >= t.high {
			return fmt.Errorf("page %d is free, of %d", id, t.high)
		}
		if err = t.see(id, 1); err != nil {
			return err
		}
	}
	return nil
}
