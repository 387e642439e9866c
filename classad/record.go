package classad

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// name is the name of an attribute, prepared for lookups.
type name struct {
	text string // as written
	key  string // see [ast.Fold]
	hash uint32
	word word
}

// seed protects against hostile ads whose names all have the same hash. No visible result depends
// on it.
var seed = maphash.MakeSeed()

func newName(text string) name { return nameOf(text, ast.Fold(text)) }

func nameOf(text, key string) name {
	return name{text: text, key: key, hash: uint32(maphash.String(seed, key)), word: wordOf(key)}
}

// sought is a name in an expression, which is looked up again and again. It remembers where it was
// found last, since the ads of a pool have few shapes.
type sought struct {
	name
	last atomic.Uint64 // the number of the shape and, in the last placeBits, the place of the value in it
}

func soughtAs(text, key string) sought { return sought{name: nameOf(text, key)} }

// placeBits is how many bits a place has in what a [sought] remembers, with its sign.
const placeBits = 24

// shape is the common part of ads from one source: the names, in order, with an index, and the
// values that are equal in all of them. Sharing it keeps ads small and the common data in the
// processor's cache.
type shape struct {
	// number is that of no other shape, as long as this one has all of its names.
	number uint64
	names  []name
	// slots is a hash table with open addressing: the hash of a name in the upper half, its index
	// plus one in the lower.
	slots []uint64
	hides bool // an attribute is named MY, self, TARGET or other

	// places says where the value of each name is: at that index in the record if it is not
	// negative, else at its complement in shared. Without places all values are in the record, in
	// the order of the names; else short names come first: those that matches ask for, such as Cpus
	// and Memory, are short, and so lie together in memory.
	places []int32
	shared []Value

	order order // in which ads are printed
}

const fewestSlots = 8

// shapes counts all shapes.
var shapes atomic.Uint64

func newShape(names []name) *shape {
	s := &shape{number: shapes.Add(1), names: names}
	s.index()
	return s
}

// index builds the hash table, which is at most half full.
func (s *shape) index() {
	size := max(fewestSlots, 1<<bits.Len(uint(2*len(s.names)-1)))
	s.slots, s.hides = make([]uint64, size), false
	for i := range s.names {
		s.enter(i)
	}
}

func (s *shape) enter(i int) {
	n := &s.names[i]
	mask := uint32(len(s.slots) - 1)
	at := n.hash & mask
	for s.slots[at] != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = uint64(n.hash)<<32 | uint64(i+1)
	s.hides = s.hides || n.word.isScope()
}

// find returns the index of a name, or -1.
func (s *shape) find(n *name) int {
	if s == nil {
		return -1
	}
	mask := uint32(len(s.slots) - 1)
	for at := n.hash & mask; ; at++ {
		slot := s.slots[at&mask]
		if slot == 0 {
			return -1
		}
		if uint32(slot>>32) == n.hash {
			if i := int(uint32(slot)) - 1; s.names[i].key == n.key {
				return i
			}
		}
	}
}

// place returns where the value of name number i is.
func (s *shape) place(i int) int {
	if s.places == nil {
		return i
	}
	return int(s.places[i])
}

func (s *shape) add(n name) {
	s.names = append(s.names, n)
	if 2*len(s.names) > len(s.slots) {
		s.index()
		return
	}
	s.enter(len(s.names) - 1)
}

func (s *shape) clone() *shape {
	if s == nil {
		return newShape(nil)
	}
	return &shape{
		number: shapes.Add(1), names: slices.Clone(s.names), slots: slices.Clone(s.slots), hides: s.hides,
	}
}

// hidesScopes reports whether an attribute is named MY, self, TARGET or other, so that this word
// does not stand for an ad.
func (s *shape) hidesScopes() bool { return s != nil && s.hides }

// sharing returns a shape with the same names, for records that share these values; see [shape] for
// places.
func (s *shape) sharing(places []int32, shared []Value) *shape {
	narrow := &shape{
		number: shapes.Add(1), names: s.names, slots: s.slots, hides: s.hides, places: places, shared: shared,
	}
	narrow.order.brackets.Store(s.order.brackets.Load())
	narrow.order.lines.Store(s.order.lines.Load())
	return narrow
}

// record holds the attributes of an ad: for each name of the shape a value or an unevaluated
// expression. The zero record is empty and ready to use.
type record struct {
	shape  *shape
	values []Value // the values that are not shared
	owner  bool    // the shape belongs to this record alone
}

// at returns the entry of name number i: a value or, as [deferred], an unevaluated expression.
func (r *record) at(i int) Value { return r.in(r.shape.place(i)) }

// in returns the entry at a place, see [shape].
func (r *record) in(place int) Value {
	if place < 0 {
		return r.shape.shared[^place]
	}
	return r.values[place]
}

// find returns the entry of a name, which may be [deferred]; false if the record does not have it.
func (r *record) find(n *name) (Value, bool) {
	if i := r.shape.find(n); i >= 0 {
		return r.at(i), true
	}
	return Value{}, false
}

// seek returns what find does, sooner if the name was last found in an ad of the same shape.
func (r *record) seek(n *sought) (Value, bool) {
	if r.shape == nil {
		return Value{}, false
	}
	last := n.last.Load()
	if last>>placeBits != r.shape.number {
		return r.seekAnew(n)
	}
	const others = 64 - placeBits
	return r.in(int(int64(last<<others) >> others)), true
}

// seekAnew returns what find does, and remembers where that is.
func (r *record) seekAnew(n *sought) (Value, bool) {
	i := r.shape.find(&n.name)
	if i < 0 {
		return Value{}, false
	}
	place := r.shape.place(i)
	if r.len() < 1<<(placeBits-1) { // else it may not fit
		n.last.Store(r.shape.number<<placeBits | uint64(place)&(1<<placeBits-1))
	}
	return r.in(place), true
}

// fetch reads some of the record's first values. The processor so gets them from memory all at once,
// and not one after the other when a match comes to them. The result means nothing: it must be stored,
// so that the values are read.
func (r *record) fetch() (all Kind) {
	const most, perLine = 10, 2
	for i := 0; i < min(most, len(r.values)); i += perLine {
		all += r.values[i].kind
	}
	return all
}

func (r *record) len() int {
	if r.shape == nil {
		return 0
	}
	return len(r.shape.names)
}

// own makes the shape private to this record, so that it can be changed.
func (r *record) own() {
	if r.owner {
		return
	}
	values := make([]Value, r.len())
	for i := range values {
		values[i] = r.at(i)
	}
	r.shape, r.values, r.owner = r.shape.clone(), values, true
}

// set sets the entry of a name; an existing name keeps its spelling and its position.
func (r *record) set(n name, v Value) {
	r.own()
	if i := r.shape.find(&n); i >= 0 {
		r.values[i] = v
		return
	}
	r.shape.add(n)
	r.values = append(r.values, v)
}

func (r *record) remove(n name) {
	i := r.shape.find(&n)
	if i < 0 {
		return
	}
	r.own()
	r.shape = newShape(slices.Delete(r.shape.names, i, i+1))
	r.values = slices.Delete(r.values, i, i+1)
}

func (r *record) clone() record {
	c := record{shape: r.shape, values: slices.Clone(r.values), owner: r.owner}
	if r.owner {
		c.shape = r.shape.clone()
	}
	return c
}

// recordOf makes a record from a tree.
func recordOf(tree *ast.Record) record {
	r := record{values: make([]Value, 0, tree.Len())}
	names := make([]name, 0, tree.Len())
	for _, a := range tree.Attributes() {
		names = append(names, nameOf(a.Name, a.Key))
		r.values = append(r.values, entry(a.Value))
	}
	r.shape, r.owner = newShape(names), true
	return r
}

// tree returns the record as a tree, for printing and for programs that inspect ads.
func (r *record) tree() *ast.Record {
	t := ast.NewRecord(0)
	for i := range r.len() {
		t.Set(r.shape.names[i].text, r.at(i).tree())
	}
	return t
}

// entry returns what a record stores for an expression: the value if it is a constant, else the
// expression itself. A relative time counts as an expression, because its value prints differently.
func entry(tree ast.Expr) Value {
	if l, ok := tree.(*ast.Literal); ok && l.Kind != ast.RelTime {
		return literal(l)
	}
	return deferredTo(&Expr{tree: tree})
}
