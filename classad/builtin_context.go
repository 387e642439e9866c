package classad

// The functions that evaluate an expression inside other ads. HTCondor chooses GPUs with them.
var contextBuiltins = []Builtin{
	{
		Name: "evalInEachContext", MinArgs: 2, MaxArgs: 2, Condor: true, Lazy: true, fn: evalInEachContext,
		Doc:     "Evaluates an expression, or the one that a name stands for, inside every ad of a list.",
		Example: `evalInEachContext(a + 1, { [ a = 1 ], [ a = 2 ] })[1] is 3`,
	},
	{
		Name: "countMatches", MinArgs: 2, MaxArgs: 2, Condor: true, Lazy: true, fn: countMatches,
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

// inEach evaluates the first argument inside the ads of the second and gives the second.
func (c call) inEach(use func(Value)) Value {
	contexts := c.eval(1)
	if contexts.isMissing() {
		return contexts
	}
	what, height := c.code.args[0], 0
	if found, _, ok := c.definition(0); ok && found.kind == deferred {
		p := found.expr().program(c.ev.functions)
		what, height = p.code, p.height
	} else if ok {
		what = &constantCode{found}
	}
	c.ev.references++ // without this an expression that evaluates itself inside ads would have no end
	c.ev.depth += height
	if c.ev.references > maxReferences || c.ev.depth > maxDepth || c.ev.failed {
		return c.ev.fail()
	}
	isList := c.each(contexts, func(element Value) bool {
		switch element.kind {
		case Ad:
			inside := *element.frame()
			inside.role, inside.theirs = plain, c.frame
			use(what.eval(c.ev, &inside))
		case Undefined:
			use(undefined)
		default:
			use(errorValue)
		}
		return true
	})
	c.ev.references--
	c.ev.depth -= height
	if !isList {
		return errorValue
	}
	return contexts
}

// definition is what the name stands for that is the argument i, and the ad in which it was found. It is not there for
// anything else and for names that are not found.
func (c call) definition(i int) (found Value, in *frame, ok bool) {
	switch n := c.code.args[i].(type) {
	case *attrCode:
		if found, in, ok = c.ev.written(c.frame, &n.name); ok {
			return found, in, ok
		}
		if other := c.ev.opposite(c.frame); other != nil {
			return c.ev.written(other, &n.name)
		}
	case *rootCode:
		return c.ev.written(c.frame.root(), &n.name)
	case *scopedCode:
		return c.selected(&n.selectCode)
	case *selectCode:
		return c.selected(n)
	}
	return undefined, nil, false
}

func (c call) selected(n *selectCode) (found Value, in *frame, ok bool) {
	scope := n.x.eval(c.ev, c.frame).frame()
	if scope == nil {
		return undefined, nil, false
	}
	return c.ev.written(scope, &n.name)
}

// written is what stands under a name in an ad and the ads around it, not evaluated.
func (ev *evaluator) written(f *frame, n *name) (found Value, in *frame, ok bool) {
	for ; f != nil; f = f.parent {
		if v, ok := f.ad.find(n); ok {
			return v, f, true
		}
		if v, ok := ev.special(f, n); ok {
			return v, f, v.kind != Undefined
		}
	}
	return undefined, nil, false
}
