package backfill

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
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

// Named returns the refusal with an error whose text has the names of jobs for their IDs, which nobody but
// the policy knows. The callback returns the name of a job, or "" if it knows none.
func (r Refusal) Named(name func(JobID) string) Refusal {
	named := &namedError{r.Err, map[string]string{}}
	for _, text := range aJob.FindAllString(r.Err.Error(), -1) {
		id, err := strconv.ParseInt(strings.TrimPrefix(text, jobPrefix), 10, 64)
		if err != nil {
			continue
		}
		if name := name(JobID(id)); name != "" {
			named.names[text] = jobPrefix + name
		}
	}
	r.Err = named
	return r
}

// namedError is an error whose text names jobs.
type namedError struct {
	err   error
	names map[string]string // "job NAME" by "job ID"
}

func (e *namedError) Error() string {
	return aJob.ReplaceAllStringFunc(e.err.Error(), func(text string) string { return cmp.Or(e.names[text], text) })
}

func (e *namedError) Unwrap() error { return e.err }

// jobPrefix is what comes before the ID of a job in texts.
const jobPrefix = "job "

var aJob = regexp.MustCompile(`\b` + jobPrefix + `[0-9]+\b`)

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
	failure := r.failure()
	if named, ok := errors.AsType[*namedError](r.Err); ok {
		return &namedError{failure, named.names}
	}
	return failure
}

// failure is Failure with the IDs of jobs in the text.
func (r Refusal) failure() error {
	if last, ok := errors.AsType[*givenUpError](r.Err); ok {
		return last.last
	}
	if named, ok := errors.AsType[*namedError](r.Err); ok {
		return named.err
	}
	return r.Err
}

// Kind returns the text that all failures of the same kind share: that of [Refusal.Failure], with
// every number written as N, and with no names of jobs. It is bounded.
func (r Refusal) Kind() string {
	const longest = 300
	return Printable(numbers.ReplaceAllString(r.failure().Error(), "N"), longest)
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)
