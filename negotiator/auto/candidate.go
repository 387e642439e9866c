package auto

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Candidate is a policy with an order, which may be put in charge of a pool.
type Candidate struct {
	// Name is how users write it: dc:sjf, or slack:sjf:factor=2 with options.
	Name string
	// Policy decides, and Fallback where Policy is refused. Both are linked in, so that they can be
	// made again for each play.
	Policy, Fallback *backfill.Linked
	Order            negotiator.Order
	OrderName        string
	Options          map[string]string
}

// guarantees reports whether the candidate's policy gives guarantees.
func (c *Candidate) guarantees() bool { return c.Policy.Spec().Guarantees }

// Usual is the default portfolio. The first, its base, did best on the whole over twelve traces.
const Usual = "slack:xfactor,slack:sjf,slack:wfp,easy:sjf"

// Portfolio reads candidates from how users write them. With guarantees, those that give none are
// left out.
func Portfolio(names []string, guarantees bool) ([]Candidate, error) {
	var all []Candidate
	for _, name := range names {
		c, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("candidate %s: %w", name, err)
		}
		if slices.ContainsFunc(all, func(other Candidate) bool { return other.Name == c.Name }) {
			return nil, fmt.Errorf("candidate %s is there twice", c.Name)
		}
		if !guarantees || c.guarantees() {
			all = append(all, c)
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case guarantees:
		return nil, errors.New("no candidate gives guarantees: name one that does, such as slack:sjf")
	default:
		return nil, errors.New("there is no candidate: name some as POLICY:ORDER, such as slack:sjf")
	}
}

// read reads a candidate: policy, order, options as NAME=VALUE, separated by colons.
func read(text string) (Candidate, error) {
	parts := strings.Split(text, ":")
	c := Candidate{Name: text, Options: map[string]string{}}
	spec, err := policies.Named(parts[0])
	if err != nil {
		return c, err
	}
	if len(parts) > 1 {
		c.OrderName = parts[1]
	}
	if c.OrderName = spec.OrderUnless(c.OrderName); c.OrderName == "expr" {
		return c, errors.New("an order that is an expression cannot be a candidate's: name one, such as sjf")
	}
	if c.Order, err = negotiator.OrderNamed(c.OrderName); err != nil {
		return c, err
	}
	if len(parts) > 1 && spec.IgnoresOrder && c.OrderName != "fcfs" {
		return c, fmt.Errorf("policy %s ignores the order: leave %s out", spec.Name, c.OrderName)
	}
	for _, option := range parts[min(2, len(parts)):] {
		name, value, found := strings.Cut(option, "=")
		if !found {
			return c, fmt.Errorf("%q: an option is written as NAME=VALUE", option)
		}
		if _, again := c.Options[name]; again {
			return c, fmt.Errorf("option %s is there twice", name)
		}
		c.Options[name] = value
	}
	if c.Policy, err = backfill.Link(spec, c.Options); err != nil {
		return c, err
	}
	c.Fallback, err = backfill.Link(policies.FallbackFor(spec), nil)
	return c, err
}
