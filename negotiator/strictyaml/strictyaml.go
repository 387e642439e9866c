// Package strictyaml reads YAML files that people write. It accepts one document, refuses unknown
// keys, and returns an error even for texts on which the YAML library panics or takes all memory.
package strictyaml

import (
	"bytes"
	"errors"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Parse returns the syntax tree of a text, in which callers find the places of errors. It leaves
// out documents that have only comments. A second document is an error, as only one is ever read.
func Parse(text []byte) (file *ast.File, err error) {
	err = calm(func() (err error) {
		file, err = parse(plain(text))
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

func parse(text []byte) (*ast.File, error) {
	if err := bounded(text); err != nil {
		return nil, err
	}
	if err := readable(text); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(text))
	if err := sparing(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, plainly(err)
	}
	if alias := nestedAlias(file); alias != nil {
		return nil, at(alias.Start, "an alias is part of what an anchor names; write out what it stands for")
	}
	return file, nil
}

// Decode reads a text into the value that a pointer points to. A key for which the value has no field
// is an error, and so is a fraction where the value is a whole number. [yaml.FormatError] prints an error
// with its place in the text.
func Decode(text []byte, into any) error {
	file, err := Parse(text)
	if err != nil {
		return err
	}
	err = calm(func() error { return yaml.UnmarshalWithOptions(plain(text), into, yaml.Strict()) })
	if err != nil || len(file.Docs) == 0 {
		return plainly(err)
	}
	return whole(file.Docs[0].Body, pointed(reflect.TypeOf(into)))
}

// DecodeNode is [Decode] for a node of the tree that [Parse] returned.
func DecodeNode(node ast.Node, into any) error {
	return plainly(calm(func() error { return yaml.NodeToValue(node, into, yaml.Strict()) }))
}

// plain returns a text without the byte order mark that some editors put before it.
func plain(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// calm calls the function and turns a panic of the YAML library, which some odd texts cause, into
// an error.
func calm(do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be read as YAML; write it more plainly: no tags, anchors or odd keys")
		}
	}()
	return do()
}
