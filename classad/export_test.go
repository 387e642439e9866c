package classad

// Fails tells whether evaluation exceeds a limit.
func (e *Expr) Fails(s Scope) bool {
	m := newMatching(s)
	p := e.program(m.functions)
	m.depth, m.steps = p.height, p.weight
	p.code.eval(&m.evaluator, &m.left)
	failed := m.failed || m.steps > maxSteps
	m.recycle()
	return failed
}
