package matchmaker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Fit says how many slots a job matches, busy or free, and what rules out the others. In a pool
// with bundles it counts bundles.
type Fit struct {
	// Slots is the number of slots, Matching of those that the job may use, and Refusing of those
	// whose own Requirements refuse the job.
	Slots, Matching, Refusing int
	// Clauses are the parts of the job's Requirements that && joins, in order; none if it has no
	// Requirements.
	Clauses []Clause
}

// Clause is one clause of a job's Requirements. Met is the number of slots on which it is true.
type Clause struct {
	Text string
	Met  int
}

// Fit says how a job fits the slots for which isUp returns true, or the bundles whose slots are all
// up. It evaluates the job's Requirements once for each class.
func (m *Matchmaker) Fit(ad *classad.ClassAd, isUp func(backfill.SlotID) bool) Fit {
	many := map[int]int{} // by class
	var one []offer       // of each class
	away := func(id backfill.SlotID) bool { return !isUp(id) }
	for id := range m.offers() {
		o := m.offer(id)
		if o.parts == nil && away(backfill.SlotID(id)) || slices.ContainsFunc(o.parts, away) {
			continue
		}
		if many[o.class]++; many[o.class] == 1 {
			one = append(one, o)
		}
	}
	var fit Fit
	var clauses []*classad.Expr
	if requirements, ok := ad.Lookup("Requirements"); ok {
		clauses = requirements.Clauses()
	}
	for _, clause := range clauses {
		fit.Clauses = append(fit.Clauses, Clause{Text: strings.TrimSpace(clause.String())})
	}
	for _, o := range one {
		slots := many[o.class]
		fit.Slots += slots
		if o.match(ad) {
			fit.Matching += slots
		}
		if !o.accepts(ad) {
			fit.Refusing += slots
		}
		for i, clause := range clauses {
			if clause.Eval(classad.Scope{My: ad, Target: o.ad}).IsTrue() {
				fit.Clauses[i].Met += slots
			}
		}
	}
	return fit
}

// WhyNone says why the jobs of an autocluster match no slot, or no bundle.
func (m *Matchmaker) WhyNone(id int) string {
	none := "matches no slot: "
	if len(m.bundles) > 0 {
		none = "matches no bundle: "
	}
	return none + m.Fit(m.clusters[id].ad, func(backfill.SlotID) bool { return true }).WhyNone()
}

// WhyNone says why no slot matches: which clauses of the job's Requirements are true on none, or
// that the slots refuse the job.
func (f Fit) WhyNone() string {
	if f.Slots == 0 {
		return "there is none"
	}
	if len(f.Clauses) == 0 {
		return "it has no Requirements"
	}
	var never []string
	for _, c := range f.Clauses {
		if c.Met == 0 {
			never = append(never, c.Text)
		}
	}
	switch {
	case len(never) > 0:
		return fmt.Sprintf("true on none of %d: %s", f.Slots, strings.Join(never, "; "))
	case f.Refusing == f.Slots:
		return fmt.Sprintf("the Requirements of all %d refuse it", f.Slots)
	default:
		return fmt.Sprintf("none of %d meets all its Requirements and accepts it", f.Slots)
	}
}
