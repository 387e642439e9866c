package pcre

// kind is the type of a node.
type kind uint8

const (
	kindEmpty   kind = iota
	kindByte         // the byte b, in either case if fold
	kindSet          // one byte out of set
	kindNewline      // \R
	kindAssert       // a position: op is opBegin or a similar one
	kindKeep         // \K
	kindFail         // (*FAIL)
	kindAccept       // (*ACCEPT)
	kindBackref      // what group n matched
	kindCall         // group n as a subroutine, the whole pattern if 0
	kindSeq          // subs one after the other
	kindAlt          // one of subs
	kindGroup        // subs[0], captured if n > 0
	kindAtomic       // subs[0], without going back into it
	kindLook         // a lookaround whose branches are subs
	kindCond         // subs[0] or subs[1], depending on test
	kindRepeat       // subs[0], min to max times
)

// test is the condition of a conditional group.
type test uint8

const (
	testGroup  test = iota // group n is set
	testCall               // within a call of group n, of any group if 0
	testEither             // the group of a name, or a call if the name is like R12
	testLook               // look matches
	testAlways             // of (?(VERSION...)
	testNever
	testDefine // as testNever, with only one branch
)

// unlimited is the max of an unlimited repetition.
const unlimited = -1

// Ways to repeat.
const (
	greedy uint8 = iota
	lazy
	possessive
)

// node is a piece of a pattern. Which fields it uses depends on its kind.
type node struct {
	kind     kind
	op       opcode
	test     test
	mode     uint8 // of a repetition
	b        byte
	fold     bool
	property bool // written as \p or \P
	class    bool // written in brackets
	negative bool // a lookaround that must not match
	behind   bool
	loose    bool // a lookaround that may be re-entered by backtracking
	at, end  int  // offsets in the pattern; end is set for groups only
	n        int
	name     string // of the group, until n is known
	min, max int
	set      *byteSet
	subs     []*node
	look     *node
	lengths  []int  // of the branches of a lookbehind
	first    *first // computed when it is first needed
}

func sequence(items []*node) *node {
	switch len(items) {
	case 0:
		return &node{kind: kindEmpty}
	case 1:
		return items[0]
	}
	return &node{kind: kindSeq, subs: items}
}

func alternation(branches []*node) *node {
	if len(branches) == 1 {
		return branches[0]
	}
	return &node{kind: kindAlt, subs: branches}
}

func oneOf(set byteSet) *node { return &node{kind: kindSet, set: &set} }

// items returns the parts of a branch.
func (n *node) items() []*node {
	switch n.kind {
	case kindEmpty:
		return nil
	case kindSeq:
		return n.subs
	default:
		return []*node{n}
	}
}

// branches returns the alternatives of the body of a group.
func (n *node) branches() []*node {
	if n.kind == kindAlt {
		return n.subs
	}
	return []*node{n}
}

// single returns the set if the node matches exactly one byte out of a set, else nil.
func (n *node) single() *byteSet {
	switch n.kind {
	case kindSet:
		return n.set
	case kindByte:
		s := setOf(string([]byte{n.b}))
		if n.fold {
			s = s.folded()
		}
		return &s
	default:
		return nil
	}
}
