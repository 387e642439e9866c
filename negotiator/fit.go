package negotiator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Fit says how a job and the slots that are up get on, whatever is free on them; or the
// bundles, in a pool that has them.
type Fit struct {
	// Slots is how many there are, Matching how many the job may use, and Refusing
	// how many do not want it, by their own Requirements.
	Slots, Matching, Refusing int
	// Clauses are the parts of the job's Requirements that && joins, in order; none if
	// it has no Requirements.
	Clauses []Clause
}

// Clause says on how many slots a clause of a job's Requirements is true.
type Clause struct {
	Text string
	Met  int
}

// Fit asks each class of slots once; false if there is no job of that ID.
func (n *Negotiator) Fit(id backfill.JobID) (Fit, bool) {
	job, ok := n.jobs[id]
	if !ok {
		return Fit{}, false
	}
	return n.matchmaker.fit(job.Ad, n.State().SlotUp), true
}

// fit asks all slots that count.
func (m *matchmaker) fit(ad *classad.ClassAd, counts func(backfill.SlotID) bool) Fit {
	many := map[int]int{} // by class
	var one []offer       // of each class
	away := func(id backfill.SlotID) bool { return !counts(id) }
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

// whyNone says why an autocluster matches no slot, or bundle.
func (m *matchmaker) whyNone(c *autocluster) string {
	none := "matches no slot: "
	if len(m.bundles) > 0 {
		none = "matches no bundle: "
	}
	return none + m.fit(c.ad, func(backfill.SlotID) bool { return true }).WhyNone()
}

// WhyNone says why none matches: the clauses of the job's Requirements that none meets,
// or that they refuse it.
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
