package preempt

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// PREEMPTION_REQUIREMENTS mostly ask how long a claim's job has run, which no two claims have in common, beside
// what they ask of users. The clauses that ask nothing of the job are evaluated once in a cycle for each claim,
// not for each claim and each kind of job; claims that agree in the outcome are alike then.

// alone are the clauses of PREEMPTION_REQUIREMENTS that ask nothing of the job: all names in them are of the
// claimed slot, if it has them.
type alone struct {
	clauses []*classad.Expr
	names   []string // in them, but in no other expression, and that the negotiator does not supply
	others  []string // the names in the other clauses
	users   bool     // they ask for values that the negotiator supplies
}

// split divides PREEMPTION_REQUIREMENTS into its clauses.
func (r *Rules) split() (a alone) {
	if !r.Prioritised() {
		return a
	}
	for _, clause := range r.Requirements.Clauses() {
		_, names, _ := clause.Refs(nil)
		if !asksOwn(clause, names) || slices.ContainsFunc(names, isInUse) {
			a.others = append(a.others, names...)
			continue
		}
		a.clauses = append(a.clauses, clause)
		for _, name := range names {
			if isSupplied(name) {
				a.users = true
			} else {
				a.names = append(a.names, name)
			}
		}
	}
	return a
}

// asksOwn reports whether an expression asks nothing of TARGET in the ad of a slot that has all names in it.
func asksOwn(e *classad.Expr, names []string) bool {
	full := classad.New()
	for _, name := range names {
		full.SetInt(name, 0)
	}
	_, external, err := e.Refs(full)
	return len(external) == 0 && err == nil
}

// isSupplied reports whether an attribute of claimed slots is one that the negotiator supplies.
func isSupplied(name string) bool {
	return slices.ContainsFunc([]string{"RemoteUserPrio", "RemoteUserFloor"}, func(n string) bool { return strings.EqualFold(n, name) })
}

// isInUse reports whether an attribute follows the cycle's matches.
func isInUse(name string) bool { return strings.HasSuffix(strings.ToLower(name), "resourcesinuse") }

// opens evaluates these clauses for a claim. Known is false if the slot lacks a name: it may be the job's.
func (s *Search) opens(c *claim) (open, known bool) {
	for _, name := range s.alone.names {
		if _, has := c.Ad.Lookup(name); !has {
			return false, false
		}
	}
	ad := c.Ad
	if s.alone.users {
		ad = s.decorate(c).of(s)
	}
	var meter classad.Meter
	scope := classad.Scope{My: ad, Host: s.pool.Host, MaxSteps: classad.FewSteps, Meter: &meter}
	open = !slices.ContainsFunc(s.alone.clauses, func(e *classad.Expr) bool { return !e.Eval(scope).IsTrue() })
	s.total += meter.Steps()
	return open, true
}
