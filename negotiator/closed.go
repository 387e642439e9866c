package negotiator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// closed counts, by the reason, slots that take no job, whatever it is like, while their ads stay as they are.
type closed struct {
	resources []string
	reasons   []string // in the order of the slots
	slots     map[string]int
	cpus      map[string]int64
}

// note notes and reports whether a slot takes no job.
func (c *closed) note(slot *Slot) bool {
	nodes := mostClauses
	why := c.clause(slot.Ad, "Requirements", &nodes)
	if why == "" {
		return false
	}
	if c.slots == nil {
		c.slots, c.cpus = map[string]int{}, map[string]int64{}
	}
	if !slices.Contains(c.reasons, why) {
		c.reasons = append(c.reasons, why)
	}
	c.slots[why]++
	c.cpus[why] += slot.Capacity[0]
	return true
}

// mostClauses bounds how many clauses of a slot's Requirements are looked at, and longestReason and mostReasons
// what is said.
const (
	mostClauses   = 1000
	longestReason = 80
	mostReasons   = 3
)

// clause returns the first clause of an attribute that is not true, whichever job asks and whenever; "": none.
func (c *closed) clause(ad *classad.ClassAd, attr string, left *int) string {
	e, has := ad.Lookup(attr)
	if !has {
		return ""
	}
	return c.part(ad, attr, e.Tree(), left)
}

// part is clause for a part of an attribute.
func (c *closed) part(ad *classad.ClassAd, attr string, e ast.Expr, left *int) string {
	if *left--; *left < 0 {
		return ""
	}
	switch n := ast.Bare(e).(type) {
	case *ast.Binary:
		if n.Op == ast.And {
			if why := c.part(ad, attr, n.X, left); why != "" {
				return why
			}
			return c.part(ad, attr, n.Y, left)
		}
	case *ast.Attr:
		if _, has := ad.Lookup(n.Name); has {
			return c.clause(ad, n.Name, left)
		}
	default:
	}
	return c.constant(ad, attr, e)
}

// constant returns what an expression is, if that is not true, and follows from nothing but what stays.
func (c *closed) constant(ad *classad.ClassAd, attr string, e ast.Expr) string {
	if asksTarget(e) {
		return ""
	}
	text := string(ast.Append(nil, ast.Bare(e), ast.Canonical))
	parsed, err := classad.ParseExpr(text)
	if err != nil {
		return ""
	}
	internal, _, err := parsed.Refs(ad)
	if err != nil || slices.ContainsFunc(internal, c.changes) {
		return ""
	}
	var outside classad.Outside
	var meter classad.Meter
	v := parsed.Eval(classad.Scope{My: ad, MaxSteps: classad.FewSteps, Meter: &meter, Outside: &outside})
	switch {
	case v.IsTrue() || outside.More || len(outside.Names) > 0 || meter.Exceeded() > 0:
		return ""
	case text == v.String():
		return attr + " is " + text
	default:
		return fmt.Sprintf("%s is %s", backfill.Printable(text, longestReason), v)
	}
}

// asksTarget reports whether an expression asks what jobs have by TARGET.
func asksTarget(e ast.Expr) bool {
	if x, ok := e.(*ast.Attr); ok && x.Key == "target" {
		return true
	}
	return slices.ContainsFunc(ast.Children(e), asksTarget)
}

// changes reports whether an attribute of a slot is other while jobs run there.
func (c *closed) changes(attr string) bool {
	return matchmaker.Counts(attr) || slices.Contains(c.resources, strings.ToLower(attr))
}

// drained says of how many of these open slots the ads say that they are drained: as administrators may have it,
// jobs start there; "": of none.
func drained(open []*Slot, slots int) string {
	n, cpus := 0, int64(0)
	for _, slot := range open {
		if state, _ := slot.Ad.Literal("State").Text(); state == "Drained" {
			n, cpus = n+1, cpus+slot.Capacity[0]
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("the State of %d of %d slots (%d cpus) is Drained, and jobs start there as far as their "+
		"Requirements admit them", n, slots, cpus)
}

// say adds lines to a list about the closed ones of so many slots.
func (c *closed) say(list []string, slots int) []string {
	for i, why := range c.reasons {
		if i == mostReasons {
			n := 0
			for _, other := range c.reasons[i:] {
				n += c.slots[other]
			}
			return append(list, fmt.Sprintf("%d more of %d slots take no job", n, slots))
		}
		list = append(list, fmt.Sprintf("%d of %d slots (%d cpus) take no job, though they count as capacity: %s",
			c.slots[why], slots, c.cpus[why], why))
	}
	return list
}

// consumption says of how many slots jobs are to take what the slots' consumption policy says; "": of none.
func consumption(slots []*Slot) string {
	var names []string
	n := 0
	for _, slot := range slots {
		some := false
		for name := range slot.Ad.All() {
			if len(name) <= len(consumes) || !strings.EqualFold(name[:len(consumes)], consumes) ||
				strings.EqualFold(name, consumes+"Policy") {
				continue
			}
			if some = true; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if some {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("%s of %d slots, by which jobs take other amounts than they request: they are planned with these",
		strings.Join(names, ", "), n)
}

// consumes is how the attributes of consumption policies begin: ConsumptionCpus.
const consumes = "Consumption"
