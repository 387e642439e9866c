// Package strictyaml reads files in YAML that people write: one document, no unknown
// keys, and an error of the library, whatever odd text it is given.
package strictyaml

import (
	"bytes"
	"errors"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse gives the tree of a text, for the places of what is wrong; documents of
// comments alone are left out. A second document is an error, as one is all that is
// read.
func Parse(text []byte) (file *ast.File, err error) {
	err = calm(func() (err error) {
		file, err = parser.ParseBytes(plain(text), 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	file.Docs = slices.DeleteFunc(file.Docs,
		func(d *ast.DocumentNode) bool { return d.Body == nil || d.Body.Type() == ast.CommentType })
	if len(file.Docs) > 1 {
		return nil, &yaml.SyntaxError{
			Message: "there is a second document: one is all that is read",
			Token:   file.Docs[1].Start,
		}
	}
	return file, nil
}

// Decode reads a text into a value, of which it must know every key. What is wrong
// is told by [yaml.FormatError] with its place.
func Decode(text []byte, into any) error {
	return calm(func() error { return yaml.UnmarshalWithOptions(plain(text), into, yaml.Strict()) })
}

// DecodeNode is Decode of a part of what Parse read.
func DecodeNode(node ast.Node, into any) error {
	return calm(func() error { return yaml.NodeToValue(node, into, yaml.Strict()) })
}

// plain is a text without the mark that some editors put before it.
func plain(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// calm makes errors of the library's panics: there is odd text for which it has no
// other answer.
func calm(do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be read as YAML; write it more plainly: no tags, anchors or odd keys")
		}
	}()
	return do()
}
