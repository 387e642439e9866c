package matchmaker

import (
	"fmt"
	"math"
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
	// Untried is the number of further slots, which were not tried because the job's Requirements
	// are too expensive.
	Untried int
	// Clauses are the parts of the job's Requirements that && joins, in order; none if it has no
	// Requirements.
	Clauses []Clause
}

// Clause is one clause of a job's Requirements. Met is the number of slots on which it is true.
type Clause struct {
	Text string
	Met  int
}

// kind is the offers of a class: one of them, and how many there are.
type kind struct {
	offer
	slots int
}

// kinds returns the classes of the offers, for the jobs of an autocluster, whose slots are all up.
func (m *Matchmaker) kinds(c *autocluster, isUp func(backfill.SlotID) bool) (all []kind) {
	v := c.view
	if v == nil {
		v = m.viewOf(c.ad)
		defer m.leave(v)
	}
	m.renew(v)
	index := map[int]int{} // in all, by class
	away := func(id backfill.SlotID) bool { return !isUp(id) }
	for id, class := range m.classes(v) {
		o := m.offer(id)
		if o.parts == nil && away(backfill.SlotID(id)) || slices.ContainsFunc(o.parts, away) {
			continue
		}
		i, known := index[class]
		if !known {
			i = len(all)
			index[class], all = i, append(all, kind{offer: o})
		}
		all[i].slots++
	}
	return all
}

// Fit says how the jobs of an autocluster fit the slots for which isUp returns true, or the bundles
// whose slots are all up. It evaluates the jobs' Requirements once for each class, and takes no more
// steps than [Limits].Cluster.
func (m *Matchmaker) Fit(id int, isUp func(backfill.SlotID) bool) Fit {
	left := m.limits.Cluster
	if left == 0 {
		left = math.MaxInt64
	}
	return m.fit(id, isUp, &left)
}

// fit does what Fit does, in as many steps as are left.
func (m *Matchmaker) fit(id int, isUp func(backfill.SlotID) bool, left *int64) (fit Fit) {
	c := m.clusters[id]
	var clauses []*classad.Expr
	if requirements, ok := c.ad.Lookup("Requirements"); ok {
		clauses = requirements.Clauses()
	}
	for _, clause := range clauses {
		fit.Clauses = append(fit.Clauses, Clause{Text: strings.TrimSpace(clause.String())})
	}
	t := trial{m: m, limit: m.limits.Evaluation}
	for _, k := range m.kinds(c, isUp) {
		if t.steps() >= *left || m.fault <= 0 && k.isDear() {
			fit.Untried += k.slots
			continue
		}
		fit.Slots += k.slots
		if k.match(&t, c.ad) {
			fit.Matching += k.slots
		}
		if !k.accepts(&t, c.ad) {
			fit.Refusing += k.slots
		}
		scope := classad.Scope{My: c.ad, Target: k.ad, MaxSteps: t.limit, Meter: &t.meter}
		for i, clause := range clauses {
			if clause.Eval(scope).IsTrue() {
				fit.Clauses[i].Met += k.slots
			}
		}
	}
	*left -= t.steps()
	return fit
}

// WhyNone says why the jobs of an autocluster match no slot, or no bundle. All that it finds out in
// a cycle takes no more steps than [Limits].Cluster; after that it only says that none matches.
func (m *Matchmaker) WhyNone(id int) string {
	none := "matches no slot"
	if len(m.bundles) > 0 {
		none = "matches no bundle"
	}
	if m.explaining <= 0 {
		return none
	}
	return none + ": " + m.fit(id, func(backfill.SlotID) bool { return true }, &m.explaining).WhyNone()
}

// WhyNone says why no slot matches: which clauses of the job's Requirements are true on none, or
// that the slots refuse the job.
func (f Fit) WhyNone() string {
	if f.Untried > 0 {
		return fmt.Sprintf("its Requirements are too expensive: %d slots were not tried", f.Untried)
	}
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
