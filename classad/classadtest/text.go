package classadtest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
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
	if c.As != "ad" {
		e, err := c.expr()
		if err != nil {
			return parseError
		}
		return Result{Got: e.Format(style), Type: c.As, Tree: tree(e.Tree())}
	}
	ad, err := c.ad()
	if err != nil {
		return parseError
	}
	return Result{Got: ad.Format(style), Type: c.As, Tree: adTree(ad)}
}

func (c Case) strict() bool { return c.Mode == "strict" }

func (c Case) expr() (*classad.Expr, error) {
	p := classad.Parser{Strict: c.strict()}
	if c.Syntax == "old" {
		return p.ParseLineExpr(c.Expr)
	}
	return p.ParseExpr(c.Expr)
}

func (c Case) ad() (*classad.ClassAd, error) {
	p := classad.Parser{Strict: c.strict()}
	switch c.Syntax {
	case "json":
		return p.ParseJSON(c.Expr)
	case "xml":
		return p.ParseXML(c.Expr)
	case "old":
		return p.ParseOld(c.Expr)
	default:
		return p.Parse(c.Expr)
	}
}

// malformed reads the file of the case. The result of an input that can be read has the type "ok".
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

// readFile reads a file and unzips it if its name ends in .gz.
func readFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return text, err
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, zipped(err)
	}
	text, err = io.ReadAll(r)
	return text, zipped(err)
}

// zipped returns an error of the library for gzip in words, and others unchanged.
func zipped(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, new(flate.CorruptInputError)) {
		return errors.New("the gzip file is damaged; fetch it again")
	}
	return err
}
