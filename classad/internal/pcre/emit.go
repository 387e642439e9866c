package pcre

import (
	"math"
	"slices"
)

// look emits a lookaround that is not a condition.
func (e *emitter) look(n *node) {
	r := e.register(2)
	if n.negative {
		begin := e.add(inst{op: opUnless, x: r})
		e.lookBody(n, inst{op: opUnlessEnd, x: r})
		e.add(inst{op: opUnlessEnd, x: r})
		e.prog[begin].y = e.here()
		return
	}
	e.add(inst{op: opLook, x: r})
	jumps := e.lookBody(n, inst{op: opLookEnd, x: r})
	if n.loose {
		e.add(inst{op: opLooseEnd, x: r})
	} else {
		e.add(inst{op: opLookEnd, x: r})
	}
	for _, jump := range jumps {
		e.prog[jump].x = e.here()
	}
}

// lookBody emits the branches of a lookaround that the instruction end ends. It returns the jumps
// by which an (*ACCEPT) in it leaves the lookaround.
func (e *emitter) lookBody(n *node, end inst) []int32 {
	e.looks = append(e.looks, lookEnd{end: end})
	e.alternatives(n.subs, n.lengths)
	last := len(e.looks) - 1
	jumps := e.looks[last].jumps
	e.looks = e.looks[:last]
	return jumps
}

// accept emits the end of the innermost lookaround, or of the match, after closing the groups that
// are open there.
func (e *emitter) accept(n *node) {
	e.accepts = true
	for _, group := range slices.Backward(n.subs) {
		e.add(inst{op: opCloseEarly, x: int32(group.n), y: e.opens(group.n)})
	}
	if n.n == 0 {
		e.add(inst{op: opAccept})
		return
	}
	look := &e.looks[len(e.looks)-1]
	e.add(look.end)
	if look.end.op != opUnlessEnd {
		look.jumps = append(look.jumps, e.add(inst{op: opJump}))
	}
}

// conditional emits the test, which jumps to the second branch, and the branches.
func (e *emitter) conditional(n *node) {
	yes, no := n.subs[0], &node{kind: kindEmpty}
	if len(n.subs) == 2 {
		no = n.subs[1]
	}
	if n.test == testLook && n.look.negative {
		yes, no = no, yes
	}
	var skip int32
	switch n.test {
	case testAlways:
		e.node(yes)
		e.skipped(no)
		return
	case testNever, testDefine:
		e.skipped(yes)
		e.node(no)
		return
	case testCall:
		skip = e.add(inst{op: opIfCall, x: int32(n.n)})
	case testLook:
		r := e.register(2)
		skip = e.add(inst{op: opIf, x: r})
		jumps := e.lookBody(n.look, inst{op: opLookEnd, x: r})
		e.add(inst{op: opLookEnd, x: r})
		for _, jump := range jumps {
			e.prog[jump].x = e.here()
		}
	default:
		skip = e.add(inst{op: opIfGroup, x: int32(n.n)})
	}
	e.node(yes)
	end := e.add(inst{op: opJump})
	e.prog[skip].y = e.here()
	e.node(no)
	e.prog[end].x = e.here()
}

// skipped emits code that is reached only by calls of the groups in it.
func (e *emitter) skipped(n *node) {
	jump := e.add(inst{op: opJump})
	e.node(n)
	e.prog[jump].x = e.here()
}

// repeat emits a repetition; after lists the items that follow it in the pattern.
func (e *emitter) repeat(n *node, after []*node) {
	body := n.subs[0]
	if set := body.single(); set != nil {
		e.repeatBytes(n, set, after)
		return
	}
	switch {
	case n.max == 0:
		e.skipped(body)
	case n.mode == possessive:
		e.atomic(func() { e.loop(n, body) })
	case n.min == 1 && n.max == 1:
		e.node(body)
	default:
		e.loop(n, body)
	}
}

// repeatBytes emits one instruction that matches all iterations. If what follows cannot begin with
// a byte of the set, backtracking is useless and the repetition becomes possessive.
func (e *emitter) repeatBytes(n *node, set *byteSet, after []*node) {
	in := inst{op: opRepeat, mode: n.mode, x: int32(n.min), y: int32(n.max), set: set}
	if n.max == unlimited {
		in.y = math.MaxInt32
	}
	switch {
	case n.min == 1 && n.max == 1:
		e.node(n.subs[0])
		return
	case *set == allBytes:
		in.scan = scanAll
	default:
		inverse := set.inverse()
		if count, last := inverse.size(); count == 1 {
			in.scan, in.b = scanTo, last
		}
	}
	if len(after) > 0 && after[0].kind == kindByte && !after[0].fold {
		in.text = text(run(after))
	}
	if f := firstOfSequence(after[:min(len(after), 4)]); in.mode == greedy && !f.empty && !f.set.overlaps(set) {
		in.mode = possessive
	}
	e.add(in)
}

// loop emits a repetition of something that needs more than one instruction. Without a limit, an
// iteration that consumes nothing is the last one.
func (e *emitter) loop(n *node, body *node) {
	switch {
	case n.max == 1: // and the minimum is 0 or 1
		if n.min == 1 {
			e.node(body)
			return
		}
		enter := e.enter(n, body)
		e.node(body)
		e.prog[enter].x = e.here()
	case n.max == unlimited && n.min <= 1:
		enter := int32(-1)
		if n.min == 0 {
			enter = e.enter(n, body)
		}
		again, check := e.iteration(body, inst{op: opCheckEmpty})
		if n.mode == lazy {
			e.add(inst{op: opSplit, x: again})
		} else {
			e.add(inst{op: opSplitTo, x: again, set: guard(body)})
		}
		if enter >= 0 {
			e.prog[enter].x = e.here()
		}
		if check >= 0 {
			e.prog[check].y = e.here()
		}
	default:
		e.countedLoop(n, body)
	}
}

// enter emits the choice between the body of a repetition and what follows it, and returns the
// index of that instruction.
func (e *emitter) enter(n *node, body *node) int32 {
	if n.mode == lazy {
		return e.add(inst{op: opSplitTo})
	}
	return e.add(inst{op: opSplit, set: guard(body)})
}

// iteration emits the body of a loop, with a check if the body may match nothing. It returns the
// index of the body, and that of the check or -1.
func (e *emitter) iteration(body *node, check inst) (again, checked int32) {
	again = e.here()
	if !firstOf(body).empty {
		e.node(body)
		return again, -1
	}
	check.x = e.register(1)
	e.add(inst{op: opMark, x: check.x})
	e.node(body)
	return again, e.add(check)
}

// countedLoop emits a loop with a counter.
func (e *emitter) countedLoop(n *node, body *node) {
	counter := e.register(1)
	low, most := int32(n.min), int32(n.max)
	in := inst{op: opCount, mode: n.mode, x: counter, n: low, most: most}
	e.add(inst{op: opZero, x: counter})
	head := e.add(in)
	if n.max != unlimited {
		e.add(inst{op: opIncrement, x: counter, most: most})
		e.node(body)
		e.add(inst{op: opJump, x: head})
		e.prog[head].y = e.here()
		return
	}
	e.add(inst{op: opIncrement, x: counter, most: low})
	_, check := e.iteration(body, inst{op: opCountedEmpty, z: counter, n: low})
	e.add(inst{op: opJump, x: head})
	e.prog[head].y = e.here()
	if check >= 0 {
		e.prog[check].y = e.here()
	}
}
