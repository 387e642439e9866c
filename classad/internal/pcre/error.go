package pcre

import (
	"errors"
	"strconv"
)

// Errors of [Regexp.Match]. After either it is unknown whether the pattern would have matched.
var (
	// ErrBudget means that the match needed more steps or memory than it may use.
	ErrBudget = errors.New("pcre: the match takes too many steps")
	// ErrRecursion means that a group called itself again without consuming anything in between.
	ErrRecursion = errors.New("pcre: recursion at the same place of the subject")
)

// Error says why a pattern does not compile. Messages about mistakes are those of PCRE2; for valid
// syntax that this package lacks the message says "not supported".
type Error struct {
	Offset  int // in bytes, of the place where the parser gave up
	Message string
}

// Error returns the message with the offset.
func (e *Error) Error() string {
	return "pcre: " + e.Message + " at offset " + strconv.Itoa(e.Offset)
}

// The messages that are used in more than one place.
const (
	msgNoSuchGroup    = "reference to non-existent subpattern"
	msgNothingToApply = "quantifier does not follow a repeatable item"
	msgUnclosed       = "missing closing parenthesis"
	msgNumberTooBig   = "subpattern number is too big"
	msgNotFixed       = "lookbehind assertion is not fixed length"
	msgAssertionFirst = "assertion expected after (?( or (?(?C)"
	msgBadVerb        = "(*VERB) not recognized or malformed"
	msgBadAlpha       = "(*alpha_assertion) not recognized"
)
