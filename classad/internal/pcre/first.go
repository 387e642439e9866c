package pcre

import "math"

// first describes how a match of a node can begin.
type first struct {
	set   byteSet
	empty bool // the match may be empty; then the set is useless
	ends  bool // the node may end the whole match, whatever follows it
}

// firstOf returns how a match of the node can begin, which it computes only once.
func firstOf(n *node) *first {
	if n.first == nil {
		f := computeFirst(n)
		n.first = &f
	}
	return n.first
}

func computeFirst(n *node) first {
	switch n.kind {
	case kindByte:
		return first{set: *n.single()}
	case kindSet, kindNewline:
		return first{set: *n.set}
	case kindEmpty, kindAssert, kindKeep, kindLook:
		return first{empty: true}
	case kindFail:
		return first{}
	case kindSeq:
		return firstOfSequence(n.subs)
	case kindAlt:
		return firstOfBranches(n.subs)
	case kindGroup, kindAtomic:
		return *firstOf(n.subs[0])
	case kindCond:
		out := firstOfBranches(n.subs)
		out.empty = out.empty || len(n.subs) == 1
		return out
	case kindRepeat:
		if n.max == 0 {
			return first{empty: true}
		}
		out := *firstOf(n.subs[0])
		out.empty = out.empty || n.min == 0
		return out
	case kindAccept:
		return first{empty: true, ends: true}
	default: // references and calls
		return first{set: allBytes, empty: true}
	}
}

func firstOfSequence(items []*node) first {
	out := first{empty: true}
	for _, item := range items {
		f := firstOf(item)
		out.set.union(&f.set)
		if out.ends = f.ends; f.ends || !f.empty {
			out.empty = f.empty
			break
		}
	}
	return out
}

func firstOfBranches(branches []*node) first {
	var out first
	for _, branch := range branches {
		f := firstOf(branch)
		out.set.union(&f.set)
		out.empty, out.ends = out.empty || f.empty, out.ends || f.ends
	}
	return out
}

// leastLength returns a lower bound for the length of the node's matches.
func leastLength(n *node) int {
	switch n.kind {
	case kindByte, kindSet, kindNewline:
		return 1
	case kindSeq:
		total := 0
		for _, item := range n.subs {
			total = min(total+leastLength(item), math.MaxInt32)
		}
		return total
	case kindAlt:
		return leastOf(n.subs)
	case kindGroup, kindAtomic:
		return leastLength(n.subs[0])
	case kindCond:
		if len(n.subs) == 1 {
			return 0
		}
		return leastOf(n.subs)
	case kindRepeat:
		return min(n.min*leastLength(n.subs[0]), math.MaxInt32)
	default:
		return 0
	}
}

func leastOf(branches []*node) int {
	least := math.MaxInt32
	for _, branch := range branches {
		least = min(least, leastLength(branch))
	}
	return least
}

// startKind is how a search finds the places where a match may begin.
type startKind uint8

const (
	startAnywhere startKind = iota
	startAtBegin            // only at the begin of the subject
	startAtFrom             // only where the search begins
	startAtLine             // there and after newlines
	startAtPrefix           // where a literal is
	startInSet              // at one of some bytes
)

// start is what is known about how matches begin.
type start struct {
	kind   startKind
	whole  bool   // the prefix is the whole pattern, so finding it is a match
	prefix string // what matches begin with, also for startAtBegin
	set    byteSet
	least  int // the minimum length of matches
	entry  int // the instruction after those that the search makes superfluous: ^ and the prefix
}

// startOf finds the fastest way to search for matches. accepts means that the pattern has an
// (*ACCEPT), which may make a match shorter than it looks.
func startOf(root *node, accepts bool) start {
	var s start
	if !accepts {
		s.least = leastLength(root)
	}
	items := root.items()
	if isAnchored(root, opBegin) {
		s.kind = startAtBegin
		if len(items) > 0 && items[0].kind == kindAssert {
			s.prefix, s.whole = literalPrefix(items[1:])
		}
		return s
	}
	if isAnchored(root, opFrom) {
		s.kind = startAtFrom
		return s
	}
	if len(items) > 0 {
		if set := leadingStar(items[0]); set != nil && *set == allBytes {
			s.kind = startAtFrom
			return s
		} else if set != nil && *set == notNewline {
			s.kind = startAtLine
			return s
		}
	}
	if s.prefix, s.whole = literalPrefix(items); s.prefix != "" {
		s.kind = startAtPrefix
		return s
	}
	if f := firstOf(root); !f.empty {
		s.kind, s.set = startInSet, f.set
	}
	return s
}

// isAnchored reports whether every branch begins with the assertion op.
func isAnchored(n *node, op opcode) bool {
	switch n.kind {
	case kindAssert:
		return n.op == op
	case kindSeq, kindGroup, kindAtomic:
		return isAnchored(n.subs[0], op)
	case kindAlt:
		for _, branch := range n.subs {
			if !isAnchored(branch, op) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// leadingStar returns the set of an item such as .* at the start of a pattern, or nil if the item
// is none. If the pattern does not match at one place, it does not match at the next ones either,
// up to the first byte that is not in the set, because the item already tried the rest of the
// pattern there. That does not hold for a possessive item.
func leadingStar(n *node) *byteSet {
	if n.kind == kindRepeat && n.min == 0 && n.max == unlimited && n.mode != possessive {
		return n.subs[0].single()
	}
	return nil
}

func literalPrefix(items []*node) (prefix string, whole bool) {
	literal := run(items)
	if len(literal) > 0 && literal[0].fold {
		return "", false
	}
	return text(literal), len(literal) == len(items)
}
