package classadtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/parser"
)

var styles = map[string]ast.Style{
	"": ast.Canonical, "new": ast.Canonical, "old": ast.Line, "long": ast.Long, "pretty": ast.Pretty,
	"json": ast.JSON, "json-multi": ast.JSONIndented, "xml": ast.XML, "xml-multi": ast.XMLIndented,
}

// print parses the text of the case and prints it again.
func (c Case) print() Result {
	style, ok := styles[c.Style]
	if !ok {
		return Result{Unsupported: true}
	}
	e, err := c.parse()
	if err != nil {
		return parseError
	}
	return Result{Got: string(ast.Append(nil, e, style)), Type: c.As, Tree: tree(e)}
}

// parse reads the text of the case as what it is.
func (c Case) parse() (ast.Expr, error) {
	if c.As != "ad" {
		return parser.Syntax{Lines: c.Syntax == "old", Strict: c.Mode == "strict"}.Expr(c.Expr)
	}
	parse := parser.Syntax{Strict: c.Mode == "strict"}.Ad
	switch c.Syntax {
	case "json":
		parse = parser.JSON
	case "xml":
		parse = parser.XML
	case "old":
		parse = parseLines
	}
	r, err := parse(c.Expr)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// parseLines takes the way over an ad, because lines are no business of the parser.
func parseLines(text string) (*ast.Record, error) {
	ad, err := classad.ParseOld(text)
	if err != nil {
		return nil, err
	}
	r := ast.NewRecord(0)
	for name, e := range ad.All() {
		r.Set(name, e.Tree())
	}
	return r, nil
}

// malformed reads the file of the case. An input that can be read has the type "ok".
func (c Case) malformed() Result {
	text, err := readFile(filepath.Join(c.Dir, c.File))
	if err != nil {
		return Result{Got: err.Error(), Type: "no input"}
	}
	c.Expr = string(text)
	r := c.print()
	if r.Type == c.As {
		r.Type = "ok"
	}
	return r
}

func (c Case) agreesMalformed(r Result) bool {
	read := r.Type == "ok" || r.Type == parseError.Type
	return read && (c.Want == "crash" || c.Want == r.Type) && (c.WantUnparse == "" || c.WantUnparse == r.Got)
}

// readFile unzips what ends in .gz.
func readFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return text, err
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
