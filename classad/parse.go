package classad

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// ParseExpr parses one expression as bracket ads have them. The error is a [*SyntaxError].
func ParseExpr(text string) (*Expr, error) {
	e, err := parser.Expr(text)
	if err != nil {
		return nil, syntaxError(err, "", text, 1, "")
	}
	return &Expr{tree: e}, nil
}

// MustParseExpr is [ParseExpr] for constants of a program; it panics if the text is wrong.
func MustParseExpr(text string) *Expr {
	e, err := ParseExpr(text)
	if err != nil {
		panic(err)
	}
	return e
}

// ParseLineExpr parses one expression as lines have them, where strings know no escape but \". The error is a
// [*SyntaxError].
func ParseLineExpr(text string) (*Expr, error) {
	e, err := parser.LineExpr(text)
	if err != nil {
		return nil, syntaxError(err, "", text, 1, "")
	}
	return &Expr{tree: e}, nil
}

// Parse parses one ad in brackets: "[ a = 1; b = a + 1 ]". The error is a [*SyntaxError].
func Parse(text string) (*ClassAd, error) { return parseBrackets(text, "", 1) }

// ParseOld parses one ad of lines "a = 1", as condor_status -long prints them. Empty lines and lines that begin with #
// are skipped. The name is all that is left of the first =, and what follows a complete expression is ignored, both as
// in HTCondor. The error is a [*SyntaxError].
func ParseOld(text string) (*ClassAd, error) {
	ad, number := New(), 0
	for line := range strings.Lines(text) {
		number++
		if err := ad.addLine(line, "", number); err != nil {
			return nil, err
		}
	}
	return ad, nil
}

func parseBrackets(text, file string, first int) (*ClassAd, error) {
	r, err := parser.Ad(text)
	if err != nil {
		return nil, syntaxError(err, file, text, first, "")
	}
	return fromTree(r), nil
}

// addLine adds the attribute on a line, if there is one.
func (ad *ClassAd) addLine(line, file string, number int) error {
	line = strings.TrimRight(line, "\r\n")
	if isEmptyLine(line) {
		return nil
	}
	left, right, ok := strings.Cut(line, "=")
	name := strings.TrimRight(strings.TrimLeft(left, " \t"), " ")
	if !ok || name == "" {
		err := &parser.Error{Message: `expected "name = expression"`}
		return syntaxError(err, file, line, number, "")
	}
	e, err := parser.LinePrefix(right)
	if err != nil {
		return syntaxError(err, file, right, number, line[:len(line)-len(right)])
	}
	ad.attrs.Set(name, e)
	return nil
}

// isEmptyLine is true for comments too.
func isEmptyLine(line string) bool {
	line = strings.TrimLeft(line, " \t\r\n")
	return line == "" || line[0] == '#'
}
