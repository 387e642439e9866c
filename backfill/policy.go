package backfill

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// Spec is a policy as it is known by name: what it is, what it promises, what
// can be set, and how one is made.
type Spec struct {
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

// Option is one thing about a policy that can be set with --policy-opt.
type Option struct {
	Name, Default, Doc string
	// Check refuses a value; nil accepts any.
	Check func(value string) error
	// OfResources says that the value lists names of the pool's resources. A policy
	// is made before it sees a pool, so who knows both checks them, with
	// [Spec.CheckResources].
	OfResources bool
}

// Values are a policy's options, complete and checked.
type Values map[string]string

// Int is an option that was checked to be a whole number.
func (v Values) Int(name string) int {
	n, _ := strconv.Atoi(v[name])
	return n
}

// Time is an option that was checked to be a length of time.
func (v Values) Time(name string) Time {
	t, _ := ParseTime(v[name])
	return t
}

// Choice is an option that was checked to be one of some words, as it is
// written there.
func (v Values) Choice(name string, words ...string) string {
	i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, v[name]) })
	if i < 0 {
		return ""
	}
	return words[i]
}

// List is an option that holds names separated by commas.
func (v Values) List(name string) []string { return list(v[name]) }

func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// WholeNumber checks that an option is a whole number of at least low.
func WholeNumber(low int) func(string) error {
	return func(value string) error {
		if n, err := strconv.Atoi(value); err != nil || n < low {
			return fmt.Errorf("must be a whole number of at least %d", low)
		}
		return nil
	}
}

// OneOf checks that an option is one of some words, in whatever case.
func OneOf(words ...string) func(string) error {
	return func(value string) error {
		if !slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, value) }) {
			return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return nil
	}
}

// LengthOfTime checks that an option is a length of time as ParseTime reads it.
func LengthOfTime(value string) error {
	_, err := ParseTime(value)
	return err
}

// ParseTime reads a length of time in seconds, or as [[DD:]HH:]MM:SS.
func ParseTime(text string) (Time, error) {
	const bits = 41 // hold the longest, and are too few for the sum to overflow
	parts := strings.Split(text, ":")
	units := []uint64{86400, 3600, 60, 1}
	var sum uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, bits)
		if err != nil || len(parts) > len(units) {
			return 0, errors.New("must be a number of seconds, or a length of time as [[DD:]HH:]MM:SS")
		}
		sum += n * units[len(units)-len(parts)+i]
	}
	if sum > uint64(maxEstimate) {
		return 0, fmt.Errorf("must be at most %d seconds", maxEstimate)
	}
	return Time(sum), nil
}

// Make checks the given options, fills in the defaults, and makes a policy.
func (s Spec) Make(given map[string]string) (Policy, error) {
	values := Values{}
	var known []string
	for _, o := range s.Options {
		values[o.Name] = o.Default
		known = append(known, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("policy %s has no option %q%s: %s", s.Name, name, DidYouMean(name, known), describeKnown(known))
		}
		if check := s.Options[i].Check; check != nil {
			if err := check(given[name]); err != nil {
				return nil, fmt.Errorf("policy %s: option %s=%q %w", s.Name, name, given[name], err)
			}
		}
		values[name] = given[name]
	}
	return s.New(values)
}

// CheckResources refuses given options that name resources which the pool does
// not have. Defaults are not held against the pool.
func (s Spec) CheckResources(given map[string]string, resources []string) error {
	for _, o := range s.Options {
		if !o.OfResources {
			continue
		}
		for _, name := range list(given[o.Name]) {
			if !slices.Contains(resources, name) {
				return fmt.Errorf("policy %s: option %s=%q: the pool has no resource %s%s: it has %s",
					s.Name, o.Name, given[o.Name], name, DidYouMean(name, resources), strings.Join(resources, ", "))
			}
		}
	}
	return nil
}

func describeKnown(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}
