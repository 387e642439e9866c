package pcre

import "strings"

// step runs the instructions that are too rare for [machine.run]. It returns the next instruction,
// negative if this one fails, and the position.
func (m *machine) step(in *inst, pc, pos int) (next, at int) {
	switch in.op {
	case opFold, opFoldString, opNewline, opBackref:
		if pos = m.consume(in, pos); pos < 0 {
			return -1, 0
		}
	case opLineStart, opEnd, opLineEnd, opWordEdge, opNotWordEdge, opFrom:
		if !m.holds(in.op, pos) {
			return -1, 0
		}
	case opClose, opCloseEarly:
		return m.closeGroup(in, pc, pos), pos
	case opZero, opCount, opIncrement, opCheckEmpty, opCountedEmpty:
		return m.count(in, pc, pos), pos
	case opKeep:
		m.setRegister(0, int32(pos))
	case opFail:
		return -1, 0
	case opAccept:
		if m.call >= 0 {
			return m.endCall(), pos
		}
		return len(m.re.prog) - 1, pos
	case opCall:
		return m.begin(in, pc, pos), pos
	case opIfGroup:
		if !m.isSet(in.x) {
			return int(in.y), pos
		}
	case opIfCall:
		if m.call < 0 || in.x > 0 && m.calls[m.call].group != in.x {
			return int(in.y), pos
		}
	default:
		return m.look(in, pc, pos)
	}
	return pc + 1, pos
}

// look runs the instructions at the start and end of atomic groups and lookarounds; its results are
// those of step.
func (m *machine) look(in *inst, pc, pos int) (next, at int) {
	height := int32(len(m.stack))
	switch in.op {
	case opAtomic:
		m.setRegister(in.x, height)
	case opCut:
		m.cut(m.regs[in.x])
	case opLook:
		m.setRegister(in.x, height)
		m.setRegister(in.x+1, int32(pos))
	case opLookEnd:
		pos = int(m.regs[in.x+1])
		m.cut(m.regs[in.x])
	case opLooseEnd:
		pos = int(m.regs[in.x+1])
	case opUnless:
		m.setRegister(in.x, height)
		m.push(entry{kind: entryGo, x: in.y, pos: int32(pos)})
	case opUnlessEnd:
		m.unwind(m.regs[in.x])
		return -1, 0
	case opIf:
		m.setRegister(in.x, height)
		m.setRegister(in.x+1, int32(pos))
		m.push(entry{kind: entryGo, x: in.y, pos: int32(pos)})
	case opBack:
		if pos -= int(in.x); pos < 0 {
			return -1, 0
		}
	default:
	}
	return pc + 1, pos
}

// closeGroup sets a capture, or returns from the group if it was called. It returns the next
// instruction.
func (m *machine) closeGroup(in *inst, pc, pos int) int {
	if m.call >= 0 {
		if in.op == opCloseEarly {
			return pc + 1
		}
		if m.calls[m.call].group == in.x {
			return m.returns()
		}
	}
	m.setRegister(2*in.x, m.regs[in.y])
	m.setRegister(2*in.x+1, int32(pos))
	if top := m.re.top; top > 0 && m.regs[top] < in.x {
		m.setRegister(top, in.x)
	}
	return pc + 1
}

// isSet reports whether a group took part in the match. PCRE2 keeps the number of the highest group
// that is set, and lowers it at the end of a call to what it was before. This unsets the groups
// above, but when a group above them is set later, they reappear as the call left them.
func (m *machine) isSet(group int32) bool {
	return m.regs[2*group+1] >= 0 && (m.re.top == 0 || group <= m.regs[m.re.top])
}

// count runs the instructions of loops and returns the next instruction.
func (m *machine) count(in *inst, pc, pos int) int {
	switch in.op {
	case opZero:
		m.setRegister(in.x, 0)
	case opCount:
		count := m.regs[in.x]
		switch {
		case count < in.n:
		case in.most != unlimited && count >= in.most:
			return int(in.y)
		case in.mode == lazy:
			m.push(entry{kind: entryGo, x: int32(pc + 1), pos: int32(pos)})
			return int(in.y)
		default:
			m.push(entry{kind: entryGo, x: in.y, pos: int32(pos)})
		}
	case opIncrement:
		if count := m.regs[in.x]; count < in.most {
			m.setRegister(in.x, count+1)
		}
	case opCountedEmpty:
		if m.regs[in.x] == int32(pos) && m.regs[in.z] >= in.n {
			return int(in.y)
		}
	case opCheckEmpty:
		if m.regs[in.x] == int32(pos) {
			return int(in.y)
		}
	default:
	}
	return pc + 1
}

// consume runs the instructions that match more than one byte or have more than one case. It
// returns the position after the bytes, or -1.
func (m *machine) consume(in *inst, pos int) int {
	rest := m.s[pos:]
	switch in.op {
	case opFold:
		if rest != "" && lower(rest[0]) == in.b {
			return pos + 1
		}
	case opFoldString:
		m.steps -= len(in.text) >> 4
		if len(rest) >= len(in.text) && equalFold(rest[:len(in.text)], in.text) {
			return pos + len(in.text)
		}
	case opNewline:
		if strings.HasPrefix(rest, "\r\n") {
			return pos + 2
		}
		if rest != "" && in.set.has(rest[0]) {
			return pos + 1
		}
	case opBackref:
		if !m.isSet(in.x) {
			return -1
		}
		text := m.s[m.regs[2*in.x]:m.regs[2*in.x+1]]
		m.steps -= len(text) >> 4
		if strings.HasPrefix(rest, text) || in.fold && len(rest) >= len(text) && equalFold(rest[:len(text)], text) {
			return pos + len(text)
		}
	default:
	}
	return -1
}

func equalFold(a, b string) bool {
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// holds reports whether a position assertion is true. A newline at the very end of the subject
// begins no line.
func (m *machine) holds(op opcode, pos int) bool {
	s := m.s
	switch op {
	case opLineStart:
		return pos == 0 || pos < len(s) && s[pos-1] == '\n'
	case opEnd:
		return pos == len(s)
	case opLineEnd:
		return pos == len(s) || s[pos] == '\n'
	case opFrom:
		return pos == m.from
	default:
		edge := (pos > 0 && isWord(s[pos-1])) != (pos < len(s) && isWord(s[pos]))
		return edge == (op == opWordEdge)
	}
}
