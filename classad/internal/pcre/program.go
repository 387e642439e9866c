package pcre

// opcode is what an instruction does.
type opcode uint8

const (
	opByte       opcode = iota // one byte: b
	opFold                     // one byte: b in either case
	opSet                      // one byte out of set
	opString                   // the bytes of text
	opFoldString               // the bytes of text, which is in lower case, in either case
	opNewline                  // CR LF, or a byte out of set
	opRepeat                   // x to y bytes out of set, in the given mode
	opSplit                    // go on; go to x if that fails. With a set, go to x at once if the next byte is not in it
	opSplitTo                  // go to x; go on if that fails. With a set, go on at once if the next byte is not in it
	opJump                     // go to x

	opOpen  // register x is the beginning of a group
	opClose // group x ends; its beginning is in register y
	opMatch // the end of the pattern
	opAccept
	opCloseEarly // as opClose, because of an (*ACCEPT)

	opMark         // register x is the place where an iteration begins
	opCheckEmpty   // go to y if the iteration consumed nothing; register x is from opMark
	opCountedEmpty // the same if at least n iterations were counted in register z
	opZero         // register x is 0
	opCount        // another iteration, or go to y; x is the counter, n and most are the limits
	opIncrement    // register x is one higher, but at most most

	opAtomic    // register x is the height of the stack
	opCut       // forget what was pushed since, but not what has to be restored
	opLook      // as opAtomic, and the next register is the place
	opLookEnd   // as opCut, go back to the place
	opLooseEnd  // only go back to the place
	opUnless    // as opAtomic; go to y if what follows fails
	opUnlessEnd // what followed opUnless did not fail, so this does
	opIf        // as opLook; go to y if what follows fails
	opBack      // x bytes back

	opBegin // the assertions of place
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
	opIfCall  // go to y if not within a call of the group x, 0 for any
)

// scan is how opRepeat counts the bytes.
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

// Regexp is a compiled pattern. It never changes and may be used by many goroutines.
type Regexp struct {
	prog      []inst
	groups    int
	registers int
	top       int32 // the register with the highest group that is set, or 0 if no group is called
	start     start
}

// emitter makes a program out of a tree.
type emitter struct {
	prog      []inst
	registers int32
	groups    int
	code      map[int]int32 // where the first group of each number begins
	calls     []int32       // instructions that need such a place
	looks     []lookEnd     // the lookarounds around the code that is made
	accepts   bool
}

// lookEnd is what an (*ACCEPT) in a lookaround ends.
type lookEnd struct {
	end   inst
	jumps []int32 // instructions that have to go behind the lookaround
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

// opens is the register for the beginning of a group that is not closed yet. The captures are in the registers before.
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

// sequence joins bytes into strings, and tells repetitions what follows them.
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

// run gives the items at the begin that can be joined to one literal.
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

// guard gives the set of bytes that a node begins with, or nil if it may be empty.
func guard(n *node) *byteSet {
	if f := firstOf(n); !f.empty {
		return &f.set
	}
	return nil
}

// alternatives tries branches one after the other. Lengths are how far back each of them begins, in a lookbehind.
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
