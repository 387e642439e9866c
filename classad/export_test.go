package classad

// Fails reports whether evaluation exceeds a limit.
func (e *Expr) Fails(s Scope) bool {
	m := newMatching(s)
	p := e.program(m.functions)
	if m.depth = p.height; m.spend(p.weight) {
		p.code.eval(&m.evaluator, &m.left)
	}
	failed := m.failed
	m.recycle()
	return failed
}
