package ast

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// jsonPrinter prints ads, lists and plain constants as JSON, and everything else as a string that
// contains an expression.
type jsonPrinter struct {
	indented bool
	indent   int
}

const jsonStep = 2

func (p *jsonPrinter) append(b []byte, e Expr) []byte {
	switch n := e.(type) {
	case *Record:
		return p.object(b, n)
	case *List:
		return p.array(b, n)
	case *Literal:
		return p.literal(b, n)
	default:
		return appendJSONExpr(b, e)
	}
}

func (p *jsonPrinter) object(b []byte, r *Record) []byte {
	b = append(b, '{')
	p.indent += jsonStep
	for i, a := range r.Canonical() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(p.newLine(b), '"')
		b = append(appendJSONText(b, a.Name), `": `...)
		b = p.append(b, a.Value)
	}
	p.indent -= jsonStep
	return append(p.newLine(b), '}')
}

func (p *jsonPrinter) array(b []byte, l *List) []byte {
	b = append(b, '[')
	p.indent += jsonStep
	for i, e := range l.Elems {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.append(p.newLine(b), e)
	}
	p.indent -= jsonStep
	return append(p.newLine(b), ']')
}

func (p *jsonPrinter) newLine(b []byte) []byte {
	if !p.indented {
		return b
	}
	return appendIndent(append(b, '\n'), p.indent)
}

func (p *jsonPrinter) literal(b []byte, l *Literal) []byte {
	switch l.Kind {
	case Undefined:
		return append(b, "null"...)
	case Boolean:
		return strconv.AppendBool(b, l.Int != 0)
	case Integer:
		return strconv.AppendInt(b, l.Int, 10)
	case Real, RelTime:
		if math.IsNaN(l.Real) || math.IsInf(l.Real, 0) {
			return appendJSONExpr(b, NewReal(0, l.Real))
		}
		return AppendReal(b, l.Real, JSON)
	case String:
		if utf8.ValidString(l.Text) {
			return append(appendJSONText(append(b, '"'), l.Text), '"')
		}
	case Error, AbsTime:
	}
	return appendJSONExpr(b, l) // it has escapes for bytes that are not UTF-8; JSON has none
}

// appendJSONExpr appends an expression as a string that is marked by escaped slashes at both ends,
// which ordinary strings never have.
func appendJSONExpr(b []byte, e Expr) []byte {
	b = append(b, `"\/Expr(`...)
	start := len(b)
	b = Append(b, e, Canonical)
	if slices.ContainsFunc(b[start:], isJSONEscaped) {
		printed := string(b[start:])
		b = appendJSONText(b[:start], printed)
	}
	return append(b, `)\/"`...)
}

func isJSONEscaped(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

func appendJSONText(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		switch {
		case !isJSONEscaped(c):
			b = append(b, c)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case '\b' <= c && c <= '\r' && c != '\v':
			b = append(b, '\\', "btn.fr"[c-'\b'])
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return b
}
