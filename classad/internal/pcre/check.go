package pcre

import "slices"

// checker finds the mistakes that show only in the tree as a whole, and replaces names by numbers.
type checker struct {
	*parser
	byNumber map[int]*node // the first group of each number
	called   map[int]bool
	accepts  []*node // the (*ACCEPT)s inside lookarounds, with the groups that are open there
	measured int     // the number of branches that were measured
	lengths  map[int]int
}

// scope says what a node is inside of.
type scope struct {
	looks int     // the number of lookarounds
	open  []*node // the capturing groups within the innermost of them
}

// check returns the first mistake, or nil.
func check(p *parser, root *node) *Error {
	c := &checker{parser: p, byNumber: map[int]*node{}, called: map[int]bool{}, lengths: map[int]int{}}
	c.collect(root)
	c.visit(root, scope{})
	for _, accept := range c.accepts {
		for _, group := range accept.subs {
			if c.called[group.n] {
				p.fail(accept.at, "(*ACCEPT) in an assertion and in a group that is called is not supported")
			}
		}
	}
	if p.err == nil && compiledSize(root) > maxCompiled {
		p.fail(len(p.src), "regular expression is too large")
	}
	return p.err
}

func (c *checker) collect(n *node) {
	if n.kind == kindGroup && n.n > 0 && c.byNumber[n.n] == nil {
		c.byNumber[n.n] = n
	}
	for _, sub := range n.subs {
		c.collect(sub)
	}
	if n.look != nil {
		c.collect(n.look)
	}
}

func (c *checker) visit(n *node, in scope) {
	switch n.kind {
	case kindBackref, kindCall:
		c.resolve(n)
		if n.kind == kindCall {
			c.called[n.n] = true
		}
	case kindCond:
		c.resolveCondition(n)
	case kindGroup:
		if n.n > 0 {
			in.open = append(slices.Clip(in.open), n)
		}
	case kindKeep:
		if in.looks > 0 {
			c.fail(n.at, `\K is not allowed in lookarounds`)
		}
	case kindAccept:
		n.n = in.looks
		n.subs = in.open
		if in.looks > 0 {
			c.accepts = append(c.accepts, n)
		}
		return // its subs were visited above
	case kindLook:
		in = scope{looks: in.looks + 1}
		if n.behind && n.lengths == nil {
			n.lengths = c.branchLengths(n, nil)
		}
	default:
	}
	if n.look != nil {
		c.visit(n.look, in)
	}
	for _, sub := range n.subs {
		c.visit(sub, in)
	}
}

// resolve sets the number of a group that is referred to by name.
func (c *checker) resolve(n *node) {
	if n.name != "" {
		n.n = c.numbers[n.name]
		if n.n == 0 {
			c.fail(n.at, msgNoSuchGroup)
		}
		n.name = ""
	}
	if n.n > c.groups {
		c.fail(n.at, msgNoSuchGroup)
	}
}

func (c *checker) resolveCondition(n *node) {
	if n.test == testEither {
		n.test = testGroup
		if number, ok := recursionNumber(n.name); ok && c.numbers[n.name] == 0 {
			n.test, n.n, n.name = testCall, number, ""
		}
	}
	if n.test == testGroup || n.test == testCall {
		c.resolve(n)
	}
}

// notFixed stands for a length that is not fixed.
const notFixed = -1

// maxBehind is the maximum length of a lookbehind, and maxMeasured the maximum number of branches
// that are measured in a pattern; both are PCRE2's.
const (
	maxBehind   = 65535
	maxMeasured = 2000
)

// branchLengths returns the lengths of the branches of a lookbehind, each of which must be fixed.
// chain lists the groups that are being measured because of a reference to them.
func (c *checker) branchLengths(look *node, chain []*node) []int {
	var lengths []int
	for _, body := range look.subs {
		length := c.branchLength(body, chain)
		if length == notFixed {
			c.fail(look.at, msgNotFixed)
		}
		lengths = append(lengths, length)
	}
	return lengths
}

// branchLength adds up the lengths of the items of a branch; notFixed if an item has no fixed
// length.
func (c *checker) branchLength(branch *node, chain []*node) int {
	if c.measured++; c.measured > maxMeasured {
		c.fail(branch.at, "lookbehind is too complicated")
	}
	total := 0
	for _, item := range branch.items() {
		if c.err != nil || item.kind == kindAccept || item.kind == kindFail {
			break
		}
		length := c.itemLength(item, chain)
		if length == notFixed {
			return notFixed
		}
		if total += length; total > maxBehind {
			c.fail(branch.at, "lookbehind assertion is too long")
			break
		}
	}
	return total
}

func (c *checker) itemLength(n *node, chain []*node) int {
	switch n.kind {
	case kindByte, kindSet:
		return 1
	case kindNewline:
		return notFixed
	case kindBackref, kindCall:
		return c.referenceLength(n, chain)
	case kindGroup:
		return c.groupLength(n.n, n.subs[0].branches(), chain)
	case kindAtomic:
		return c.groupLength(0, n.subs[0].branches(), chain)
	case kindCond:
		if n.test == testDefine {
			return 0
		}
		return c.groupLength(0, n.subs, chain)
	case kindRepeat:
		return c.repeatLength(n, chain)
	case kindLook:
		c.measureNested(n, chain)
		return 0
	default:
		return 0
	}
}

// measureNested measures the lookbehinds within a nested lookaround. Their lengths must not depend
// on a group that is being measured.
func (c *checker) measureNested(n *node, chain []*node) {
	if n.kind == kindLook && n.behind {
		n.lengths = c.branchLengths(n, chain)
		return
	}
	for _, sub := range n.subs {
		if c.err != nil || n.kind == kindAccept {
			return
		}
		c.measureNested(sub, chain)
	}
	if n.look != nil {
		c.measureNested(n.look, chain)
	}
}

func (c *checker) repeatLength(n *node, chain []*node) int {
	item := n.subs[0]
	length := c.itemLength(item, chain)
	if item.kind == kindLook && !item.behind {
		return 0
	}
	if length == notFixed || n.min != n.max {
		return notFixed
	}
	if length*n.min > maxBehind {
		c.fail(n.at, "lookbehind assertion is too long")
		return 0
	}
	return length * n.min
}

// groupLength returns the common length of all branches of a group; notFixed if there is none.
func (c *checker) groupLength(number int, branches []*node, chain []*node) int {
	if known, ok := c.lengths[number]; ok && number > 0 && !c.shared {
		return known
	}
	length := c.branchLength(branches[0], chain)
	for _, branch := range branches[1:] {
		if c.branchLength(branch, chain) != length {
			length = notFixed
			break
		}
	}
	if number > 0 {
		c.lengths[number] = length
	}
	return length
}

// referenceLength returns the length of the group to which a reference or a call refers; notFixed
// if the group contains the reference or is already being measured.
func (c *checker) referenceLength(n *node, chain []*node) int {
	if n.kind == kindBackref && c.shared {
		return notFixed
	}
	c.resolve(n)
	group := c.byNumber[n.n]
	if group == nil || n.at > group.at && n.at < group.end {
		return notFixed
	}
	if slices.Contains(chain, group) {
		return notFixed
	}
	return c.groupLength(n.n, group.subs[0].branches(), append(slices.Clip(chain), group))
}
