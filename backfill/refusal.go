package backfill

import (
	"errors"
	"regexp"
)

// Refusal reports that a decision of the main policy was not used: it was impossible, or the policy
// made none. The error wraps [ErrGivenUp] from the round on in which the policy is given up.
type Refusal struct {
	Now    Time
	Policy string
	// Fallback is the policy that decides the round instead.
	Fallback string
	Err      error
}

// ErrNotAsked is wrapped by the error of a [Decider] that could not be asked, since it failed before and
// waits to be started again: there was no decision that could be refused.
var ErrNotAsked = errors.New("not asked")

// Asked reports whether the policy was asked, so that a decision of its own was refused or is missing.
// Else it failed before, and is started again later or never.
func (r Refusal) Asked() bool {
	return !errors.Is(r.Failure(), ErrNotAsked) && !errors.Is(r.Failure(), ErrGivenUp)
}

// Failure returns why the policy's own decision did not count: the error, without what says that the
// policy is given up for it.
func (r Refusal) Failure() error {
	if last, ok := errors.AsType[*givenUpError](r.Err); ok {
		return last.last
	}
	return r.Err
}

// Kind returns the text that all failures of the same kind share: that of [Refusal.Failure], with
// every number written as N. It is bounded.
func (r Refusal) Kind() string {
	const longest = 300
	return Printable(numbers.ReplaceAllString(r.Failure().Error(), "N"), longest)
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)
