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
	case errors.As(err, &syntax):
		return misplaced(syntax.Error())
	default:
		return strings.TrimPrefix(err.Error(), "json: ")
	}
}

// misplaced says of a character that may not stand where it does what may: "invalid character 'B' looking for
// beginning of value" is "'B' where a value is expected".
func misplaced(text string) string {
	character, context, found := strings.Cut(strings.TrimPrefix(text, "invalid character "), "' ")
	if !found {
		return text
	}
	for _, c := range [][2]string{
		{"looking for beginning of value", "a value is expected"},
		{"looking for beginning of object key string", "a name in quotes, or }, is expected"},
		{"after object key:value pair", "a comma or } is expected"},
		{"after object key", "a colon is expected"},
		{"after array element", "a comma or ] is expected"},
		{"after top-level value", "the end is expected"},
		{"in string literal", "a text goes on: write it as an escape, such as \\n"},
		{"in string escape code", "an escape such as \\n is expected"},
		{`in \u hexadecimal character escape`, "one of four hexadecimal digits is expected"},
		{"in numeric literal", "a digit is expected"},
		{"after decimal point", "a digit is expected"},
		{"in exponent of numeric literal", "a digit is expected"},
		{"in literal ", "true, false or null is expected"},
	} {
		if strings.HasPrefix(context, c[0]) {
			return character + "' where " + c[1]
		}
	}
	return text
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
