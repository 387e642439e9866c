package auto

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Candidate is a policy with an order, which may be put in charge of a pool.
type Candidate struct {
	// Name is how users write it: dc:sjf, or slack:sjf:factor=2 with options.
	Name string
	// Policy decides, and Fallback where Policy is refused.
	Policy, Fallback backfill.Repeatable
	Order            negotiator.Order
	OrderName        string
	Options          map[string]string

	twins *outlook.Twins // decide in plays
	end   func()         // ends Policy
}

// Find finds a policy by its name, or by the path of its executable, and its fallback. Whoever asked
// calls end after use.
type Find func(policy string, options map[string]string) (main, fallback backfill.Repeatable, end func(), err error)

// LinkedIn finds the policies that are linked in.
func LinkedIn(policy string, options map[string]string) (main, fallback backfill.Repeatable, end func(), err error) {
	spec, err := policies.Named(policy)
	if err != nil {
		return nil, nil, nil, err
	}
	if main, err = backfill.Link(spec, options); err != nil {
		return nil, nil, nil, err
	}
	fallback, err = backfill.Link(policies.FallbackFor(spec), nil)
	return main, fallback, func() {}, err
}

// close ends the candidate's policy and its twins.
func (c *Candidate) close() {
	c.twins.Close()
	c.end()
}

func closeAll(all []Candidate) {
	for i := range all {
		all[i].close()
	}
}

// guarantees reports whether the candidate's policy gives guarantees.
func (c *Candidate) guarantees() bool { return c.Policy.Spec().Guarantees }

// Usual is the default portfolio. The first is the base at first: it did best on the whole over twelve
// traces. All give guarantees: beside easy more was lost by the changes than it gained.
const Usual = "slack-small:xfactor,slack-small:sjf,slack-small:wfp,slack"

// Portfolio reads candidates from how users write them. With guarantees, those that give none are
// left out.
func Portfolio(names []string, guarantees bool, find Find) (all []Candidate, err error) {
	defer func() {
		if err != nil {
			closeAll(all)
			all = nil
		}
	}()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return all, fmt.Errorf("candidate %s is there twice", name)
		}
		c, err := read(name, find)
		if err != nil {
			return all, fmt.Errorf("candidate %s: %w", name, err)
		}
		if guarantees && !c.guarantees() {
			c.close()
			continue
		}
		all = append(all, c)
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

// Policies returns which policies a chooser with the given options looks for, by names or paths.
func Policies(given map[string]string) (all []string, err error) {
	v, err := backfill.ReadOptions("policy "+Name, Options(), given)
	if err != nil {
		return nil, err
	}
	for _, candidate := range v.List("portfolio") {
		policy, _, _ := strings.Cut(candidate, ":")
		all = append(all, policy)
	}
	return all, nil
}

// read reads a candidate: policy, order, options as NAME=VALUE, separated by colons.
func read(text string, find Find) (c Candidate, err error) {
	parts := strings.Split(text, ":")
	c = Candidate{Name: text, Options: map[string]string{}, twins: new(outlook.Twins)}
	if len(parts) > 1 {
		c.OrderName = parts[1]
	}
	if c.OrderName == "expr" {
		return c, errors.New("an order that is an expression cannot be a candidate's: name one, such as sjf")
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
	if c.Policy, c.Fallback, c.end, err = find(parts[0], c.Options); err != nil {
		return c, err
	}
	if err = c.settleOrder(); err != nil {
		c.close()
	}
	return c, err
}

// settleOrder finds the order, or the one that the policy has if none is named.
func (c *Candidate) settleOrder() (err error) {
	spec, named := c.Policy.Spec(), c.OrderName != ""
	c.OrderName = spec.OrderUnless(c.OrderName)
	if c.Order, err = negotiator.OrderNamed(c.OrderName); err != nil {
		return err
	}
	if named && spec.IgnoresOrder && c.OrderName != "fcfs" {
		return fmt.Errorf("policy %s ignores the order: leave %s out", spec.Name, c.OrderName)
	}
	return nil
}
