package ast

import (
	"cmp"
	"slices"
	"strings"
)

// Attribute is one name = value of a [Record].
type Attribute struct {
	Name  string // the first spelling
	Key   string // see [Fold]
	Value Expr
}

// indexedFrom is the number of attributes from which a map is faster than a linear search.
const indexedFrom = 8

// Record is an ad: names, compared ignoring case, with their expressions in the order in which they
// were first set. The zero value is empty and ready to use. A record that is part of a tree must
// not change any more.
type Record struct {
	node
	attrs []Attribute
	index map[string]int32 // by key; nil while the record is small
}

// NewRecord makes an empty record that was written at pos.
func NewRecord(pos Pos) *Record {
	return &Record{node: above(pos)}
}

// Find returns the expression of the attribute with this folded name; false if there is none.
func (r *Record) Find(key string) (Expr, bool) {
	if i := r.find(key); i >= 0 {
		return r.attrs[i].Value, true
	}
	return nil, false
}

func (r *Record) find(key string) int {
	if r.index != nil {
		if i, ok := r.index[key]; ok {
			return int(i)
		}
		return -1
	}
	for i := range r.attrs {
		if r.attrs[i].Key == key {
			return i
		}
	}
	return -1
}

// Set sets the attribute's value. An existing name keeps its spelling and its position.
func (r *Record) Set(name string, value Expr) {
	r.raise(value)
	key := Fold(name)
	if i := r.find(key); i >= 0 {
		r.attrs[i].Value = value
		return
	}
	r.attrs = append(r.attrs, Attribute{Name: name, Key: key, Value: value})
	switch {
	case r.index != nil:
		r.index[key] = int32(len(r.attrs) - 1)
	case len(r.attrs) >= indexedFrom:
		r.reindex()
	}
}

// Delete removes the attribute with this folded name, if there is one.
func (r *Record) Delete(key string) {
	if i := r.find(key); i >= 0 {
		r.attrs = slices.Delete(r.attrs, i, i+1)
		r.reindex()
	}
}

func (r *Record) reindex() {
	if len(r.attrs) < indexedFrom {
		r.index = nil
		return
	}
	r.index = make(map[string]int32, len(r.attrs))
	for i, a := range r.attrs {
		r.index[a.Key] = int32(i)
	}
}

// Len returns the number of attributes.
func (r *Record) Len() int { return len(r.attrs) }

// Attributes returns the attributes in the order in which they were first set; the slice belongs to
// the record.
func (r *Record) Attributes() []Attribute { return r.attrs }

// Clone returns an independent copy that shares the expressions, which never change.
func (r *Record) Clone() *Record {
	c := &Record{node: r.node, attrs: slices.Clone(r.attrs)}
	c.reindex()
	return c
}

// Canonical returns the attributes in the order in which ads are printed: short names first, then
// alphabetically ignoring case.
func (r *Record) Canonical() []Attribute {
	sorted := slices.Clone(r.attrs)
	slices.SortFunc(sorted, func(a, b Attribute) int { return CompareKeys(a.Key, b.Key) })
	return sorted
}

// CompareKeys compares two folded names by the order in which ads are printed.
func CompareKeys(a, b string) int {
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(a, b)
}

// Fold returns the form in which names are compared: ASCII letters in lower case, other bytes
// unchanged. It does not allocate if nothing changes.
func Fold(name string) string {
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			return fold(name)
		}
	}
	return name
}

func fold(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
