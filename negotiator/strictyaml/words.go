package strictyaml

import (
	"errors"
	"math"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// plainly returns an error of the library about a value of another kind in words, as the library speaks
// of Go, and one about a tab, which it prints as a blank. It returns other errors unchanged.
func plainly(err error) error {
	var (
		mistyped   *yaml.TypeError
		overflow   *yaml.OverflowError
		unexpected *yaml.UnexpectedNodeTypeError
		syntax     *yaml.SyntaxError
	)
	switch {
	case errors.As(err, &syntax) && strings.Contains(syntax.Message, "'\t'"): // which prints as a blank
		return &yaml.SyntaxError{Message: "there is a tab; indent with blanks", Token: syntax.Token}
	case errors.As(err, &mistyped):
		return &yaml.SyntaxError{
			Message: isGiven(valueOf(mistyped.SrcType), kindOf(mistyped.DstType)), Token: mistyped.Token,
		}
	case errors.As(err, &overflow):
		return &yaml.SyntaxError{Message: isGiven(overflow.SrcNum, kindOf(overflow.DstType)), Token: overflow.Token}
	case errors.As(err, &unexpected):
		return &yaml.SyntaxError{
			Message: isGiven(nodeKind(unexpected.Actual), nodeKind(unexpected.Expected)), Token: unexpected.Token,
		}
	default:
		return err
	}
}

func isGiven(value, wanted string) string {
	return value + " is given where " + wanted + " is expected"
}

// valueOf names what was read, whose whole numbers are all of one type.
func valueOf(t reflect.Type) string {
	if t.Kind() == reflect.Uint64 {
		return "a whole number"
	}
	return kindOf(t)
}

// kindOf names the values of a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint64:
		return "a whole number from 0 to 2^64-1"
	default:
		return "a whole number"
	}
}

// nodeKind names the values of a kind of node.
func nodeKind(kind ast.NodeType) string {
	switch kind {
	case ast.MappingType, ast.MappingValueType, ast.MappingKeyType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.StringType, ast.LiteralType:
		return "a text"
	case ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number"
	case ast.IntegerType:
		return "a whole number"
	case ast.BoolType:
		return "true or false"
	case ast.NullType:
		return "nothing"
	default:
		return "another kind of value"
	}
}

// whole returns an error if a number has a fraction where the type wants whole ones: the library drops
// it without a word.
func whole(node ast.Node, t reflect.Type) error {
	if _, own := reflect.PointerTo(t).MethodByName("UnmarshalYAML"); own {
		return nil
	}
	switch node := node.(type) {
	case *ast.AnchorNode:
		return whole(node.Value, t)
	case *ast.FloatNode:
		if isWhole(t) && node.Value != math.Trunc(node.Value) {
			return &yaml.SyntaxError{Message: node.GetToken().Value + ": must be a whole number", Token: node.GetToken()}
		}
	case *ast.SequenceNode:
		if t.Kind() == reflect.Slice {
			for _, value := range node.Values {
				if err := whole(value, element(t)); err != nil {
					return err
				}
			}
		}
	case ast.MapNode:
		for entries := node.MapRange(); entries.Next(); {
			if field := fieldType(t, entries.Key().GetToken().Value); field != nil {
				if err := whole(entries.Value(), field); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func isWhole(t reflect.Type) bool { return reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64 }

// element is the type of the elements of a type, without pointers.
func element(t reflect.Type) reflect.Type { return pointed(t.Elem()) }

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldType is the type of what a mapping has under a key; nil if that is nothing.
func fieldType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() { //nolint:exhaustive // nothing else has keys
	case reflect.Map:
		return element(t)
	case reflect.Struct:
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == key {
				return pointed(f.Type)
			}
			if f.Anonymous {
				if inner := fieldType(pointed(f.Type), key); inner != nil {
					return inner
				}
			}
		}
	}
	return nil
}
