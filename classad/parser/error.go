package parser

import (
	"errors"
	"fmt"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

const tooDeep = "nested too deeply"

// Error describes what is wrong with a text, and where.
type Error struct {
	Offset  int // in bytes from the start of the text
	Message string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message) }

func errorAt(pos ast.Pos, message string) *Error {
	return &Error{Offset: int(pos), Message: message}
}

// unexpected returns the error for a token where something else was expected.
func unexpected(t *lexer.Token, expected string) *Error {
	e := &Error{Offset: t.Pos.Offset}
	switch t.Type {
	case invalid:
		e.Message = t.Value
	case lexer.EOF:
		e.Message = "unexpected end, expected " + expected
	default:
		e.Message = fmt.Sprintf("unexpected %q, expected %s", t.Value, expected)
	}
	return e
}

// located converts an error of the library participle to one of ours; expected says what could have
// followed.
func located(err error, expected string) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if token, ok := errors.AsType[*participle.UnexpectedTokenError](err); ok {
		return unexpected(&token.Unexpected, expected)
	}
	if general, ok := errors.AsType[participle.Error](err); ok {
		return &Error{Offset: general.Position().Offset, Message: general.Message()}
	}
	return err
}
