package parser

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// The types of tokens. A token of type invalid carries a message: it is an error only if the parser
// looks at it, because in some places anything may follow a complete expression.
const (
	ident   lexer.TokenType = -(iota + 2) // a plain name
	quoted                                // a name in single quotes, decoded
	keyword                               // true, false, undefined or error, in lower case
	integer
	floating
	text  // a string, decoded
	punct // operators and brackets; is and isnt become =?= and =!=
	invalid
)

const (
	// maxNesting is how deep brackets may nest, as in HTCondor.
	maxNesting = 999
	// maxOpen limits brackets plus conditionals between "?" and ":", which HTCondor does not limit.
	// Together with the loops in expr.go it limits the depth of the parser's recursion.
	maxOpen = 2 * maxNesting
	// maxTokens limits the memory of parsing, which is many times the length of the text.
	maxTokens = 1 << 20
)

// definition is the lexer for the library participle. The syntaxes differ only in strings and
// integers.
type definition Syntax

// Symbols implements lexer.Definition.
func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Ident": ident, "Quoted": quoted, "Keyword": keyword, "Integer": integer, "Real": floating,
		"String": text, "Punct": punct, "Invalid": invalid,
	}
}

// Lex implements lexer.Definition.
func (d definition) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return d.LexString(name, string(b))
}

// LexString implements lexer.StringDefinition.
func (d definition) LexString(_, src string) (lexer.Lexer, error) {
	return &scanner{src: untilNUL(src), syntax: Syntax(d)}, nil
}

// untilNUL returns the text before the first NUL, which is all that HTCondor reads.
func untilNUL(src string) string {
	before, _, _ := strings.Cut(src, "\x00")
	return before
}

// scanner splits the text into tokens. Their positions have only offsets; lines and columns are
// counted when an error is reported.
type scanner struct {
	src    string
	at     int
	syntax Syntax
	json   bool   // strings keep their escapes, and the parser counts the nesting
	open   []byte // the open brackets and question marks
	depth  int    // the brackets among them
	tokens int    // how many there were
	done   bool
}

// Next implements lexer.Lexer. It never fails: a mistake in the text is a token of type [invalid].
func (s *scanner) Next() (lexer.Token, error) {
	if message := s.skipBlank(); message != "" {
		return s.invalid(message), nil
	}
	if s.done || s.at >= len(s.src) {
		return lexer.EOFToken(s.position()), nil
	}
	if s.tokens++; s.tokens > maxTokens && !s.json {
		return s.invalid(fmt.Sprintf("more than %d names, constants and signs", maxTokens)), nil
	}
	switch c := s.src[s.at]; {
	case isLetter(c):
		return s.word(), nil
	case isDigit(c) || c == '.' && isDigit(s.peek(1)):
		return s.number(), nil
	case c == '"':
		return s.quotedText(text, c), nil
	case c == '\'':
		return s.quotedText(quoted, c), nil
	default:
		return s.operator(), nil
	}
}

func (s *scanner) position() lexer.Position { return lexer.Position{Offset: s.at} }

// peek returns the byte that many positions ahead, or 0 at the end; no text contains a 0.
func (s *scanner) peek(ahead int) byte {
	if s.at+ahead < len(s.src) {
		return s.src[s.at+ahead]
	}
	return 0
}

func (s *scanner) token(kind lexer.TokenType, value string, length int) lexer.Token {
	t := lexer.Token{Type: kind, Value: value, Pos: s.position()}
	s.at += length
	return t
}

func (s *scanner) invalid(message string) lexer.Token {
	s.done = true
	return s.token(invalid, message, 0)
}

// skipBlank moves to the next token; it returns a message if a comment does not end.
func (s *scanner) skipBlank() string {
	for !s.done && s.at < len(s.src) {
		rest := s.src[s.at:]
		switch {
		case isBlank(rest[0]):
			s.at++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			s.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return "comment without end"
			}
			s.at += 2 + end + 2
		default:
			return ""
		}
	}
	return ""
}

func (s *scanner) word() lexer.Token {
	end := s.at + 1
	for end < len(s.src) && (isLetter(s.src[end]) || isDigit(s.src[end])) {
		end++
	}
	word := s.src[s.at:end]
	if len(word) <= len("undefined") && strings.IndexByte("tTfFuUeEiI", word[0]) >= 0 {
		switch lower := strings.ToLower(word); lower {
		case "true", "false", "undefined", "error":
			return s.token(keyword, lower, len(word))
		case "is":
			return s.token(punct, "=?=", len(word))
		case "isnt":
			return s.token(punct, "=!=", len(word))
		}
	}
	return s.token(ident, word, len(word))
}

// number reads 12, .5, 1.5 and 1e-3, but not 5. or 1e. It also reads 017 and 0x1F, which the parser
// refuses unless it is strict or there is a minus before them.
func (s *scanner) number() lexer.Token {
	end, kind := s.digits(s.at), integer
	if s.src[s.at:end] == "0" && s.peek(1)|0x20 == 'x' {
		return s.hexadecimal(s.hexDigits(end + 1))
	}
	if end+1 < len(s.src) && s.src[end] == '.' && isDigit(s.src[end+1]) {
		end, kind = s.digits(end+1), floating
	}
	exponent := false
	if end < len(s.src) && s.src[end]|0x20 == 'e' {
		start := end + 1
		if start < len(s.src) && (s.src[start] == '+' || s.src[start] == '-') {
			start++
		}
		if last := s.digits(start); last > start {
			end, kind, exponent = last, floating, true
		}
	}
	number := s.src[s.at:end]
	if kind == integer && number[0] == '0' && strings.ContainsAny(number, "89") {
		return s.invalid("number " + number + " is not octal")
	}
	if end < len(s.src) && (kind == integer && s.src[end] == '.' || !exponent && s.src[end]|0x20 == 'e') {
		return s.invalid(fmt.Sprintf("number %s followed by %q", number, s.src[end]))
	}
	return s.token(kind, number, len(number))
}

// hexadecimal returns the number whose digits end there. Half a number is an error wherever it stands:
// else its 0 would be the value of a line, whose rest is ignored.
func (s *scanner) hexadecimal(end int) lexer.Token {
	number := s.src[s.at:end]
	switch {
	case len(number) == len("0x"):
		return s.invalid("number " + number + " without digits")
	case end < len(s.src) && s.src[end] == '.':
		return s.invalid(fmt.Sprintf("number %s followed by %q", number, s.src[end]))
	}
	return s.token(integer, number, len(number))
}

func (s *scanner) digits(from int) int {
	for from < len(s.src) && isDigit(s.src[from]) {
		from++
	}
	return from
}

func (s *scanner) hexDigits(from int) int {
	for from < len(s.src) && isHexDigit(s.src[from]) {
		from++
	}
	return from
}

// operators lists longer operators before their prefixes.
var operators = [...]string{
	">>>", "=?=", "=!=", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>",
	"+", "-", "*", "/", "%", "<", ">", "!", "~", "&", "|", "^", "?", ":", "=", ".", ",", ";", "(", ")", "[",
	"]", "{", "}",
}

func (s *scanner) operator() lexer.Token {
	for _, op := range operators {
		if !strings.HasPrefix(s.src[s.at:], op) {
			continue
		}
		if message := s.nest(op[0]); message != "" {
			return s.invalid(message)
		}
		if op == "." && s.peek(1) == '.' {
			return s.secondDot()
		}
		return s.token(punct, op, len(op))
	}
	return s.invalid(fmt.Sprintf("unexpected character %q", s.src[s.at:s.at+1]))
}

// nest keeps track of open brackets. It returns a message if they nest too deep, or for a semicolon
// that strict syntax forbids; the parser reports unbalanced brackets.
func (s *scanner) nest(c byte) string {
	if s.json {
		return ""
	}
	switch c {
	case '(', '[', '{':
		s.depth++
		s.open = append(s.open, c)
	case '?':
		s.open = append(s.open, c)
	case ':':
		if n := len(s.open); n > 0 && s.open[n-1] == '?' {
			s.open = s.open[:n-1]
		}
	case ')', ']', '}':
		n := len(s.open)
		for n > 0 && s.open[n-1] == '?' {
			n--
		}
		if n > 0 {
			n--
			s.depth--
		}
		s.open = s.open[:n]
	case ';':
		if n := len(s.open); s.syntax.Strict && n > 0 && s.open[n-1] == '(' {
			return `unexpected ";"`
		}
	}
	if s.depth > maxNesting || len(s.open) > maxOpen {
		return tooDeep
	}
	return ""
}

// secondDot reads two dots like HTCondor: as one dot, but with digits after them as the number 0.0.
func (s *scanner) secondDot() lexer.Token {
	if !isDigit(s.peek(2)) {
		return s.token(punct, ".", 2)
	}
	s.at++
	t := s.number()
	if t.Type == floating {
		t.Value = "0.0"
	}
	return t
}

// quotedText reads a string or a quoted name, which may consist of several pieces separated by
// blanks.
func (s *scanner) quotedText(kind lexer.TokenType, quote byte) lexer.Token {
	t := s.token(kind, "", 0)
	var pieces []string
	for {
		piece, ok := s.untilQuote(quote)
		if !ok {
			return s.invalid("text without closing quote")
		}
		switch {
		case s.syntax.Lines:
			t.Value = strings.ReplaceAll(piece, `\`+string(quote), string(quote))
			return t
		case s.json: // the parser needs the escapes
		default:
			if piece, ok = unescape(piece); !ok {
				return s.invalid(`text with \0`)
			}
		}
		next := s.at
		for next < len(s.src) && isBlank(s.src[next]) {
			next++
		}
		last := next == len(s.src) || s.src[next] != quote
		if last && pieces == nil {
			t.Value = piece
			return t
		}
		pieces = append(pieces, piece)
		if last {
			t.Value = strings.Join(pieces, "")
			return t
		}
		s.at = next
	}
}

// untilQuote moves past the closing quote and returns the text before it; false if there is none.
func (s *scanner) untilQuote(quote byte) (string, bool) {
	start := s.at + 1
	for i := start; i < len(s.src); i++ {
		switch s.src[i] {
		case quote:
			s.at = i + 1
			return s.src[start:i], true
		case '\\':
			switch {
			case !s.syntax.Lines:
				i++
			case i+1 < len(s.src)-1 && s.src[i+1] == quote:
				i++ // at the very end of a line, \" is a backslash and the closing quote
			}
		}
	}
	return "", false
}

// unescape replaces the escapes of bracket ads; the second result is false if one of them is a NUL
// byte.
func unescape(raw string) (string, bool) {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		if !isOctal(raw[i]) {
			b.WriteByte(escaped(raw[i]))
			continue
		}
		code := raw[i] - '0'
		for n := 1; n < 3 && i+1 < len(raw) && isOctal(raw[i+1]) && code < 0o40; n++ {
			i++
			code = code<<3 | (raw[i] - '0')
		}
		if code == 0 {
			return "", false
		}
		b.WriteByte(code)
	}
	return b.String(), true
}

func escaped(c byte) byte {
	if i := strings.IndexByte("abtnvfr", c); i >= 0 {
		return '\a' + byte(i)
	}
	return c
}

func isBlank(c byte) bool    { return c == ' ' || '\t' <= c && c <= '\r' }
func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isOctal(c byte) bool    { return '0' <= c && c <= '7' }
func isLetter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
