package backfill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Policy decides what starts now and what is reserved for later. It is a function of the cycle it
// is given: it takes the events (reacting between them or after the last), reads, and acts. If it
// keeps anything between cycles, it must decide the same without.
type Policy interface {
	Decide(c *Cycle)
}

// PolicyFunc is a policy without options.
type PolicyFunc func(*Cycle)

// Decide calls the function.
func (f PolicyFunc) Decide(c *Cycle) { f(c) }

// PolicySpec describes a policy: its name, what it does and promises, its options, and how to
// create it.
type PolicySpec struct {
	Name string
	// Doc says in one sentence what the policy does, Promise what a job's owner may rely on, Source
	// which paper or program the policy comes from.
	Doc, Promise, Source string
	// Guarantees declares that every waiting job within the depth of the plan (see [Planning])
	// always has a reservation at or before the start that it was promised when it entered the plan.
	// The host refuses decisions that break this.
	Guarantees bool
	// PlanDepth declares that a policy with guarantees follows the state's [Planning]. Any other
	// plans all waiting jobs, and the host tells it of no limit.
	PlanDepth bool
	// IgnoresOrder declares that the policy needs its queue by submit time, then queue position,
	// whatever order is configured, unless [Planning] reorders who enters the plan.
	IgnoresOrder bool
	// Order names the built-in order that the queue has unless another is chosen; empty: fcfs. A
	// policy that ignores the order names none.
	Order string
	// Estimates names the estimator of run times for the queue's order unless another is chosen, as
	// users write it in simulations (see package estimate); empty: what jobs request. It changes neither
	// what the policy plans with nor what it promises.
	Estimates string
	Options   []Option
	// New creates the policy with checked options.
	New func(Values) (Policy, error)
}

// Make creates a policy with the given options, and the defaults of the others. It returns an
// [*OptionsError] if the policy does not accept them.
func (s PolicySpec) Make(given map[string]string) (Policy, error) {
	if err := s.checkOrder(); err != nil {
		return nil, fmt.Errorf("policy %s: %w", s.Name, err)
	}
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

// OrderUnless returns the name of the order that the queue has under the policy: the chosen one, or
// if that is empty, the policy's own, which is fcfs if it names none.
func (s PolicySpec) OrderUnless(chosen string) string { return cmp.Or(chosen, s.Order, "fcfs") }

// OptionsError reports options that a policy, or whatever else has options, does not accept.
type OptionsError struct{ Err error }

func (e *OptionsError) Error() string { return e.Err.Error() }
func (e *OptionsError) Unwrap() error { return e.Err }

// CheckOptions returns an [*OptionsError] if the policy does not have one of the given options, or
// if a value is not valid for its option.
func (s PolicySpec) CheckOptions(given map[string]string) error {
	_, err := ReadOptions("policy "+s.Name, s.Options, given)
	return err
}

// CheckResources returns an [*OptionsError] if a given option names a resource that the pool does
// not have. Defaults are not checked: they may name resources that a pool lacks.
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
