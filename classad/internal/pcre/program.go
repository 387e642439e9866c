package pcre

// opcode is the operation of an instruction.
type opcode uint8

const (
	opByte       opcode = iota // one byte: b
	opFold                     // one byte: b in either case
	opSet                      // one byte out of set
	opString                   // the bytes of text
	opFoldString               // the bytes of text, which is in lower case, in either case
	opNewline                  // CR LF, or a byte out of set
	opRepeat                   // x to y bytes out of set, in the given mode
	// Continue; go to x if that fails. With a set, go to x at once if the next byte is not in it.
	opSplit
	opSplitTo // go to x; continue if that fails. With a set, continue at once if the next byte is not in it
	opJump    // go to x

	opOpen  // register x is the beginning of a group
	opClose // group x ends; its beginning is in register y
	opMatch // the end of the pattern
	opAccept
	opCloseEarly // as opClose, because of an (*ACCEPT)

	opMark         // register x is the position where an iteration begins
	opCheckEmpty   // go to y if the iteration consumed nothing; register x is from opMark
	opCountedEmpty // the same if at least n iterations were counted in register z
	opZero         // register x is 0
	opCount        // another iteration, or go to y; x is the counter, n and most are the limits
	opIncrement    // register x is one higher, but at most most

	opAtomic    // register x is the height of the stack
	opCut       // drop the choices pushed since, but not the registers to restore
	opLook      // as opAtomic, and the next register is the position
	opLookEnd   // as opCut, and go back to the position
	opLooseEnd  // only go back to the position
	opUnless    // as opAtomic; go to y if what follows fails
	opUnlessEnd // what followed opUnless did not fail, so this does
	opIf        // as opLook; go to y if what follows fails
	opBack      // x bytes back

	opBegin // the position assertions
	opLineStart
	opEnd
	opEndOrNewline
	opLineEnd
	opWordEdge
	opNotWordEdge
	opFrom

	opKeep
	opFail
	opBackref // what group x matched
	opCall    // call the group x, whose code is at y
	opIfGroup // go to y if the group x is not set
	opIfCall  // go to y unless within a call of the group x, 0 for any group
)

// scan is how opRepeat finds the end of the bytes.
type scan uint8

const (
	scanSet scan = iota
	scanAll      // every byte is in the set
	scanTo       // every byte but b is in the set
)

// inst is an instruction.
type inst struct {
	op      opcode
	mode    uint8 // of opRepeat and opCount
	scan    scan
	b       byte
	fold    bool
	x, y, z int32
	n, most int32
	set     *byteSet
	text    string // of a string; also the literal that comes after opRepeat, if there is one
}

// Regexp is a compiled pattern. It never changes and is safe for concurrent use.
type Regexp struct {
	prog      []inst
	groups    int
	registers int
	top       int32 // the register that holds the highest group that is set, or 0 if no group is called
	start     start
}

// emitter makes a program from a tree.
type emitter struct {
	prog      []inst
	registers int32
	groups    int
	code      map[int]int32 // where the first group of each number begins
	calls     []int32       // call instructions to fill in with that position
	looks     []lookEnd     // the lookarounds around the current code
	accepts   bool
}

// lookEnd is the end of a lookaround, for (*ACCEPT).
type lookEnd struct {
	end   inst
	jumps []int32 // instructions that must jump past the lookaround
}

func compile(root *node, groups int) *Regexp {
	e := &emitter{groups: groups, code: map[int]int32{0: 0}, registers: int32(3*groups + 2)}
	e.node(root)
	e.add(inst{op: opMatch})
	re := &Regexp{groups: groups, start: startOf(root, e.accepts)}
	for _, call := range e.calls {
		e.prog[call].y = e.code[int(e.prog[call].x)]
	}
	if len(e.calls) > 0 {
		re.top = e.register(1)
	}
	re.prog, re.registers = e.prog, int(e.registers)
	if re.start.kind == startAtBegin && re.prog[0].op == opBegin {
		re.start.entry++
	}
	if re.start.prefix != "" {
		re.start.entry++
	}
	return re
}

func (e *emitter) add(in inst) int32 {
	e.prog = append(e.prog, in)
	return int32(len(e.prog) - 1)
}

func (e *emitter) here() int32 { return int32(len(e.prog)) }

func (e *emitter) register(count int32) int32 {
	e.registers += count
	return e.registers - count
}

// opens returns the register for the start of a group that is still open. The registers before it
// are the captures.
func (e *emitter) opens(group int) int32 { return int32(2*e.groups + 1 + group) }

func (e *emitter) node(n *node) {
	switch n.kind {
	case kindEmpty:
	case kindByte, kindSeq:
		e.sequence(n.items())
	case kindSet:
		e.add(inst{op: opSet, set: n.set})
	case kindNewline:
		e.add(inst{op: opNewline, set: n.set})
	case kindAssert:
		e.add(inst{op: n.op})
	case kindKeep:
		e.add(inst{op: opKeep})
	case kindFail:
		e.add(inst{op: opFail})
	case kindAccept:
		e.accept(n)
	case kindBackref:
		e.add(inst{op: opBackref, x: int32(n.n), fold: n.fold})
	case kindCall:
		e.calls = append(e.calls, e.add(inst{op: opCall, x: int32(n.n)}))
	case kindAlt:
		e.alternatives(n.subs, nil)
	case kindGroup:
		e.group(n)
	case kindAtomic:
		e.atomic(func() { e.node(n.subs[0]) })
	case kindLook:
		e.look(n)
	case kindCond:
		e.conditional(n)
	case kindRepeat:
		e.repeat(n, nil)
	}
}

// sequence emits items one after the other. It joins bytes into strings, and tells a repetition
// which items follow it.
func (e *emitter) sequence(items []*node) {
	for i := 0; i < len(items); i++ {
		switch item := items[i]; item.kind {
		case kindByte:
			bytes := run(items[i:])
			e.literal(bytes)
			i += len(bytes) - 1
		case kindRepeat:
			e.repeat(item, items[i+1:])
		default:
			e.node(item)
		}
	}
}

// run returns the leading items that can be joined to one literal: bytes that all ignore case or
// all do not.
func run(items []*node) []*node {
	end := 0
	for end < len(items) && items[end].kind == kindByte && items[end].fold == items[0].fold {
		end++
	}
	return items[:end]
}

func text(bytes []*node) string {
	out := make([]byte, 0, len(bytes))
	for _, n := range bytes {
		out = append(out, n.b)
	}
	return string(out)
}

func (e *emitter) literal(bytes []*node) {
	if len(bytes) == 1 {
		op := opByte
		if bytes[0].fold {
			op = opFold
		}
		e.add(inst{op: op, b: bytes[0].b})
		return
	}
	op := opString
	if bytes[0].fold {
		op = opFoldString
	}
	e.add(inst{op: op, text: text(bytes)})
}

// guard returns the set of bytes that a match of the node begins with, or nil if it may be empty.
func guard(n *node) *byteSet {
	if f := firstOf(n); !f.empty {
		return &f.set
	}
	return nil
}

// alternatives emits code that tries branches one after the other. In a lookbehind, lengths say how
// far back each of them begins.
func (e *emitter) alternatives(branches []*node, lengths []int) {
	var ends []int32
	for i, branch := range branches {
		split := int32(-1)
		if i+1 < len(branches) {
			split = e.add(inst{op: opSplit})
			if lengths == nil {
				e.prog[split].set = guard(branch)
			}
		}
		if lengths != nil && lengths[i] > 0 {
			e.add(inst{op: opBack, x: int32(lengths[i])})
		}
		e.node(branch)
		if split >= 0 {
			ends = append(ends, e.add(inst{op: opJump}))
			e.prog[split].x = e.here()
		}
	}
	for _, end := range ends {
		e.prog[end].x = e.here()
	}
}

func (e *emitter) group(n *node) {
	if n.n == 0 {
		e.node(n.subs[0])
		return
	}
	if _, known := e.code[n.n]; !known {
		e.code[n.n] = e.here()
	}
	e.add(inst{op: opOpen, x: e.opens(n.n)})
	e.node(n.subs[0])
	e.add(inst{op: opClose, x: int32(n.n), y: e.opens(n.n)})
}

func (e *emitter) atomic(body func()) {
	r := e.register(1)
	e.add(inst{op: opAtomic, x: r})
	body()
	e.add(inst{op: opCut, x: r})
}
