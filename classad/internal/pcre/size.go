package pcre

// maxCompiled is the maximum length of PCRE2's compiled form of a pattern. PCRE2 copies repeated
// groups, so (a{1000}){1000}{10} is an error there. This package does not, but keeps the limit,
// because a ClassAd must mean the same to both.
const maxCompiled = 1 << 16

// The lengths of PCRE2's codes, with links of two bytes.
const (
	sizeLink  = 3 // a code with a link
	sizeGroup = 2 * sizeLink
)

// compiledSize estimates the length of PCRE2's compiled form, or returns some value above the
// limit.
func compiledSize(root *node) int { return size(root) + sizeGroup + 1 }

func sizeOf(branches []*node) int { return sum(branches) + sizeLink*(len(branches)-1) }

func sum(nodes []*node) int {
	total := 0
	for _, n := range nodes {
		total = min(total+size(n), maxCompiled+1)
	}
	return total
}

func size(n *node) int {
	switch n.kind {
	case kindEmpty:
		return 0
	case kindByte:
		return 2
	case kindSet:
		return sizeOfSet(n)
	case kindBackref, kindCall:
		return 3
	case kindSeq:
		return sum(n.subs)
	case kindAlt:
		return sizeOf(n.subs)
	case kindGroup:
		if n.n > 0 {
			return sizeGroup + 2 + size(n.subs[0])
		}
		return sizeGroup + size(n.subs[0])
	case kindAtomic:
		return sizeGroup + size(n.subs[0])
	case kindLook:
		total := sizeGroup + sizeOf(n.subs)
		if n.behind {
			total += sizeLink * len(n.subs)
		}
		return total
	case kindCond:
		if n.look != nil {
			return sizeGroup + size(n.look) + sizeOf(n.subs)
		}
		return sizeGroup + 3 + sizeOf(n.subs)
	case kindRepeat:
		return min(sizeOfRepeat(n), maxCompiled+1)
	default:
		return 1
	}
}

// sizeOfSet returns the length of the code of a set: some sets have short codes of their own, all
// others need a bit map.
func sizeOfSet(n *node) int {
	if n.property {
		return 3
	}
	if !n.class {
		return 1
	}
	if count, _ := n.set.size(); count == 1 {
		return 2
	}
	if inverse := n.set.inverse(); inverse != (byteSet{}) {
		if count, _ := inverse.size(); count == 1 {
			return 2
		}
	}
	return 1 + 32
}

func sizeOfRepeat(n *node) int {
	item := n.subs[0]
	one := size(item)
	switch {
	case item.kind == kindBackref || item.kind == kindSet && one == 1+32:
		if n.max == 1 || n.max == unlimited && n.min <= 1 {
			return one + 1
		}
		return one + 5
	case item.kind == kindByte || item.kind == kindSet || item.kind == kindNewline:
		return sizeOfByteRepeat(n, one)
	case item.kind == kindCall:
		if n.min == n.max {
			return n.min * one
		}
		return n.min*one + sizeOfGroupRepeat(&node{max: max(n.max-n.min, unlimited), mode: n.mode}, one+sizeGroup)
	default:
		return sizeOfGroupRepeat(n, one)
	}
}

// sizeOfByteRepeat counts one code for the required iterations and one for the others. Escapes such
// as \d and properties have a prefix when they are repeated. The parameter one is the length of the
// repeated code.
func sizeOfByteRepeat(n *node, one int) int {
	repeated := 2
	if one != 2 {
		repeated = one + 1
	}
	total := 0
	switch {
	case n.min == 1 && n.max != unlimited:
		total = one
	case n.min > 1:
		total = repeated + 2
	}
	switch {
	case n.max == 0:
		total = one
	case n.max == n.min:
	case n.max == unlimited, n.max == n.min+1 && n.min != 1:
		total += repeated
	default:
		total += repeated + 2
	}
	return total
}

// sizeOfGroupRepeat returns the length of a repeated group, of which PCRE2 makes copies; the
// parameter one is the length of one copy. PCRE2 nests each optional copy in the one before.
func sizeOfGroupRepeat(n *node, one int) int {
	const nested = 1 + sizeGroup
	total := n.min * one
	switch {
	case n.min == 0 && n.max <= 1: // or unlimited
		total = one + 1
	case n.max > n.min:
		total += (n.max-n.min)*(one+nested) - sizeGroup
	}
	if n.mode == possessive && (n.max != unlimited || n.min > 1) {
		total += sizeGroup
	}
	return total
}
