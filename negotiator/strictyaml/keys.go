package strictyaml

import (
	"errors"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Keys returns the paths of all keys that a text may have which is decoded into a value of the type, in
// the order of its fields: name, traces[].file.
func Keys(t reflect.Type) []string { return keysOf(t, "") }

func keysOf(t reflect.Type, prefix string) (all []string) {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Map:
			t = t.Elem()
			continue
		case reflect.Slice:
			t, prefix = t.Elem(), prefix+"[]"
			continue
		case reflect.Struct:
		default:
			return nil
		}
		break
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Anonymous:
			all = append(all, keysOf(f.Type, prefix)...)
		case name != "":
			at := strings.TrimPrefix(prefix+"."+name, ".")
			all = append(append(all, at), keysOf(f.Type, at)...)
		}
	}
	return all
}

// KeysIn returns the paths of the keys that a text has, as [Keys] writes them.
func KeysIn(file *ast.File) []string {
	var found keyed
	for _, d := range file.Docs {
		if d.Body != nil {
			ast.Walk(&found, d.Body)
		}
	}
	return found
}

// keyed are paths of keys.
type keyed []string

// Visit notes the path of a key.
func (k *keyed) Visit(node ast.Node) ast.Visitor {
	if pair, ok := node.(*ast.MappingValueNode); ok {
		*k = append(*k, generic(pair.Key.GetPath()))
	}
	return k
}

var index = regexp.MustCompile(`\[\d+\]`) //nolint:gochecknoglobals // a constant

// generic returns a path of the library, such as $.traces[0].file, as [Keys] writes it.
func generic(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(index.ReplaceAllString(path, "[]"), "$"), ".")
}

// Suggest adds to the error for an unknown key of a text that was decoded into a value of the type which
// known ones there are in its place, what hint says of the key and these, and which command lists all. It
// returns other errors unchanged.
func Suggest(file *ast.File, err error, t reflect.Type, hint func(key string, known []string) string,
	command string,
) error {
	unknown, ok := errors.AsType[*yaml.UnknownFieldError](err)
	if !ok {
		return err
	}
	within := pathOf(file, unknown.Token)
	if within != "" {
		within += "."
	}
	var known []string
	for _, path := range Keys(t) {
		if name, found := strings.CutPrefix(path, within); found && !strings.ContainsAny(name, ".[") {
			known = append(known, name)
		}
	}
	return &yaml.SyntaxError{
		Message: unknown.Message + hint(unknown.Token.Value, known) + " (known here: " + strings.Join(known, ", ") + "; " +
			command + " shows each with an example)",
		Token: unknown.Token,
	}
}

// pathOf returns the path of the mapping that has a key, such as traces[]; "" for the outermost.
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
			f.path = strings.TrimSuffix(strings.TrimSuffix(generic(pair.Key.GetPath()), f.key.Value), ".")
		}
	}
	return f
}
