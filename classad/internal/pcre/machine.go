package pcre

import (
	"strings"
	"sync"
)

// Limits of the memory of a match; a match that exceeds them ends with [ErrBudget].
const (
	maxStack = 1 << 20 // entries
	maxSaved = 1 << 21 // registers saved for calls
	maxKept  = 1 << 14 // entries of a stack that is kept for the next match
)

// machine runs a program. Everything that must be restored when a choice fails is on its own stack,
// so that the depth of Go's stack does not depend on the subject.
type machine struct {
	re    *Regexp
	s     string
	from  int
	steps int
	err   error
	// notEmpty rejects matches of length 0.
	notEmpty bool

	regs  []int32 // 2 for each group and the match, 1 for each open group, and those that instructions use
	stack []entry
	calls []call
	saved []int32
	call  int32 // the innermost call in progress, or -1
}

var machines = sync.Pool{New: func() any { return &machine{stack: make([]entry, 0, 64)} }}

func newMachine(re *Regexp, s string, from, steps int) *machine {
	m, _ := machines.Get().(*machine)
	m.re, m.s, m.from, m.steps = re, s, from, steps
	if cap(m.regs) < re.registers {
		m.regs = make([]int32, re.registers)
	}
	m.regs = m.regs[:re.registers]
	return m
}

// release returns the machine to the pool without references to its input.
func (m *machine) release() {
	if cap(m.stack) > maxKept || cap(m.saved) > maxKept || cap(m.regs) > maxKept {
		return
	}
	m.re, m.s, m.err = nil, "", nil
	machines.Put(m)
}

// search looks for a match that begins at the index at or later, and reports whether there is one.
// It tries only places where a match may begin.
func (m *machine) search(at int) bool {
	st := &m.re.start
	last := len(m.s) - st.least
	for ; at <= last; at++ {
		switch st.kind {
		case startAnywhere:
		case startAtBegin:
			return at == 0 && m.run(0)
		case startAtFrom:
			return m.run(at)
		case startAtLine:
			if at > m.from {
				line := strings.IndexByte(m.s[at-1:], '\n')
				if line < 0 {
					return false
				}
				at += line
			}
		case startAtPrefix:
			next := strings.Index(m.s[at:], st.prefix)
			if next < 0 {
				m.steps -= (len(m.s) - at) >> 5
				return false
			}
			m.steps -= next >> 5
			at += next
		case startInSet:
			before := at
			for at < len(m.s) && !st.set.has(m.s[at]) {
				at++
			}
			m.steps -= (at - before) >> 4
			if at == len(m.s) {
				return false
			}
		}
		if m.run(at) {
			return true
		}
		if m.steps < 0 {
			return false
		}
	}
	return false
}

// run reports whether the program matches at one place. If the steps run out, it returns false and
// leaves a negative number of steps.
func (m *machine) run(pos int) bool {
	m.reset(pos)
	prog, s, pc := m.re.prog, m.s, m.re.start.entry
	pos += len(m.re.start.prefix)
	for {
		if m.steps--; m.steps < 0 {
			return false
		}
		in := &prog[pc]
		ok := true
		switch in.op {
		case opByte:
			ok = pos < len(s) && s[pos] == in.b
			pos++
		case opSet:
			ok = pos < len(s) && in.set.has(s[pos])
			pos++
		case opString:
			ok = m.hasText(in.text, pos)
			pos += len(in.text)
		case opRepeat:
			pos = m.repeat(in, pc, pos)
			ok = pos >= 0
		case opSplit:
			pc = m.split(in, int32(pc+1), in.x, pos)
			continue
		case opSplitTo:
			pc = m.split(in, in.x, int32(pc+1), pos)
			continue
		case opJump:
			pc = int(in.x)
			continue
		case opBegin:
			ok = pos == 0
		case opEndOrNewline:
			ok = pos == len(s) || pos == len(s)-1 && s[pos] == '\n'
		case opOpen, opMark:
			m.setRegister(in.x, int32(pos))
		case opMatch:
			if m.call >= 0 {
				pc = m.endCall()
				continue
			}
			if ok = m.ends(pos); ok {
				return true
			}
		default:
			next := 0
			if next, pos = m.step(in, pc, pos); next >= 0 {
				pc = next
				continue
			}
			ok = false
		}
		if ok {
			pc++
		} else if pc, pos = m.backtrack(); pc < 0 {
			return false
		}
	}
}

// ends reports whether the match may end at pos, and stores pos as its end.
func (m *machine) ends(pos int) bool {
	m.regs[1] = int32(pos)
	return !m.notEmpty || m.regs[0] != int32(pos)
}

// reset prepares the machine for a match that begins at pos.
func (m *machine) reset(pos int) {
	captures := m.regs[:2*m.re.groups+2]
	for i := range captures {
		captures[i] = -1
	}
	captures[0] = int32(pos)
	m.steps -= len(captures) >> 4
	if m.re.top > 0 {
		m.regs[m.re.top] = 0
	}
	m.stack, m.calls, m.saved, m.call = m.stack[:0], m.calls[:0], m.saved[:0], -1
}

// split returns the instruction now and pushes later as its alternative. If the next byte shows
// that now would fail, it only returns later.
func (m *machine) split(in *inst, now, later int32, pos int) int {
	if in.set != nil && (pos == len(m.s) || !in.set.has(m.s[pos])) {
		return int(later)
	}
	m.push(entry{kind: entryGo, x: later, pos: int32(pos)})
	return int(now)
}

// repeat matches as many bytes as possible and pushes the choice of fewer, or the reverse if it is
// lazy. It returns the position after the bytes, or -1.
func (m *machine) repeat(in *inst, pc, pos int) int {
	low, high := pos+int(in.x), min(len(m.s), pos+int(in.y))
	if low > len(m.s) {
		return -1
	}
	if in.mode == lazy {
		if m.scan(in, pos, low) < low {
			return -1
		}
		m.push(entry{kind: entryMore, x: int32(pc), pos: int32(low), low: int32(high)})
		return low
	}
	end := m.scan(in, pos, high)
	if end < low {
		return -1
	}
	if in.mode == possessive {
		return end
	}
	return m.giveBack(in, pc, end, low)
}

// scan returns the position after the bytes from pos on that are in the set, at most high.
func (m *machine) scan(in *inst, pos, high int) int {
	start := pos
	switch in.scan {
	case scanAll:
		return high
	case scanTo:
		if length := strings.IndexByte(m.s[pos:high], in.b); length >= 0 {
			return pos + length
		}
		pos = high
	default:
		for pos < high && in.set.has(m.s[pos]) {
			pos++
		}
	}
	m.steps -= (pos - start) >> 4
	return pos
}

// giveBack moves from the end of a repetition back, to low at most, to a place where the pattern
// may continue, and pushes the remaining choices. It returns that place, or -1.
func (m *machine) giveBack(in *inst, pc, end, low int) int {
	if in.text != "" {
		end = min(end, len(m.s)-len(in.text))
		before := end
		for end >= low && !m.literalAt(in.text, end) {
			end--
		}
		m.steps -= (before - end) >> 4
	}
	if end < low {
		return -1
	}
	if end > low {
		m.push(entry{kind: entryFewer, x: int32(pc), pos: int32(end), low: int32(low)})
	}
	return end
}

// hasText reports whether the text stands at that place; a long one costs more than one step.
func (m *machine) hasText(text string, at int) bool {
	m.steps -= len(text) >> 5
	return strings.HasPrefix(m.s[at:], text)
}

func (m *machine) literalAt(text string, at int) bool {
	if m.s[at] != text[0] {
		return false
	}
	m.steps -= len(text) >> 5
	return m.s[at:at+len(text)] == text
}

// takeMore extends a lazy repetition by one byte, or by as many as it takes to get to a place where
// the pattern may continue. It returns the position after them, or -1.
func (m *machine) takeMore(in *inst, e entry) int {
	pos, high := int(e.pos), int(e.low)
	for pos < high && in.set.has(m.s[pos]) {
		pos++
		if in.text == "" || pos+len(in.text) <= len(m.s) && m.literalAt(in.text, pos) {
			if pos < high {
				m.push(entry{kind: entryMore, x: e.x, pos: int32(pos), low: e.low})
			}
			return pos
		}
		m.steps--
	}
	return -1
}
