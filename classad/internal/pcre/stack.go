package pcre

// entryKind is the type of an entry of the stack.
type entryKind uint8

const (
	entryGo       entryKind = iota // a choice: go on at instruction x
	entryFewer                     // a choice: the repetition at x gives bytes back, from pos down to low
	entryMore                      // a choice: the lazy repetition at x takes more bytes, from pos up to low
	entryRegister                  // restore: register x was low
	entryCalled                    // restore: the call pos began, and before it x was the innermost one
	entryReturned                  // restore: x was the innermost call
)

// entry is a choice that can still be tried, or something to restore before trying one.
type entry struct {
	kind entryKind
	x    int32
	pos  int32
	low  int32
}

func (m *machine) push(e entry) {
	if len(m.stack) >= maxStack {
		m.steps = -1
		return
	}
	m.stack = append(m.stack, e)
}

// setRegister changes a register and pushes the old value, unless the stack is empty and nothing
// can be restored.
func (m *machine) setRegister(r, value int32) {
	if len(m.stack) > 0 {
		m.push(entry{kind: entryRegister, x: r, low: m.regs[r]})
	}
	m.regs[r] = value
}

// backtrack takes the latest remaining choice from the stack and returns the instruction and the
// position where to continue; the instruction is negative if there is none.
func (m *machine) backtrack() (pc, pos int) {
	for len(m.stack) > 0 {
		e := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		switch e.kind {
		case entryGo:
			return int(e.x), int(e.pos)
		case entryFewer:
			if pos = m.giveBack(&m.re.prog[e.x], int(e.x), int(e.pos)-1, int(e.low)); pos >= 0 {
				return int(e.x) + 1, pos
			}
		case entryMore:
			if pos = m.takeMore(&m.re.prog[e.x], e); pos >= 0 {
				return int(e.x) + 1, pos
			}
		default:
			m.restore(e)
		}
		m.steps--
	}
	return -1, 0
}

func (m *machine) restore(e entry) {
	switch e.kind {
	case entryRegister:
		m.regs[e.x] = e.low
	case entryCalled:
		m.saved = m.saved[:m.calls[e.pos].saved]
		m.calls = m.calls[:e.pos]
		m.call = e.x
	case entryReturned:
		m.call = e.x
	default: // a choice
	}
}

// unwind restores the state at the time when the stack had that height.
func (m *machine) unwind(height int32) {
	for i := len(m.stack) - 1; i >= int(height); i-- {
		m.restore(m.stack[i])
		m.steps--
	}
	m.stack = m.stack[:height]
}

// cut drops the choices pushed since the stack had that height.
func (m *machine) cut(height int32) {
	if height == 0 { // no choices are left, hence nothing to restore
		m.stack = m.stack[:0]
		return
	}
	kept := m.stack[:height]
	for _, e := range m.stack[height:] {
		if e.kind >= entryRegister {
			kept = append(kept, e)
		}
		m.steps--
	}
	m.stack = kept
}

// call is a group that runs as a subroutine.
type call struct {
	group  int32
	pos    int32 // of the subject
	back   int32 // the instruction to return to
	outer  int32 // the call around it
	height int32 // of the stack
	saved  int32 // where the registers were saved
}

// begin calls a group and returns its first instruction, or -1 if that exceeds a limit or the group
// called itself at the same place. It saves the registers, because they must be restored when the
// group returns.
func (m *machine) begin(in *inst, pc, pos int) int {
	for outer := m.call; outer >= 0; outer = m.calls[outer].outer {
		if c := &m.calls[outer]; c.group == in.x {
			if int(c.pos) == pos {
				m.err, m.steps = ErrRecursion, -1
				return -1
			}
			break
		}
		m.steps--
	}
	if len(m.saved) > maxSaved {
		m.steps = -1
		return -1
	}
	m.steps -= len(m.regs) >> 2
	next := int32(len(m.calls))
	m.calls = append(m.calls, call{
		group: in.x, pos: int32(pos), back: int32(pc + 1), outer: m.call,
		height: int32(len(m.stack)), saved: int32(len(m.saved)),
	})
	m.saved = append(m.saved, m.regs...)
	m.push(entry{kind: entryCalled, x: m.call, pos: next})
	m.call = next
	return int(in.y)
}

// returns ends the innermost call at the end of its group, and returns the instruction after the
// call. The choices within the group remain, as in PCRE2 since 10.30.
func (m *machine) returns() int {
	c := m.calls[m.call]
	m.push(entry{kind: entryReturned, x: m.call})
	m.steps -= len(m.regs) >> 2
	saved := m.saved[c.saved:][:len(m.regs)]
	kept := 2*saved[m.re.top] + 2                 // see isSet
	for r := int32(1); int(r) < len(saved); r++ { // register 0, the start of the match, is kept: \K stays
		if m.regs[r] != saved[r] && (r < kept || int(r) >= 2*m.re.groups+2) {
			m.setRegister(r, saved[r])
		}
	}
	m.call = c.outer
	return int(c.back)
}

// endCall ends the innermost call at the end of the pattern or at an (*ACCEPT), and returns the
// instruction after the call. It drops the choices within the group, as PCRE2 does.
func (m *machine) endCall() int {
	c, begin := m.calls[m.call], m.regs[0]
	m.unwind(c.height)
	if m.regs[0] != begin {
		m.setRegister(0, begin)
	}
	return int(c.back)
}
