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
)

// Append adds the printed expression to b. What it prints parses to the same tree, with three exceptions inherited from
// the reference: a minus before a number becomes part of the number, infinities print as calls of real, and a selected
// name has no quotes even if it needs them.
func Append(b []byte, e Expr, style Style) []byte {
	switch n := e.(type) {
	case *Literal:
		return appendLiteral(b, n, style)
	case *Attr:
		if n.Absolute {
			b = append(b, '.')
		}
		return AppendName(b, n.Name)
	case *Select:
		b = Append(b, n.X, style)
		if l, ok := n.X.(*Literal); ok && (l.Kind == Integer || l.Kind == Real) {
			b = append(b, ' ') // 1.a would be a broken number
		}
		return append(append(b, '.'), n.Name...)
	case *Index:
		b = append(Append(b, n.X, style), '[')
		return append(Append(b, n.Key, style), ']')
	case *Unary:
		b = append(b, ' ')
		return Append(append(b, n.Op.String()...), n.X, style)
	case *Binary:
		b = append(Append(b, n.X, style), ' ')
		b = append(append(b, symbol(n.Op, style)...), ' ')
		return Append(b, n.Y, style)
	case *Cond:
		b = Append(b, n.If, style)
		if n.Then == nil {
			return Append(append(b, " ?: "...), n.Else, style)
		}
		b = Append(append(b, " ? "...), n.Then, style)
		return Append(append(b, " : "...), n.Else, style)
	case *Call:
		b = append(append(b, n.Name...), '(')
		return append(appendAll(b, n.Args, style), ')')
	case *Paren:
		return append(Append(append(b, '('), n.X, style), ')')
	case *List:
		return append(appendAll(append(b, "{ "...), n.Elems, style), " }"...)
	case *Record:
		return appendRecord(b, n, style)
	}
	return b
}

func symbol(op Op, style Style) string {
	switch {
	case style == Canonical && op == Is:
		return "is"
	case style == Canonical && op == Isnt:
		return "isnt"
	default:
		return op.String()
	}
}

func appendAll(b []byte, list []Expr, style Style) []byte {
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = Append(b, e, style)
	}
	return b
}

func appendRecord(b []byte, r *Record, style Style) []byte {
	b = append(b, "[ "...)
	for i, a := range r.Canonical() {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(AppendName(b, a.Name), " = "...)
		b = Append(b, a.Value, style)
	}
	return append(b, " ]"...)
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
	case style == Canonical:
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
	if style == Canonical {
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
