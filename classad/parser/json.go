package parser

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// MaxDataNesting is how deep ads and lists may nest in JSON and XML. HTCondor has no limit and
// overflows its stack.
const MaxDataNesting = maxOpen

// JSON parses one ad that is a JSON object. Errors are of type [*Error].
//
// As in HTCondor, a string that begins with \/Expr( and ends with )\/ is an expression, provided
// that the slashes are escaped. Extra commas between and after members are ignored, comments count
// as blanks, adjacent strings are joined, a number may begin with its decimal point, and words may
// be in any case. Unlike in HTCondor, \u escapes give the UTF-8 of the character.
func JSON(src string) (*ast.Record, error) {
	p := &jsonParser{scanner: &scanner{src: untilNUL(src), json: true}}
	p.next()
	if !isPunct(&p.token, "{") {
		return nil, unexpected(&p.token, `"{"`)
	}
	r, err := p.object(1)
	if err != nil {
		return nil, err
	}
	if !p.token.EOF() {
		return nil, unexpected(&p.token, "the end")
	}
	return r, nil
}

// jsonParser parses JSON; its field token is the next token, which is not yet used. String tokens
// still have their escapes.
type jsonParser struct {
	scanner *scanner
	token   lexer.Token
}

func (p *jsonParser) next() lexer.Token {
	t := p.token
	p.token, _ = p.scanner.Next() // the scanner never fails
	return t
}

// object parses an object whose opening brace is the current token. depth is how deep it nests, 1
// for the outermost object.
func (p *jsonParser) object(depth int) (*ast.Record, error) {
	start := p.next()
	if depth > MaxDataNesting {
		return nil, errorAt(position(&start), tooDeep)
	}
	r := ast.NewRecord(position(&start))
	for led := p.skipCommas(); led || !isPunct(&p.token, "}"); led = false {
		if p.token.Type != text {
			return nil, unexpected(&p.token, `a name in quotes or "}"`)
		}
		key := p.next()
		name, bad := decodeJSON(key.Value)
		switch {
		case bad >= 0:
			return nil, badEscape(&key, bad)
		case name == "":
			return nil, errorAt(position(&key), "attribute without a name")
		case !isPunct(&p.token, ":"):
			return nil, unexpected(&p.token, `":"`)
		}
		p.next()
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		r.Set(name, value)
		if !isPunct(&p.token, ",") && !isPunct(&p.token, "}") {
			return nil, unexpected(&p.token, `"," or "}"`)
		}
		p.skipCommas()
	}
	p.next()
	if r.Height() > ast.MaxHeight {
		return nil, errorAt(r.Pos(), tooDeep)
	}
	return r, nil
}

// skipCommas skips commas and reports whether there were any. Commas at the start of an object must
// be followed by a member.
func (p *jsonParser) skipCommas() bool {
	found := false
	for isPunct(&p.token, ",") {
		p.next()
		found = true
	}
	return found
}

// array parses an array whose opening bracket is the current token. depth is the number of objects
// and arrays around it, plus 1. Unlike in objects, extra commas are errors.
func (p *jsonParser) array(depth int) (ast.Expr, error) {
	start := p.next()
	if depth > MaxDataNesting {
		return nil, errorAt(position(&start), tooDeep)
	}
	var elems []ast.Expr
	if isPunct(&p.token, "]") {
		p.next()
		return ast.NewList(position(&start), elems), nil
	}
	for {
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		elems = append(elems, value)
		separator := p.next()
		switch {
		case isPunct(&separator, "]"):
			return limited(ast.NewList(position(&start), elems))
		case !isPunct(&separator, ","):
			return nil, unexpected(&separator, `"," or "]"`)
		}
	}
}

func (p *jsonParser) value(depth int) (ast.Expr, error) {
	t := p.token
	switch {
	case isPunct(&t, "{"):
		r, err := p.object(depth + 1)
		if err != nil {
			return nil, err
		}
		return r, nil
	case isPunct(&t, "["):
		return p.array(depth + 1)
	case isPunct(&t, "-"):
		p.next()
		if touches(&t, &p.token) {
			return p.number(&t)
		}
	case t.Type == integer || t.Type == floating:
		return p.number(nil)
	case t.Type == text:
		p.next()
		return jsonString(&t)
	case t.Type == keyword && (t.Value == "true" || t.Value == "false"):
		p.next()
		return ast.NewBool(position(&t), t.Value == "true"), nil
	case t.Type == ident && strings.EqualFold(t.Value, "null"):
		p.next()
		return ast.NewKeyword(position(&t), ast.Undefined), nil
	}
	return nil, unexpected(&t, "a value")
}

// number makes a constant of the next token, negative if there is a sign before it.
func (p *jsonParser) number(sign *lexer.Token) (ast.Expr, error) {
	t := p.next()
	if sign == nil && leadingZero(&t) {
		return nil, errorAt(position(&t), "integer "+t.Value+" begins with 0")
	}
	return literal(&t, sign), nil
}

// jsonString makes a string or, if it is marked as one, an expression.
func jsonString(t *lexer.Token) (ast.Expr, error) {
	decoded, bad := decodeJSON(t.Value)
	if bad >= 0 {
		return nil, badEscape(t, bad)
	}
	const slash, before, after = `\/`, "/Expr(", ")/"
	marked := len(t.Value) >= 2*len(slash) && strings.HasPrefix(t.Value, slash) && strings.HasSuffix(t.Value, slash)
	if !marked || len(decoded) < len(before)+len(after) || !strings.EqualFold(decoded[:len(before)], before) ||
		!strings.HasSuffix(decoded, after) {
		return ast.NewString(position(t), decoded), nil
	}
	e, err := Expr(decoded[len(before) : len(decoded)-len(after)])
	if err == nil {
		return e, nil
	}
	if inside, ok := errors.AsType[*Error](err); ok {
		offset := t.Pos.Offset + 1 + rawOffset(t.Value, len(before)+inside.Offset)
		return nil, &Error{Offset: offset, Message: inside.Message}
	}
	return nil, err
}

func badEscape(t *lexer.Token, offset int) *Error {
	return &Error{Offset: t.Pos.Offset + 1 + offset, Message: `\u without four hexadecimal digits, or \u0000`}
}

// decodeJSON replaces the escapes. bad is the offset of an invalid escape, or negative.
func decodeJSON(raw string) (decoded string, bad int) {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw, -1
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		var width int
		if b, width = appendJSONUnit(b, raw[i:]); width == 0 {
			return "", i
		}
		i += width
	}
	return string(b), -1
}

// rawOffset converts an offset in the decoded text to one in the raw text.
func rawOffset(raw string, offset int) int {
	var b []byte
	i := 0
	for i < len(raw) && len(b) < offset {
		var width int
		if b, width = appendJSONUnit(b, raw[i:]); width == 0 {
			break
		}
		i += width
	}
	return i
}

// appendJSONUnit decodes the byte or escape at the start of raw and returns its length, or 0 if it
// is invalid.
func appendJSONUnit(b []byte, raw string) ([]byte, int) {
	if raw[0] != '\\' || len(raw) == 1 {
		return append(b, raw[0]), 1
	}
	if i := strings.IndexByte("btn.fr", raw[1]); i >= 0 && raw[1] != '.' {
		return append(b, '\b'+byte(i)), 2
	}
	if raw[1] != 'u' {
		return append(b, raw[1]), 2
	}
	const width = len(`\u0000`)
	first, ok := hexUnit(raw)
	if !ok || first == 0 {
		return b, 0
	}
	if second, ok := hexUnit(raw[width:]); ok && utf16.IsSurrogate(first) {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return utf8.AppendRune(b, r), 2 * width
		}
	}
	return utf8.AppendRune(b, first), width // half a pair becomes U+FFFD
}

// hexUnit reads the escape \uXXXX at the start of a text; false if there is none.
func hexUnit(raw string) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		if !isHexDigit(raw[i]) {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(raw[2:6], 16, 32)
	return rune(n), err == nil
}
