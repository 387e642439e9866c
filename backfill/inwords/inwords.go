// Package inwords says in words of people what libraries say in words of their own, and writes numbers and
// lengths of time as people read them (number.go).
package inwords

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// JSON returns the text of an error of [encoding/json], without what only those understand who know
// the program's own types.
func JSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "there is nothing in it"
	case errors.Is(err, io.ErrUnexpectedEOF),
		errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return "it ends too early"
	case errors.As(err, &kind):
		at := ""
		if kind.Field != "" {
			at = kind.Field + ": "
		}
		return at + given(kind.Value) + " is given where " + wanted(kind.Type) + " is expected"
	default:
		return strings.TrimPrefix(err.Error(), "json: ")
	}
}

// given names a value, which the library calls "number 1.5", "string" or "object".
func given(value string) string {
	if number, found := strings.CutPrefix(value, "number "); found {
		return number
	}
	if value == "array" || value == "object" {
		return "an " + value
	}
	return "a " + value
}

// wanted names the values of a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}
