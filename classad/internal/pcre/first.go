package pcre

import "math"

// first is what a match of a node can begin with.
type first struct {
	set   byteSet
	empty bool // it may match nothing; then the set is of no use to its callers
	ends  bool // it may end the match, whatever comes after it
}

// firstOf computes the first of a node once.
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

// leastLength is a number of bytes that every match of a node has at least.
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

// startKind is how the search finds places where a match may begin.
type startKind uint8

const (
	startAnywhere startKind = iota
	startAtBegin            // only at the begin of the subject
	startAtFrom             // only where the search begins
	startAtLine             // there and after newlines
	startAtPrefix           // where a literal is
	startInSet              // at one of some bytes
)

// start is what is known about the beginnings of matches.
type start struct {
	kind   startKind
	whole  bool   // the prefix is everything, so that finding it is matching
	prefix string // what matches begin with, also for startAtBegin
	set    byteSet
	least  int // how long matches are at least
	entry  int // the instruction behind those that only say what is known when the place is: ^ and the prefix
}

// startOf finds the best way to look for matches of a pattern. Accepts tells that there is an (*ACCEPT), because of
// which a match may be shorter than it looks.
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

// isAnchored tells whether every branch begins with the assertion.
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

// leadingStar gives the set of an item such as .* at the begin of a pattern. If it does not match at one place, it does
// not match at the next ones either, up to the first byte that is not in the set: it would have tried the rest of the
// pattern there. That is not so if it is possessive.
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
