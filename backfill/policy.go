package backfill

import (
	"fmt"
	"slices"
	"strings"
)

// Policy decides what starts now and what is reserved for later. It is a
// function of the cycle it is given: it takes the events (reacting between them
// or after the last), reads, and acts. Whatever it keeps between cycles must
// change no decision when it is dropped.
type Policy interface {
	Decide(c *Cycle)
}

// PolicyFunc is a policy without options.
type PolicyFunc func(*Cycle)

// Decide calls the function.
func (f PolicyFunc) Decide(c *Cycle) { f(c) }

// PolicySpec is a policy as it is known by name: what it is, what it promises, what
// can be set, and how one is made.
type PolicySpec struct {
	Name string
	// Doc says in one sentence what the policy does, Promise what a job's owner may
	// rely on, Source where it comes from.
	Doc, Promise, Source string
	// Guarantees declares that every waiting job always has a reservation at or
	// before the start that it was promised at its arrival. The host refuses
	// decisions that break this.
	Guarantees bool
	// IgnoresOrder declares that the queue is always in order of jobs.
	IgnoresOrder bool
	Options      []Option
	// New makes a policy with checked options.
	New func(Values) (Policy, error)
}

// Make checks the given options, fills in the defaults, and makes a policy.
func (s PolicySpec) Make(given map[string]string) (Policy, error) {
	values, err := ReadOptions("policy "+s.Name, s.Options, given)
	if err != nil {
		return nil, err
	}
	p, err := s.New(values)
	switch {
	case err != nil:
		return nil, &OptionsError{err}
	case p == nil:
		return nil, fmt.Errorf("policy %s: New made no policy", s.Name)
	}
	return p, nil
}

// OptionsError says that somebody, such as a policy, does not take the options that
// are given.
type OptionsError struct{ Err error }

func (e *OptionsError) Error() string { return e.Err.Error() }
func (e *OptionsError) Unwrap() error { return e.Err }

// CheckOptions refuses given options that the policy does not have, and values
// that do not suit them, with an [*OptionsError].
func (s PolicySpec) CheckOptions(given map[string]string) error {
	_, err := ReadOptions("policy "+s.Name, s.Options, given)
	return err
}

// CheckResources refuses given options that name resources which the pool does
// not have, with an [*OptionsError]. Defaults are not held against the pool.
func (s PolicySpec) CheckResources(given map[string]string, resources []string) error {
	for _, o := range s.Options {
		if o.Type != Resources {
			continue
		}
		for _, name := range words(given[o.Name]) {
			if !slices.Contains(resources, name) {
				return &OptionsError{Err: fmt.Errorf("policy %s: option %s=%q: the pool has no resource %s%s: it "+
					"has %s",
					s.Name, o.Name, given[o.Name], name, DidYouMean(name, resources), strings.Join(resources, ", "))}
			}
		}
	}
	return nil
}
