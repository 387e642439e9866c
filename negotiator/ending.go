package negotiator

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Shutdown are the attributes of a slot's ad that are true when its startd is to end, the one gently,
// the other fast.
func Shutdown() []string { return []string{"DaemonShutdown", "DaemonShutdownFast"} }

// Earliest returns the earliest of the ends that a slot has by several sources; 0: it has none.
func Earliest(ends ...backfill.Time) (first backfill.Time) {
	for _, end := range ends {
		if end > 0 && (first == 0 || end < first) {
			first = end
		}
	}
	return first
}

// EndOf returns from when on a slot runs no jobs by what its ad says, as it is read now; both are in
// seconds since 1970. 0: it has no end; 1: it has ended already. The end is the earliest of the first of
// s.SlotEnds that is such a number, and of the instants at which the clock makes [Shutdown] true. An ad
// gets no end by what takes too long to find out.
func (s Schema) EndOf(ad *classad.ClassAd, now int64, zone *time.Location) int64 {
	f := endFinder{now: now, host: classad.Host{Zone: zone}}
	if end := min(f.stated(ad, s.SlotEnds), f.shutdown(ad)); end < lastEnd {
		return end
	}
	return 0
}

// AbsentEnds names s.SlotEnds if no slot has any of these attributes, and they are not the usual ones, which
// slots need not have; else it is "".
func (s Schema) AbsentEnds(has func(attribute string) bool) string {
	usual := DefaultSchema().SlotEnds
	for _, name := range s.SlotEnds {
		if slices.Contains(usual, name) || has(name) {
			return ""
		}
	}
	return strings.Join(s.SlotEnds, ", ")
}

// never is an instant that does not come.
const never = math.MaxInt64

// What it may take to find when one ad says that its slot ends, in steps and looks. Where it is found
// from comparisons with the clock, one or two looks are enough; else there is one a minute for a week.
const (
	mostEndSteps = 200_000
	mostEndLooks = 7*24*60 + 100
	endSteps     = 1000 // of one look
	lastEnd      = 1 << 40
)

// endFinder finds when a slot ends. Instants are seconds since 1970.
type endFinder struct {
	now   int64
	host  classad.Host
	meter classad.Meter
	looks int
}

// stated returns the first of these attributes that is a number of seconds since 1970; never if none is.
func (f *endFinder) stated(ad *classad.ClassAd, attributes []string) int64 {
	for _, name := range attributes {
		v := classad.Scope{My: ad, MaxSteps: endSteps, Meter: &f.meter}.Attr(name)
		if n, ok := v.Number(); ok && n >= 1 && n < lastEnd {
			return int64(n)
		}
	}
	return never
}

// shutdown returns when the startd of an ad is to end; never if the clock alone does not make it.
func (f *endFinder) shutdown(ad *classad.ClassAd) int64 {
	end := int64(never)
	var lasting *classad.ClassAd
	for _, name := range Shutdown() {
		e, given := ad.Lookup(name)
		if !given || isNever(e) {
			continue
		}
		if lasting == nil {
			lasting = ad.Clone()
			FollowClock(lasting)
		}
		if certain := (&certainty{ad: lasting}).of(e.Tree()); lasting.SetExpr(certainly, certain) == nil {
			end = min(end, f.becomesTrue(lasting, certainly))
		}
	}
	return end
}

// isNever reports whether an expression is false or undefined, as it mostly is.
func isNever(e *classad.Expr) bool {
	text := e.String()
	return strings.EqualFold(text, "false") || strings.EqualFold(text, "undefined")
}

// becomesTrue returns the first instant from now on at which an attribute is true: 1 if it is already.
func (f *endFinder) becomesTrue(ad *classad.ClassAd, name string) int64 {
	at := f.now
	for f.affords() {
		steady := classad.NewSteady()
		switch {
		case f.isTrue(ad, name, at, steady) && at == f.now:
			return 1
		case f.isTrue(ad, name, at, nil):
			return at
		case steady.Unsolved:
			return f.byMinutes(ad, name, at)
		case steady.Until >= lastEnd:
			return never
		}
		at = steady.Until
	}
	return never
}

// byMinutes looks at each minute of a week for the first at which an attribute is true, and then for
// the second.
func (f *endFinder) byMinutes(ad *classad.ClassAd, name string, from int64) int64 {
	const week = 7 * secondsPerDay
	for same := from; same < f.now+week && f.affords(); {
		next := (same/secondsPerMinute + 1) * secondsPerMinute
		if !f.isTrue(ad, name, next, nil) {
			same = next
			continue
		}
		for next-same > 1 {
			if middle := same + (next-same)/2; f.isTrue(ad, name, middle, nil) {
				next = middle
			} else {
				same = middle
			}
		}
		return next
	}
	return never
}

// affords reports whether it may look at another instant.
func (f *endFinder) affords() bool {
	return f.meter.Exceeded() == 0 && f.meter.Steps() < mostEndSteps && f.looks < mostEndLooks
}

// isTrue evaluates an attribute at an instant, in its ad alone.
func (f *endFinder) isTrue(ad *classad.ClassAd, name string, at int64, steady *classad.Steady) bool {
	f.looks++
	f.host.Now, f.host.Steady = func() int64 { return at }, steady
	return classad.Scope{My: ad, Host: &f.host, MaxSteps: endSteps, Meter: &f.meter}.Attr(name).IsTrue()
}

// passing are further attributes of slots that depend on what runs there, in lower case, beside those of
// [matchmaker.Passes] and [matchmaker.Counts]. A startd that ends when it has been idle for a while has
// no end in the plan: jobs keep it.
var passing = []string{
	"mycurrenttime", "lastheardfrom", "cpus", "memory", "disk", "gpus",
	"totalslots", "totaljobruntime", "recentjobstarts", "jobstarts", "expectedmachinegracefuldrainingcompletion",
}

// certainly is the attribute that holds what of an expression does not depend on state.
const certainly = "BackfillShutdown"

// certainty finds what makes an expression of a slot's ad true whatever the slot's state is.
type certainty struct {
	ad     *classad.ClassAd
	nodes  int // that it has looked at
	nested int // names that have led to where it is
}

// What is looked at of one expression.
const mostCertainNodes, mostCertainNested = 4000, 30

// of returns an expression as a text that is true only when the given one is true in any state: what
// refers to state is false in it. Only operands of && and || are taken apart, and what names lead to.
func (c *certainty) of(e ast.Expr) string {
	c.nodes++
	switch n := ast.Bare(e).(type) {
	case *ast.Binary:
		if n.Op == ast.And {
			return "(" + c.of(n.X) + " && " + c.of(n.Y) + ")"
		}
		if n.Op == ast.Or {
			return "(" + c.of(n.X) + " || " + c.of(n.Y) + ")"
		}
	case *ast.Attr:
		if value, has := c.ad.Lookup(n.Name); has && !passes(n.Name) && c.nested < mostCertainNested {
			c.nested++
			defer func() { c.nested-- }()
			return c.of(value.Tree())
		}
	default:
	}
	if c.passing(e) || c.nodes > mostCertainNodes {
		return "false"
	}
	return "(" + string(ast.Append(nil, e, ast.Canonical)) + ")"
}

// passing reports whether an expression refers to state, perhaps by other names.
func (c *certainty) passing(e ast.Expr) bool {
	if c.nodes++; c.nodes > mostCertainNodes || c.nested > mostCertainNested {
		return true
	}
	switch n := e.(type) {
	case *ast.Attr:
		return c.names(n.Name)
	case *ast.Select:
		return c.names(n.Name) || c.passing(n.X)
	case *ast.Call:
		if n.Key == "eval" { // what a text names is not looked at
			return true
		}
	default:
	}
	return slices.ContainsFunc(ast.Children(e), c.passing)
}

// names reports whether a name is state, or leads to some.
func (c *certainty) names(name string) bool {
	if passes(name) {
		return true
	}
	value, has := c.ad.Lookup(name)
	if !has {
		return false
	}
	c.nested++
	defer func() { c.nested-- }()
	return c.passing(value.Tree())
}

// slotPrefix is what startds put before the attributes of their other slots (STARTD_SLOT_ATTRS).
var slotPrefix = regexp.MustCompile(`^slot[0-9]+_`)

// passes reports whether an attribute depends on what runs on a slot, or who uses its machine.
func passes(name string) bool {
	name = slotPrefix.ReplaceAllString(strings.ToLower(name), "")
	return slices.Contains(passing, name) || matchmaker.Passes(name) || matchmaker.Counts(name)
}
