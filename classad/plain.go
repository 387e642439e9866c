package classad

import (
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// Nearly everything in the ads of a pool is plain: names without quotes, numbers, strings without
// escapes. This file parses it without making tokens and leaves everything else, errors included,
// to the package parser. The fuzz target FuzzPlain compares the two.

// parseValue parses the text after the = of an attribute.
func (p *Parser) parseValue(syntax int, text string) (Value, error) {
	if v, ok := plainWord(text); ok {
		return v, nil
	}
	if v, ok := plainString(text); ok {
		return v, nil
	}
	tree, end, err := p.parseTree(syntax, text)
	if err != nil {
		return Value{}, err
	}
	p.partly(text, end)
	if tree.Height() >= ast.MaxHeight {
		return Value{}, &parser.Error{Message: "nested too deeply"}
	}
	return entry(tree), nil
}

// parseTree parses the text of a value, and returns how much of it was read.
func (p *Parser) parseTree(syntax int, text string) (tree ast.Expr, end int, err error) {
	if syntax == inLines {
		p.parsed += exprTokens([]byte(text))
		return parser.Syntax{Strict: p.Strict, Lines: true}.Prefix(text)
	}
	tree, err = parser.Syntax{Strict: p.Strict}.Part(text)
	return tree, len(text), err
}

func plainWord(text string) (Value, bool) {
	switch {
	case len(text) == len("true") && equalFold(text, "true"):
		return boolean(true), true
	case len(text) == len("false") && equalFold(text, "false"):
		return boolean(false), true
	default:
		return Value{}, false
	}
}

// plainString parses a text that is one string without any backslash; false if it is not.
func plainString(s string) (Value, bool) {
	last := len(s) - 1
	if last < 1 || s[0] != '"' || s[last] != '"' || strings.ContainsAny(s[1:last], "\"\\\x00") {
		return Value{}, false
	}
	return text(s[1:last]), true
}

// mostDigits is how many digits an integer may have that cannot overflow.
const mostDigits = 18

// plainNumber parses the decimal number at the start of the text and returns its length, 0 if there
// is none.
func plainNumber(s string) (Value, int) {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	start, n := i, int64(0)
	for i < len(s) && isDigit(s[i]) {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	switch digits := i - start; {
	case digits == 0 || digits > mostDigits || digits > 1 && s[start] == '0':
		return Value{}, 0
	case i < len(s) && (s[i] == '.' || s[i]|0x20 == 'e'):
		return plainReal(s, i)
	case s[0] == '-':
		n = -n
	}
	return integer(n), i
}

// plainReal parses a number with a fraction or an exponent, whose first digits are s[:i], and
// returns its length; 0 if that is malformed or out of range.
func plainReal(s string, i int) (Value, int) {
	digits := func() bool {
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i > start
	}
	if s[i] == '.' {
		if i++; !digits() {
			return Value{}, 0
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return Value{}, 0
		}
	}
	r, err := ast.ParseReal(s[:i])
	if err != nil || math.IsInf(r, 0) {
		return Value{}, 0
	}
	return realValue(r), i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// plainBrackets parses a bracket ad; nil means that it is not plain, or that it has an error.
func (p *Parser) plainBrackets(s string) *ClassAd {
	i := skipBlanks(s, 0)
	if i == len(s) || s[i] != '[' {
		return nil
	}
	at := p.begin()
	for i = skipBlanks(s, i+1); i < len(s) && s[i] != ']'; {
		if at, i = p.plainAttribute(at, s, i); at == nil {
			return nil
		}
	}
	if i == len(s) || skipBlanks(s, i+1) != len(s) {
		return nil
	}
	return p.end(at)
}

// plainAttribute parses the name = value at index i and any semicolons after it, and returns the
// path that ends with the name, and the index after them. A nil path means that they are not plain.
func (p *Parser) plainAttribute(at *path, s string, i int) (*path, int) {
	end := i
	for end < len(s) && (isLetter(s[end]) || isDigit(s[end])) {
		end++
	}
	name := s[i:end]
	i = skipBlanks(s, end)
	if name == "" || isDigit(name[0]) || i+1 >= len(s) || s[i] != '=' || strings.IndexByte("=?!", s[i+1]) >= 0 {
		return nil, 0
	}
	i = skipBlanks(s, i+1)
	at = p.plainStep(at, name)
	if at == nil {
		return nil, 0
	}
	v, length := plainNumber(s[i:])
	if length > 0 {
		end = skipBlanks(s, i+length)
	}
	if length == 0 || end == len(s) || s[end] != ';' && s[end] != ']' {
		end = plainExtent(s, i)
		if end < 0 {
			return nil, 0
		}
		var err error
		if v, err = p.remembered(inBrackets, at, strings.TrimRight(s[i:end], blanks)); err != nil {
			return nil, 0
		}
	}
	p.values = append(p.values, v)
	for i = end; i < len(s) && (s[i] == ';' || isBlank(s[i])); {
		i++
	}
	return at, i
}

// plainStep returns the path that continues this one with a name, or nil for a reserved word.
func (p *Parser) plainStep(at *path, name string) *path {
	if at.likely != nil && at.likely.name.text == name {
		return at.likely
	}
	switch ast.Fold(name) {
	case "true", "false", "undefined", "error", "is", "isnt":
		return nil
	}
	return p.step(at, name)
}

// deepestPlain is how many brackets or conditionals a plain value may have; see the limits of the
// package parser.
const deepestPlain = 900

// plainExtent returns the index of the semicolon or bracket that ends the value at i; -1 if the
// value is not plain.
func plainExtent(s string, i int) int {
	depth, conditionals := 0, 0
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case ';':
			if depth == 0 {
				return i
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				if c == ']' {
					return i
				}
				return -1
			}
			depth--
		case '?':
			conditionals++
		case '"', '\'':
			if i = quoteEnd(s, i); i < 0 {
				return -1
			}
		case '/':
			if i+1 < len(s) && (s[i+1] == '/' || s[i+1] == '*') {
				return -1
			}
		case 0:
			return -1
		}
		if depth > deepestPlain || conditionals > deepestPlain {
			return -1
		}
	}
	return -1
}

// quoteEnd returns the index of the quote that closes the one at i, or -1.
func quoteEnd(s string, i int) int {
	for quote, j := s[i], i+1; j < len(s); j++ {
		switch s[j] {
		case quote:
			return j
		case '\\':
			j++
		case 0:
			return -1
		}
	}
	return -1
}
