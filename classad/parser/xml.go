package parser

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// XML parses one ad that is an element <c>, which HTCondor writes inside an element <classads>.
// Everything before and after it is ignored. Errors are of type [*Error].
//
// As in HTCondor, end tags may be missing, at the end of the text even all of them; text and tags
// <c> between attributes are ignored; an & that begins none of the five named entities, such as that
// of &#65;, is left unchanged. An integer or real that is not a number is the constant error, and what
// follows an expression or a number is ignored. Unlike in HTCondor, &quot; and &apos; are entities, and
// anything in an ad that is neither value nor attribute is an error; HTCondor drops the rest of the ad
// or hangs.
func XML(src string) (*ast.Record, error) {
	p := &xmlParser{scanner: xmlScanner{src: untilNUL(src)}}
	for {
		switch p.next(); {
		case p.token.kind == xmlEnd:
			return nil, p.unexpected("<c>")
		case p.token.name != "c":
		case p.token.kind != xmlOpen:
			return nil, p.unexpected("<c>")
		default:
			return p.record(1)
		}
	}
}

// xmlParser parses XML; its field token is the next token, which is not yet used.
type xmlParser struct {
	scanner xmlScanner
	token   xmlToken
}

func (p *xmlParser) next() xmlToken {
	t := p.token
	p.token = p.scanner.next()
	return t
}

func (p *xmlParser) unexpected(expected string) error {
	t := p.token
	e := &Error{Offset: t.offset}
	switch t.kind {
	case xmlEnd:
		e.Message = "unexpected end, expected " + expected
	case xmlBroken:
		e.Message = `tag without ">"`
	default:
		e.Message = fmt.Sprintf("unexpected %q, expected %s", shortened(t.raw), expected)
	}
	return e
}

// shortened limits the length of a text in a message.
func shortened(s string) string {
	const longest = 40
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}

// record parses an ad whose tag <c> is the current token. depth is how deep it nests, 1 for the
// outermost ad.
func (p *xmlParser) record(depth int) (*ast.Record, error) {
	start := p.next()
	r := ast.NewRecord(ast.Pos(start.offset))
	if depth > MaxDataNesting {
		return nil, errorAt(r.Pos(), tooDeep)
	}
	for {
		switch t := p.token; {
		case t.kind == xmlEnd, t.kind == xmlClose && t.name == "classads":
			return checked(r)
		case t.kind == xmlClose && t.name == "c":
			p.next()
			return checked(r)
		case t.kind == xmlText, t.kind == xmlClose, t.kind == xmlEmpty && t.name == "a", t.name == "c":
			p.next()
		case t.kind == xmlOpen && t.name == "a":
			p.next()
			name, ok := t.attribute("n")
			if !ok || name == "" {
				return nil, &Error{Offset: t.offset, Message: "attribute without a name"}
			}
			value, err := p.value(depth)
			if err != nil {
				return nil, err
			}
			p.skipEnd("a")
			r.Set(name, value)
		default:
			return nil, p.unexpected(`an attribute or "</c>"`)
		}
	}
}

func checked(r *ast.Record) (*ast.Record, error) {
	if r.Height() > ast.MaxHeight {
		return nil, errorAt(r.Pos(), tooDeep)
	}
	return r, nil
}

// skipEnd skips an end tag if it is there.
func (p *xmlParser) skipEnd(name string) {
	if p.token.kind == xmlClose && p.token.name == name {
		p.next()
	}
}

// list parses a list whose tag <l> is the current token; depth as for record.
func (p *xmlParser) list(depth int) (ast.Expr, error) {
	start := p.next()
	if depth > MaxDataNesting {
		return nil, &Error{Offset: start.offset, Message: tooDeep}
	}
	var elems []ast.Expr
	for p.token.kind == xmlOpen || p.token.kind == xmlEmpty {
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		elems = append(elems, value)
	}
	if p.token.kind == xmlText {
		return nil, p.unexpected(`a value or "</l>"`)
	}
	p.skipEnd("l")
	return limited(ast.NewList(ast.Pos(start.offset), elems))
}

// value parses an element that is a value.
func (p *xmlParser) value(depth int) (ast.Expr, error) {
	t := p.token
	pos := ast.Pos(t.offset)
	if t.kind != xmlOpen && t.kind != xmlEmpty {
		return nil, p.unexpected("a value")
	}
	if t.kind == xmlOpen {
		switch t.name {
		case "c":
			r, err := p.record(depth + 1)
			if err != nil {
				return nil, err
			}
			return r, nil
		case "l":
			return p.list(depth + 1)
		case "i", "r", "e", "at", "rt":
			return p.textual()
		}
	}
	var value ast.Expr
	switch t.name {
	case "s":
		return p.string()
	case "b":
		v, _ := t.attribute("v")
		value = ast.NewBool(pos, v == "t" || v == "T")
	case "un":
		value = ast.NewKeyword(pos, ast.Undefined)
	case "er":
		value = ast.NewKeyword(pos, ast.Error)
	default:
		return nil, p.unexpected("a value")
	}
	p.next()
	p.skipEnd(t.name)
	return value, nil
}

func (p *xmlParser) string() (ast.Expr, error) {
	t := p.next()
	var content string
	if t.kind == xmlOpen && p.token.kind == xmlText {
		var ok bool
		if content, ok = unescape(unentity(p.token.raw)); !ok {
			return nil, &Error{Offset: p.token.offset, Message: `text with \0`}
		}
		p.next()
	}
	p.skipEnd("s")
	return ast.NewString(ast.Pos(t.offset), content), nil
}

// textual parses a value whose element must contain text.
func (p *xmlParser) textual() (ast.Expr, error) {
	t := p.next()
	if p.token.kind != xmlText {
		return nil, p.unexpected("the content of <" + t.name + ">")
	}
	content := p.next()
	pos, plain := ast.Pos(content.offset), unentity(content.raw)
	p.skipEnd(t.name)
	switch t.name {
	case "i":
		return xmlInteger(pos, plain), nil
	case "r":
		return xmlReal(pos, plain), nil
	case "at":
		if seconds, offset, ok := ast.ParseAbsTime(plain); ok {
			return ast.NewAbsTime(pos, seconds, int32(offset)), nil
		}
		return nil, errorAt(pos, "malformed time")
	case "rt":
		if seconds, ok := ast.ParseRelTime(plain); ok {
			return ast.NewRelTime(pos, seconds), nil
		}
		return nil, errorAt(pos, "malformed time")
	}
	e, _, err := Syntax{}.Prefix(plain)
	if inside, ok := errors.AsType[*Error](err); ok {
		return nil, &Error{Offset: content.offset + entityOffset(content.raw, inside.Offset), Message: inside.Message}
	}
	return e, err
}

var (
	leadingInteger = regexp.MustCompile(`^-?[0-9]+`)
	// leadingReal matches a sign and then what the C function strtod reads: a word, hexadecimal
	// digits or decimal ones.
	leadingReal = regexp.MustCompile(`^(?i)([+-]?)(?:(inf|nan)|` +
		`(0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+))(p[+-]?[0-9]+)?|` +
		`((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))`)
)

func xmlInteger(pos ast.Pos, content string) ast.Expr {
	i, err := strconv.ParseInt(leadingInteger.FindString(content), 10, 64)
	if err != nil {
		return ast.NewKeyword(pos, ast.Error)
	}
	return ast.NewInt(pos, i)
}

func xmlReal(pos ast.Pos, content string) ast.Expr {
	m := leadingReal.FindStringSubmatch(content)
	if m == nil {
		return ast.NewKeyword(pos, ast.Error)
	}
	sign, word, hex, power, decimal := m[1], m[2], m[3], m[4], m[5]
	if hex != "" && power == "" {
		power = "p0"
	}
	r, _ := ast.ParseReal(word + hex + power + decimal) // out of range it becomes infinite, as it should
	if sign == "-" {
		r = -r
	}
	return ast.NewReal(pos, r)
}

var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'")

func unentity(raw string) string {
	if strings.IndexByte(raw, '&') < 0 {
		return raw
	}
	return entities.Replace(raw)
}

// entityOffset converts an offset in the text with entities replaced to one in the raw text.
func entityOffset(raw string, offset int) int {
	i := 0
	for ; i < len(raw) && offset > 0; offset-- {
		width := 1
		for _, entity := range []string{"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"} {
			if strings.HasPrefix(raw[i:], entity) {
				width = len(entity)
			}
		}
		i += width
	}
	return i
}
