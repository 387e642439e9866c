package backfill

import (
	"errors"
	"fmt"
)

// When a host gives its policy up: after so many failures in rounds running, or once more than so many
// of the last rounds are failures. Rounds in which no job waits do not count, as nobody is asked.
const (
	mostRunning = 100
	lastRounds  = 10_000
	mostOfLast  = lastRounds / 100
)

// patience is what a host remembers of the rounds in which its policy failed, whatever the reason: it
// panicked, returned an error, was too late, or its decision was refused. The zero value has infinite
// memory of nothing.
type patience struct {
	rounds  int   // that the policy was to decide
	running int   // failures since it last decided one
	failed  []int // the last failures, by the number of the round
	last    error // of the last round in which it was asked and failed
}

// succeeded counts a round that the policy decided.
func (p *patience) succeeded() { p.rounds, p.running = p.rounds+1, 0 }

// failedWith counts a round that the policy failed to decide, with an error. It returns the error; one
// that wraps [ErrGivenUp] if this was a failure too many.
func (p *patience) failedWith(err error) error {
	p.rounds++
	p.running++
	if !errors.Is(err, ErrNotAsked) || p.last == nil {
		p.last = err
	}
	p.failed = append(p.failed, p.rounds)
	if len(p.failed) > mostOfLast+1 {
		p.failed = p.failed[1:]
	}
	switch {
	case p.running >= mostRunning:
		return &givenUpError{fmt.Sprintf("%d rounds running", p.running), p.last}
	case len(p.failed) > mostOfLast && p.rounds-p.failed[0] < lastRounds:
		return &givenUpError{fmt.Sprintf("%d of %d rounds", len(p.failed), p.rounds-p.failed[0]+1), p.last}
	}
	return err
}

// givenUpError says that a policy is given up, since it failed in too many rounds.
type givenUpError struct {
	rounds string // in how many
	last   error  // of the last
}

func (e *givenUpError) Error() string {
	return fmt.Sprintf("%v after it failed in %s, at last: %v", ErrGivenUp, e.rounds, e.last)
}

func (e *givenUpError) Unwrap() []error { return []error{ErrGivenUp, e.last} }
