package ast

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Style is a way of printing.
type Style uint8

const (
	// Canonical is the form of bracket ads: reals with all digits, non-ASCII bytes as octal escapes, is and isnt.
	Canonical Style = iota
	// Line is the form of "name = expression" lines: short reals, strings with only the quote escaped, =?= and =!=.
	Line
	// Pretty is Canonical with every attribute and element of an ad or list on a line of its own.
	Pretty
)

// Append adds the printed expression to b. What it prints parses to the same tree, with three exceptions inherited from
// the reference: a minus before a number becomes part of the number, infinities print as calls of real, and a selected
// name has no quotes even if it needs them.
func Append(b []byte, e Expr, style Style) []byte { return printer{style: style}.append(b, e) }

// printer prints in a style; a pretty one knows how far it is indented.
type printer struct {
	style  Style
	indent int
}

func (p printer) append(b []byte, e Expr) []byte {
	switch n := e.(type) {
	case *Literal:
		return appendLiteral(b, n, p.style)
	case *Attr:
		if n.Absolute {
			b = append(b, '.')
		}
		return AppendName(b, n.Name)
	case *Select:
		b = p.append(b, n.X)
		if l, ok := n.X.(*Literal); ok && (l.Kind == Integer || l.Kind == Real) {
			b = append(b, ' ') // 1.a would be a broken number
		}
		return append(append(b, '.'), n.Name...)
	case *Index:
		b = append(p.append(b, n.X), '[')
		return append(p.append(b, n.Key), ']')
	case *Unary:
		b = append(b, ' ')
		return p.append(append(b, n.Op.String()...), n.X)
	case *Binary:
		b = append(p.append(b, n.X), ' ')
		b = append(append(b, symbol(n.Op, p.style)...), ' ')
		return p.append(b, n.Y)
	case *Cond:
		b = p.append(b, n.If)
		if n.Then == nil {
			return p.append(append(b, " ?: "...), n.Else)
		}
		b = p.append(append(b, " ? "...), n.Then)
		return p.append(append(b, " : "...), n.Else)
	case *Call:
		b = append(append(b, n.Name...), '(')
		return append(p.appendAll(b, n.Args), ')')
	case *Paren:
		return append(p.append(append(b, '('), n.X), ')')
	case *List:
		return p.appendList(b, n)
	case *Record:
		return p.appendRecord(b, n)
	}
	return b
}

func symbol(op Op, style Style) string {
	switch {
	case style != Line && op == Is:
		return "is"
	case style != Line && op == Isnt:
		return "isnt"
	default:
		return op.String()
	}
}

func (p printer) appendAll(b []byte, list []Expr) []byte {
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.append(b, e)
	}
	return b
}

func (p printer) appendList(b []byte, l *List) []byte {
	const width = 3
	b, p = p.open(b, '{', width)
	for i, e := range l.Elems {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.append(p.newline(b), e)
	}
	return p.close(b, '}', width)
}

func (p printer) appendRecord(b []byte, r *Record) []byte {
	const width = 4
	b, p = p.open(b, '[', width)
	for i, a := range r.Canonical() {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(AppendName(p.newline(b), a.Name), " = "...)
		b = p.append(b, a.Value)
	}
	return p.close(b, ']', width)
}

// open adds a bracket; a pretty one is on a line of its own, indented once, and what is in it twice.
func (p printer) open(b []byte, bracket byte, width int) ([]byte, printer) {
	if p.style != Pretty {
		return append(b, bracket, ' '), p
	}
	p.indent += width
	b = append(p.newline(b), bracket)
	p.indent += width
	return b, p
}

func (p printer) close(b []byte, bracket byte, width int) []byte {
	if p.style != Pretty {
		return append(b, ' ', bracket)
	}
	p.indent -= width
	return append(p.newline(b), bracket)
}

func (p printer) newline(b []byte) []byte {
	if p.style != Pretty {
		return b
	}
	b = append(b, '\n')
	for range p.indent {
		b = append(b, ' ')
	}
	return b
}

func appendLiteral(b []byte, l *Literal, style Style) []byte {
	switch l.Kind {
	case Error:
		return append(b, "error"...)
	case Boolean:
		return strconv.AppendBool(b, l.Int != 0)
	case Integer:
		return strconv.AppendInt(b, l.Int, 10)
	case Real:
		return AppendReal(b, l.Real, style)
	case String:
		return AppendString(b, l.Text, style)
	case AbsTime:
		return append(AppendAbsTime(append(b, `absTime("`...), l.Int, int(l.Offset)), `")`...)
	case RelTime:
		return append(AppendRelTime(append(b, `relTime("`...), l.Real), `")`...)
	default:
		return append(b, "undefined"...)
	}
}

// AppendReal adds a real number: %1.15E or, in lines, %.16G with .0 where it would look like an integer.
func AppendReal(b []byte, r float64, style Style) []byte {
	switch {
	case math.IsNaN(r):
		return append(b, `real("NaN")`...)
	case math.IsInf(r, 1):
		return append(b, `real("INF")`...)
	case math.IsInf(r, -1):
		return append(b, `real("-INF")`...)
	case r == 0 && math.Signbit(r):
		return append(b, "-0.0"...)
	case r == 0:
		return append(b, "0.0"...)
	case style != Line:
		return fmt.Appendf(b, "%1.15E", r)
	}
	start := len(b)
	b = fmt.Appendf(b, "%.16G", r)
	if !strings.ContainsAny(string(b[start:]), ".E") {
		b = append(b, ".0"...)
	}
	return b
}

// AppendString adds a string in double quotes.
func AppendString(b []byte, s string, style Style) []byte {
	if style != Line {
		return appendQuoted(b, s, '"')
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `\"`)...)
	return append(b, '"')
}

// AppendName adds a name, in single quotes unless it is a plain identifier that means nothing else.
func AppendName(b []byte, name string) []byte {
	if !IsIdentifier(name) || reserved(name) {
		return appendQuoted(b, name, '\'')
	}
	return append(b, name...)
}

// IsIdentifier tells whether a name may be written without quotes: ASCII letters, digits and _, no digit first.
func IsIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		digit := '0' <= c && c <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return name != ""
}

// reserved has parent because the reference quotes it, though it parses as a plain name.
func reserved(name string) bool {
	switch Fold(name) {
	case "error", "false", "is", "isnt", "parent", "true", "undefined":
		return true
	}
	return false
}

func appendQuoted(b []byte, s string, quote byte) []byte {
	b = append(b, quote)
	for i := range len(s) {
		c := s[i]
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case '\a' <= c && c <= '\r':
			b = append(b, '\\', "abtnvfr"[c-'\a'])
		case c < ' ' || c > '~':
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}
