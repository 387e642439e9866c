package classad

import "fmt"

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

// UnreadLines are the lines of an ad of which a part was not read.
func UnreadLines(ad *ClassAd) (lines []string) {
	for _, l := range ad.unread {
		lines = append(lines, fmt.Sprintf("%d: %s = %s", l.line, l.attribute, l.text))
	}
	return lines
}
