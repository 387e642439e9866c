package classad

// The functions that evaluate an expression inside other ads. HTCondor chooses GPUs with them.
var contextBuiltins = []Builtin{
	{
		Name: "evalInEachContext", MinArgs: 2, MaxArgs: 2, Lazy: true, fn: evalInEachContext,
		Doc:     "Evaluates an expression, or the one that a name stands for, inside every ad of a list.",
		Example: `evalInEachContext(a + 1, { [ a = 1 ], [ a = 2 ] })[1] is 3`,
	},
	{
		Name: "countMatches", MinArgs: 2, MaxArgs: 2, Lazy: true, fn: countMatches,
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
	what, height := c.definition(0)
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

// definition is what the name stands for that is the argument i, and how high that is. Anything else, and a name that is
// not found, stands for itself.
func (c call) definition(i int) (what code, height int) {
	var found Value
	ok := false
	switch n := c.code.args[i].(type) {
	case *attrCode:
		found, ok = written(c.frame, &n.name)
		if other := c.ev.opposite(c.frame); !ok && other != nil {
			found, ok = written(other, &n.name)
		}
	case *scopedCode:
		found, ok = c.selected(&n.selectCode)
	case *selectCode:
		found, ok = c.selected(n)
	}
	if !ok {
		return c.code.args[i], 0
	}
	if found.kind == deferred {
		p := found.expr().program(c.ev.functions)
		return p.code, p.height
	}
	return &constantCode{found}, 1
}

func (c call) selected(n *selectCode) (Value, bool) {
	scope := n.x.eval(c.ev, c.frame).frame()
	if scope == nil {
		return undefined, false
	}
	return written(scope, &n.name)
}

// written is what stands under a name in an ad and the ads around it.
func written(f *frame, n *name) (Value, bool) {
	for ; f != nil; f = f.parent {
		if v, ok := f.ad.find(n); ok {
			return v, true
		}
	}
	return undefined, false
}
