package classad

// The functions that evaluate an expression inside other ads. HTCondor chooses GPUs with them.
var contextBuiltins = []Builtin{
	{
		Name: "evalInEachContext", MinArgs: 2, MaxArgs: 2, Condor: true, Context: true, Lazy: true,
		fn:      evalInEachContext,
		Doc:     "Evaluates an expression, or the one that a name stands for, inside every ad of a list.",
		Example: `evalInEachContext(a + 1, { [ a = 1 ], [ a = 2 ] })[1] is 3`,
	},
	{
		Name: "countMatches", MinArgs: 2, MaxArgs: 2, Condor: true, Context: true, Lazy: true, fn: countMatches,
		Doc:     "Counts the ads of a list in which an expression, or the one that a name stands for, is true.",
		Example: `countMatches(a > 1, { [ a = 1 ], [ a = 2 ] }) is 1`,
	},
}

func evalInEachContext(c call) Value {
	values := []Value{}
	result := c.inEach(func(v Value) { values = append(values, v) })
	if result.kind != List {
		return result
	}
	return c.ev.newList(list{values: values})
}

func countMatches(c call) Value {
	n := int64(0)
	if result := c.inEach(func(v Value) {
		if v.IsTrue() {
			n++
		}
	}); result.kind == Error {
		return errorValue
	}
	return integer(n)
}

// inEach evaluates the first argument inside each ad of the list that is the second argument, calls
// use with each value, and returns the list. As in HTCondor, if the first argument is a name, names
// in the second argument and its elements are looked up where the search for that name ended: where
// it was found or, if it was not, in the outermost ad.
func (c call) inEach(use func(Value)) Value {
	what, height, weight := c.code.args[0], 0, c.code.first
	found, at, ok := c.definition(0)
	if ok && found.kind == deferred {
		p := found.expr().program(c.ev.functions)
		what, height, weight = p.code, p.height, p.weight
	} else if ok {
		what = &constantCode{found}
	}
	contexts := c.contexts(at)
	if contexts.kind != List {
		return contexts
	}
	if c.ev.depth += height; c.ev.depth > maxDepth || c.ev.failed {
		return c.ev.fail()
	}
	l := contexts.list()
	for i := range l.len() {
		if !c.ev.spend(stepsPerElement + weight) {
			break
		}
		use(c.inside(l.in(c.ev, i, at), what))
	}
	c.ev.depth -= height
	return contexts
}

// contexts evaluates the second argument, which must give a list or undefined. Names are looked up
// in the ad at, unless the list is written in the call.
func (c call) contexts(at *frame) Value {
	if _, ok := c.code.args[1].(*listCode); ok {
		return c.eval(1)
	}
	before := c.ev.apart()
	v := c.ev.together(before, c.code.args[1].eval(c.ev, at))
	if v.kind != List && v.kind != Undefined {
		return errorValue
	}
	return v
}

// inside evaluates an expression inside an ad. Names that are not found there are looked up in the
// opposite side of the match that the ad belongs to.
func (c call) inside(ad Value, what code) Value {
	switch ad.kind {
	case Ad:
		in := *ad.frame()
		for f := &in; f != nil && in.theirs == nil && c.ev.spend(1); f = f.parent {
			if f.role == side {
				in.theirs = f.theirs
			}
		}
		in.role = plain
		before := c.ev.apart()
		c.ev.references = 0
		return c.ev.together(before, what.eval(c.ev, &in))
	case Undefined:
		return undefined
	default:
		return errorValue
	}
}

// definition returns the definition of the name that is argument i, and the ad in which the search
// for it ended. ok is false if the argument is not a name or the name is not found.
func (c call) definition(i int) (found Value, at *frame, ok bool) {
	if !isReference(c.code.exprs[i]) {
		return undefined, c.frame, false // this includes names in parentheses
	}
	switch n := c.code.args[i].(type) {
	case *attrCode:
		if found, at, ok = c.ev.written(c.frame, &n.name); ok {
			return found, at, ok
		}
		if other := c.ev.opposite(c.frame); other != nil {
			return c.ev.written(other, &n.name)
		}
		return undefined, at, false
	case *rootCode:
		return c.ev.written(c.ev.outermost(c.frame), &n.name)
	case *scopedCode:
		return c.selected(&n.selectCode)
	case *selectCode:
		return c.selected(n)
	}
	return undefined, c.frame, false
}

func (c call) selected(n *selectCode) (found Value, at *frame, ok bool) {
	scope := n.x.eval(c.ev, c.frame)
	switch scope.kind {
	case Ad:
		return c.ev.written(scope.frame(), &n.name)
	case List:
		return c.ev.selectFrom(scope, &n.name, c.frame), c.frame, true
	default:
		return undefined, c.frame, false
	}
}

// written returns the unevaluated definition of a name in an ad or the ads around it, and the ad
// where it was found. If it was not, ok is false, and at is the outermost ad, or the one at which
// the steps ran out.
func (ev *evaluator) written(f *frame, n *sought) (found Value, at *frame, ok bool) {
	for at = f; f != nil && ev.spend(1); f = f.parent {
		at = f
		if v, ok := f.ad.seek(n); ok {
			return v, f, true
		}
		if v, ok := ev.special(f, &n.name); ok {
			return v, f, v.kind != Undefined
		}
	}
	return undefined, at, false
}
