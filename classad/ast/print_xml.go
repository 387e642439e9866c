package ast

import (
	"math"
	"slices"
	"strconv"
)

// xmlPrinter prints ads, lists and constants as elements, and everything else as an element that
// contains an expression.
type xmlPrinter struct {
	indented bool
	indent   int
}

const xmlStep = 4

func (p *xmlPrinter) append(b []byte, e Expr) []byte {
	switch n := e.(type) {
	case *Record:
		return p.record(b, n)
	case *List:
		b = append(b, "<l>"...)
		for _, e := range n.Elems {
			b = p.append(b, e)
		}
		return append(b, "</l>"...)
	case *Literal:
		return appendXMLLiteral(b, n)
	default:
		return append(appendXMLExpr(append(b, "<e>"...), e), "</e>"...)
	}
}

func (p *xmlPrinter) record(b []byte, r *Record) []byte {
	b = p.newLine(append(b, "<c>"...))
	for _, a := range r.Canonical() {
		if p.indented {
			b = appendIndent(b, p.indent+xmlStep)
		}
		b = append(b, `<a n="`...)
		b = appendXMLText(b, a.Name, '"')
		b = append(b, `">`...)
		p.indent += xmlStep
		b = p.append(b, a.Value)
		p.indent -= xmlStep
		b = p.newLine(append(b, "</a>"...))
	}
	if p.indented {
		b = appendIndent(b, p.indent)
	}
	b = append(b, "</c>"...)
	if p.indent == 0 {
		b = p.newLine(b)
	}
	return b
}

func (p *xmlPrinter) newLine(b []byte) []byte {
	if !p.indented {
		return b
	}
	return append(b, '\n')
}

func appendXMLLiteral(b []byte, l *Literal) []byte {
	switch l.Kind {
	case Error:
		return append(b, "<er/>"...)
	case Boolean:
		if l.Int != 0 {
			return append(b, `<b v="t"/>`...)
		}
		return append(b, `<b v="f"/>`...)
	case Integer:
		return append(strconv.AppendInt(append(b, "<i>"...), l.Int, 10), "</i>"...)
	case Real, RelTime:
		return append(appendXMLReal(append(b, "<r>"...), l.Real), "</r>"...)
	case String:
		return append(appendXMLText(append(b, "<s>"...), l.Text, 0), "</s>"...)
	case AbsTime:
		return append(AppendAbsTime(append(b, "<at>"...), l.Int, int(l.Offset)), "</at>"...)
	default:
		return append(b, "<un/>"...)
	}
}

func appendXMLReal(b []byte, r float64) []byte {
	switch {
	case math.IsNaN(r):
		return append(b, "NaN"...)
	case math.IsInf(r, 1):
		return append(b, "INF"...)
	case math.IsInf(r, -1):
		return append(b, "-INF"...)
	case r == 0:
		return append(b, "0.0"...) // without the sign, as HTCondor
	default:
		return AppendReal(b, r, Canonical)
	}
}

// appendXMLText appends a string with the escapes of bracket ads and, on top of them, those of XML.
func appendXMLText(b []byte, s string, quote byte) []byte {
	start := len(b)
	return escapeXML(appendEscaped(b, s, quote), start)
}

func appendXMLExpr(b []byte, e Expr) []byte {
	start := len(b)
	return escapeXML(Append(b, e, Canonical), start)
}

// escapeXML escapes the part of b that begins at start.
func escapeXML(b []byte, start int) []byte {
	if !slices.ContainsFunc(b[start:], func(c byte) bool { return c == '&' || c == '<' || c == '>' }) {
		return b
	}
	printed := string(b[start:])
	b = b[:start]
	for i := range len(printed) {
		switch c := printed[i]; c {
		case '&':
			b = append(b, "&amp;"...)
		case '<':
			b = append(b, "&lt;"...)
		case '>':
			b = append(b, "&gt;"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
