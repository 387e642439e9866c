package sweep

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// Parse reads a sweep's file. Every fault is reported with its place:
//
//	easy.yaml: [3:1] unknown field "shcedulers", did you mean schedulers?
//	   2 | traces: …
//	>  3 | shcedulers: …
//	       ^
func Parse(name string, text []byte) (*File, error) {
	file, err := strictyaml.Parse(text)
	if err != nil {
		return nil, placed(name, err)
	}
	if len(file.Docs) == 0 {
		return nil, fmt.Errorf("%s: there is nothing in it; a sweep has a name, traces and schedulers", name)
	}
	f := &File{}
	if err = strictyaml.Decode(text, f); err != nil {
		return nil, placed(name, suggest(file, err))
	}
	f.path, f.text, f.tree = name, text, file
	if err = f.report(f.faults()); err != nil {
		return nil, err
	}
	return f, nil
}

// Check returns an error with all that is wrong with a sweep that a program made, without a file.
func (f *File) Check() error { return f.report(f.faults()) }

// report returns an error with all faults and, of a file, their places.
func (f *File) report(faults []fault) error {
	var errs []error
	for _, wrong := range faults {
		if f.tree == nil {
			errs = append(errs, errors.New(wrong.text))
			continue
		}
		errs = append(errs, placed(f.path, wrong.locate(f.tree)))
	}
	return errors.Join(errs...)
}

// placed returns an error of the YAML library as text, with the file's name and the lines around the
// fault.
func placed(name string, err error) error {
	return fmt.Errorf("%s: %s", name, strings.TrimRight(yaml.FormatError(err, false, true), "\n"))
}

// suggest adds to the error for an unknown field which known one may have been meant. It returns
// other errors unchanged.
func suggest(file *ast.File, err error) error {
	unknown, ok := errors.AsType[*yaml.UnknownFieldError](err)
	if !ok {
		return err
	}
	known := fieldsAt(pathOf(file, unknown.Token))
	return &yaml.SyntaxError{
		Message: unknown.Message + backfill.DidYouMean(unknown.Token.Value, known) + " (known here: " +
			strings.Join(known, ", ") + ")",
		Token: unknown.Token,
	}
}

// pathOf returns the path of the mapping that has a key, such as $.traces[0].
func pathOf(file *ast.File, key *token.Token) string {
	found := finder{key: key}
	for _, d := range file.Docs {
		if d.Body != nil {
			ast.Walk(&found, d.Body)
		}
	}
	return found.path
}

// finder looks for the mapping that has a key.
type finder struct {
	key  *token.Token
	path string
}

// Visit notes the path of the mapping if the node is its key.
func (f *finder) Visit(node ast.Node) ast.Visitor {
	if pair, ok := node.(*ast.MappingValueNode); ok {
		at := pair.Key.GetToken().Position
		if at.Line == f.key.Position.Line && at.Column == f.key.Position.Column {
			f.path = strings.TrimSuffix(pair.Key.GetPath(), "."+f.key.Value)
		}
	}
	return f
}

var steps = regexp.MustCompile(`[a-z_]+`) //nolint:gochecknoglobals // a constant

// typeAt returns the type of the value at a path of a sweep's file; for a list, that of its
// elements.
func typeAt(path string) reflect.Type {
	at := reflect.TypeFor[File]()
	for _, step := range steps.FindAllString(path, -1) {
		for _, field := range fields(at) {
			if field.name != step {
				continue
			}
			at = field.kind
			for at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer {
				at = at.Elem()
			}
		}
	}
	return at
}

// fieldsAt returns the names that the mapping at a path of a sweep's file may have.
func fieldsAt(path string) []string {
	var names []string
	for _, field := range fields(typeAt(path)) {
		names = append(names, field.name)
	}
	return names
}

type field struct {
	name string
	kind reflect.Type
}

// fields returns the fields of a struct under their names in the file; none for other types.
func fields(structure reflect.Type) []field {
	var all []field
	if structure.Kind() != reflect.Struct {
		return nil
	}
	for f := range structure.Fields() {
		if f.Anonymous {
			all = append(all, fields(f.Type)...)
			continue
		}
		if name := f.Tag.Get("yaml"); name != "" {
			all = append(all, field{name, f.Type})
		}
	}
	return all
}

// fault is an invalid setting.
type fault struct {
	path string // of the setting in the file, such as traces[0].cpus
	text string
}

// locate returns the fault as an error with its place: that of the setting, or of the mapping in
// which the setting is missing.
func (f fault) locate(file *ast.File) error {
	for path := "$." + f.path; path != "$" && path != ""; path = parent(path) {
		at, err := yaml.PathString(path)
		if err != nil {
			continue
		}
		if node, err := at.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
			return &yaml.SyntaxError{Message: f.text, Token: node.GetToken()}
		}
	}
	return &yaml.SyntaxError{Message: f.text, Token: file.Docs[0].Body.GetToken()}
}

// parent returns the path without its last step.
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}
