package ast

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Style is an output format.
type Style uint8

const (
	// Canonical is the form of bracket ads: reals with all digits, non-ASCII bytes as octal
	// escapes, is and isnt.
	Canonical Style = iota
	// Line is the format of "name = expression" lines: short reals, only quotes are escaped in
	// strings, =?= and =!=.
	Line
	// Long prints an ad as lines, one for each attribute, sorted by name with capital letters first;
	// package classad does so. Everything else is as in Line.
	Long
	// Pretty is Canonical with ads and lists spread over several lines.
	Pretty
	// JSON prints ads as objects and lists as arrays. Whatever JSON cannot express becomes a string
	// "\/Expr(…)\/".
	JSON
	// JSONIndented is JSON over several lines.
	JSONIndented
	// XML prints ads as elements <c> and lists as elements <l>.
	XML
	// XMLIndented is XML with a line for each attribute.
	XMLIndented
)

// maxIndent is the widest indentation: with more, deeply nested text would grow to many times its
// size.
const maxIndent = 160

// Append appends the printed expression to b. The output in any style but JSON and XML parses to
// the same tree, with three exceptions that HTCondor has, too: a minus before a number becomes part
// of the number; an infinity is printed as a call of real; and in a selection from an integer, such
// as 1 .a, the blank is lost. JSON and XML also turn relative times into numbers, and XML drops the
// sign of zero. Unlike HTCondor's, the name in a selection gets quotes if it needs them: it may be
// anything.
func Append(b []byte, e Expr, style Style) []byte {
	switch style {
	case JSON, JSONIndented:
		p := jsonPrinter{indented: style == JSONIndented}
		return p.append(b, e)
	case XML, XMLIndented:
		p := xmlPrinter{indented: style == XMLIndented}
		return p.append(b, e)
	case Canonical, Line, Long, Pretty:
	}
	p := printer{line: style == Line || style == Long, pretty: style == Pretty}
	return p.append(b, e)
}

// AppendStart appends about the first most bytes of the canonical form, in time that grows with
// these and with the depth of the expression, not with its size.
func AppendStart(b []byte, e Expr, most int) []byte {
	p := printer{end: len(b) + most}
	return p.append(b, e)
}

// printer prints expressions in the syntax of ClassAds.
type printer struct {
	line   bool
	pretty bool
	indent int // of the next line, if pretty
	end    int // nothing begins behind as many bytes; 0: no matter where
}

func (p *printer) append(b []byte, e Expr) []byte {
	if p.ended(b) {
		return b
	}
	switch n := e.(type) {
	case *Literal:
		return p.literal(b, n)
	case *Attr:
		if n.Absolute {
			b = append(b, '.')
		}
		return p.name(b, n.Name)
	case *Select:
		b = append(p.append(b, n.X), '.')
		if n.Key == "parent" { // which is no keyword here, nor does HTCondor quote it
			return append(b, n.Name...)
		}
		return p.name(b, n.Name)
	case *Index:
		b = append(p.append(b, n.X), '[')
		return append(p.append(b, n.Key), ']')
	case *Unary:
		b = append(b, ' ')
		return p.append(append(b, n.Op.String()...), n.X)
	case *Binary:
		b = append(p.append(b, n.X), ' ')
		b = append(append(b, p.symbol(n.Op)...), ' ')
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
		for i, e := range n.Args {
			if p.ended(b) {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = p.append(b, e)
		}
		return append(b, ')')
	case *Paren:
		return append(p.append(append(b, '('), n.X), ')')
	case *List:
		return p.list(b, n)
	case *Record:
		return p.record(b, n)
	}
	return b
}

// ended reports whether enough is printed.
func (p *printer) ended(b []byte) bool { return p.end > 0 && len(b) > p.end }

// name appends a name, in quotes if it needs them. In lines a quote in the name is the only
// character that is escaped.
func (p *printer) name(b []byte, name string) []byte {
	if p.line && mustBeQuoted(name) {
		return append(append(append(b, '\''), strings.ReplaceAll(name, "'", `\'`)...), '\'')
	}
	return AppendName(b, name)
}

func (p *printer) symbol(op Op) string {
	switch {
	case !p.line && op == Is:
		return "is"
	case !p.line && op == Isnt:
		return "isnt"
	default:
		return op.String()
	}
}

// recordStep and listStep are how far the brackets of an ad and of a list are indented, and their
// content once more.
const (
	recordStep = 4
	listStep   = 3
)

func (p *printer) list(b []byte, l *List) []byte {
	b = p.open(b, '{', listStep)
	for i, e := range l.Elems {
		if p.ended(b) {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = p.append(p.newLine(b), e)
	}
	return p.close(b, '}', listStep)
}

func (p *printer) record(b []byte, r *Record) []byte {
	b = p.open(b, '[', recordStep)
	for i, a := range r.Canonical() {
		if p.ended(b) {
			break
		}
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(p.name(p.newLine(b), a.Name), " = "...)
		b = p.append(b, a.Value)
	}
	return p.close(b, ']', recordStep)
}

func (p *printer) open(b []byte, bracket byte, step int) []byte {
	if !p.pretty {
		return append(b, bracket, ' ')
	}
	p.indent += step
	b = append(p.newLine(b), bracket)
	p.indent += step
	return b
}

func (p *printer) close(b []byte, bracket byte, step int) []byte {
	if !p.pretty {
		return append(b, ' ', bracket)
	}
	p.indent -= step
	b = append(p.newLine(b), bracket)
	p.indent -= step
	return b
}

func (p *printer) newLine(b []byte) []byte {
	if !p.pretty {
		return b
	}
	return appendIndent(append(b, '\n'), p.indent)
}

func appendIndent(b []byte, width int) []byte {
	for range min(width, maxIndent) {
		b = append(b, ' ')
	}
	return b
}

func (p *printer) literal(b []byte, l *Literal) []byte {
	switch l.Kind {
	case Error:
		return append(b, "error"...)
	case Boolean:
		return strconv.AppendBool(b, l.Int != 0)
	case Integer:
		return strconv.AppendInt(b, l.Int, 10)
	case Real:
		return AppendReal(b, l.Real, p.style())
	case String:
		text := l.Text
		if p.end > 0 {
			text = text[:min(len(text), p.end-len(b)+1)]
		}
		return AppendString(b, text, p.style())
	case AbsTime:
		b = AppendAbsTime(append(b, `absTime("`...), l.Int, int(l.Offset))
		return append(b, `")`...)
	case RelTime:
		b = AppendRelTime(append(b, `relTime("`...), l.Real)
		return append(b, `")`...)
	default:
		return append(b, "undefined"...)
	}
}

func (p *printer) style() Style {
	if p.line {
		return Line
	}
	return Canonical
}

// AppendReal appends a real number: %1.15E in [Canonical] style, else %.16G with .0 added where it
// would look like an integer. There are no literals for infinities and NaN.
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
		return strconv.AppendFloat(b, r, 'E', 15, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, r, 'G', 16, 64)
	if !bytes.ContainsAny(b[start:], ".E") {
		b = append(b, ".0"...)
	}
	return b
}

// AppendString appends a string in double quotes, with the escapes of [Line] if that is the style,
// else with those of [Canonical].
func AppendString(b []byte, s string, style Style) []byte {
	if style != Line {
		return appendQuoted(b, s, '"')
	}
	b = append(b, '"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return append(append(b, s...), '"')
		}
		b, s = append(append(b, s[:i]...), `\"`...), s[i+1:]
	}
}

// AppendName appends a name, in single quotes if it is a keyword or no plain identifier.
func AppendName(b []byte, name string) []byte {
	if mustBeQuoted(name) {
		return appendQuoted(b, name, '\'')
	}
	return append(b, name...)
}

func mustBeQuoted(name string) bool { return !IsIdentifier(name) || reserved(name) }

// IsIdentifier reports whether a name may be written without quotes: ASCII letters, digits and _,
// not starting with a digit.
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

// reserved reports whether a name needs quotes because it is a keyword. It includes parent, which
// parses as a plain name, because HTCondor quotes it.
func reserved(name string) bool {
	const shortest, longest = len("is"), len("undefined")
	if len(name) < shortest || len(name) > longest || strings.IndexByte("efiptu", name[0]|0x20) < 0 {
		return false // quickly, as nearly all are
	}
	switch Fold(name) {
	case "error", "false", "is", "isnt", "parent", "true", "undefined":
		return true
	}
	return false
}

func appendQuoted(b []byte, s string, quote byte) []byte {
	return append(appendEscaped(append(b, quote), s, quote), quote)
}

// appendEscaped appends the text with escapes for everything that is not printable ASCII, and for
// the quote unless it is 0.
func appendEscaped(b []byte, s string, quote byte) []byte {
	start := 0
	for i := range len(s) {
		c := s[i]
		if ' ' <= c && c <= '~' && c != '\\' && c != quote {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch {
		case c == '\\' || c == quote && c != 0:
			b = append(b, '\\', c)
		case '\a' <= c && c <= '\r':
			b = append(b, '\\', "abtnvfr"[c-'\a'])
		default:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		}
	}
	return append(b, s[start:]...)
}
