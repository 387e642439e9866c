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
	// whose own Requirements refuse the job. Closed are those that would match if they were open.
	Slots, Matching, Refusing int
	Closed                    []Closed
	// Guarded are those of the matching slots that accept the job only while more is free than it takes.
	Guarded []Closed
	// Refusals are the clauses of slots' own Requirements by which these refuse the job, those of most
	// slots first; the less frequent ones of very many are left out.
	Refusals []Refusal
	// Untried is the number of further slots, which were not tried because the job's Requirements
	// are too expensive.
	Untried int
	// Clauses are the first parts of the job's Requirements that && joins, in order; none if it has
	// no Requirements. Further counts the others.
	Clauses []Clause
	Further int
}

// The bounds of what is told of Requirements, which may have any length: how many clauses there
// are, how long each is, and how many a reason quotes, and of what length.
const (
	mostClauses   = 100
	longestClause = 500
	mostQuoted    = 5
	longestQuoted = 200
)

// WhyClosed is the attribute of a slot's ad that says why the slot takes no jobs, or not all, for a
// while: a word or more that can stand behind "is". ClosedUntil is the attribute that says until
// when, in seconds since 1970, if that is known.
const (
	WhyClosed   = "BackfillClosed"
	ClosedUntil = "BackfillClosedUntil"
)

// Closed counts slots that refuse a job for a while, and says why. Until is when the last of them
// takes jobs again, in seconds since 1970; 0 if that is not known.
type Closed struct {
	Why   string
	Slots int
	Until int64
}

// Clause is one clause of a job's Requirements, with the beginning of its text. Met is the number
// of slots on which it is true.
type Clause struct {
	Text string
	Met  int
}

// Refusal is a clause of slots' Requirements that is not true, with the attribute in which it stands,
// such as START, and the number of slots of which it is the first one.
type Refusal struct {
	Attribute, Text string
	Slots           int
}

// String returns the clause as a reason quotes it: START: CurrentTime < GLIDEIN_ToRetire.
func (r Refusal) String() string {
	text := backfill.Printable(r.Text, longestQuoted)
	if r.Attribute == "" || strings.EqualFold(r.Attribute, "Requirements") {
		return text
	}
	return r.Attribute + ": " + text
}

// opens is why a slot is closed that is to take the job at another time.
const opens = "closed by the clock"

// kind is the offers of a class that are closed for the same reason, or open: one of them, how many
// there are, and until when they are closed.
type kind struct {
	offer
	slots  int
	closed Closed
	later  bool   // the class takes the jobs at another time
	open   bool   // it takes them with what is free there now
	guards string // how much must be free there
}

// kinds returns the classes of the offers, for the jobs of an autocluster, whose slots are all up.
func (m *Matchmaker) kinds(c *autocluster, isUp func(backfill.SlotID) bool) (all []kind) {
	v := c.view
	if v == nil {
		v = m.viewOf(c.ad)
		defer m.leave(v)
	}
	m.renew(v)
	type sort struct {
		class int
		why   string
		open  bool
	}
	index := map[sort]int{} // in all
	away := func(id backfill.SlotID) bool { return !isUp(id) }
	for id, class := range m.classes(v) {
		o := m.offer(id)
		if o.parts == nil && away(backfill.SlotID(id)) || slices.ContainsFunc(o.parts, away) {
			continue
		}
		byState := false
		why, _ := o.ad.Text(WhyClosed)
		until, _ := o.ad.Int(ClosedUntil)
		open := why == "" && m.opensLittle(c, class, id)
		if open {
			until = 0
		} else if at, later := m.opening(c, class); why == "" && later {
			why, until = opens, at
		} else if why == "" {
			why, byState = m.awaits(c, class), true
		}
		i, known := index[sort{class, why, open}]
		if !known {
			i = len(all)
			index[sort{class, why, open}] = i
			all = append(all, kind{
				offer: o, closed: Closed{Why: why}, later: byState && why != "" || why == opens, open: open,
				guards: m.guards(c, class, o.ad),
			})
		}
		all[i].slots++
		all[i].closed.Until = max(all[i].closed.Until, until)
	}
	return all
}

// opening returns when the offers of a class take the jobs of an autocluster next, in seconds since
// 1970; false if they do so now, or will not for all that is known.
func (m *Matchmaker) opening(c *autocluster, class int) (unix int64, later bool) {
	if c.view == nil || c.edition != c.view.edition {
		return 0, false
	}
	now := backfill.Time(m.clock.now - m.world.Start)
	for _, w := range c.holds[class].windows {
		if w.To > now {
			return m.world.Start + int64(w.From), w.From > now
		}
	}
	return 0, false
}

// awaits says for what state the offers of a class wait before they take the jobs of an autocluster; "" if
// for none.
func (m *Matchmaker) awaits(c *autocluster, class int) string {
	if c.view == nil || c.edition != c.view.edition {
		return ""
	}
	return c.holds[class].awaits
}

// Fit says how the jobs of an autocluster fit the slots for which isUp returns true, or the bundles
// whose slots are all up. It evaluates the jobs' Requirements once for each class, and takes no
// more steps than [Limits].Cluster.
func (m *Matchmaker) Fit(id int, isUp func(backfill.SlotID) bool) Fit {
	left := m.mostOfOne()
	return m.fit(id, isUp, &left)
}

// fit does what Fit does, in as many steps as are left.
func (m *Matchmaker) fit(id int, isUp func(backfill.SlotID) bool, left *int64) Fit {
	return m.fitOf(m.clusters[id], isUp, left)
}

func (m *Matchmaker) fitOf(c *autocluster, isUp func(backfill.SlotID) bool, left *int64) (fit Fit) {
	var clauses []*classad.Expr
	if requirements, ok := c.ad.Lookup("Requirements"); ok {
		clauses = requirements.Clauses()
	}
	fit.Further = max(0, len(clauses)-mostClauses)
	for _, clause := range clauses[:len(clauses)-fit.Further] {
		text := strings.TrimSpace(clause.Start(longestClause))
		fit.Clauses = append(fit.Clauses, Clause{Text: backfill.Printable(text, longestClause)})
	}
	t := trial{m: m, limit: m.limits.Evaluation}
	for _, k := range m.kinds(c, isUp) {
		if t.steps() >= *left || m.fault <= 0 && k.isDear() {
			fit.Untried += k.slots
			continue
		}
		if fit.count(k); k.open {
			continue
		}
		if k.match(&t, c.ad) {
			fit.Matching += k.slots
		}
		scope, met := classad.Scope{
			My: c.ad, Target: k.ad, Host: m.host, MaxSteps: t.limit, Meter: &t.meter,
		}, 0
		m.clock.begin(c.ad, k.ad)
		for i, clause := range clauses {
			if t.steps() >= *left {
				break
			}
			if !clause.Eval(scope).IsTrue() {
				continue
			}
			if met++; i < len(fit.Clauses) {
				fit.Clauses[i].Met += k.slots
			}
		}
		switch accepted := k.accepts(&t, c.ad); {
		case k.later:
			fit.addClosed(k)
		case accepted:
		case k.closed.Why == "":
			fit.Refusing += k.slots
			fit.addRefusal(k, &t, c.ad, *left)
		case met > 0 && met == len(clauses):
			fit.addClosed(k)
		}
	}
	slices.SortStableFunc(fit.Refusals, func(a, b Refusal) int { return b.Slots - a.Slots })
	*left -= t.steps() + int64(len(clauses))
	slices.SortFunc(fit.Closed, func(a, b Closed) int { return strings.Compare(a.Why, b.Why) })
	return fit
}

// count counts the slots of a kind; if they are open now, as matching: what clauses say while all of a
// slot is free does not matter then.
func (f *Fit) count(k kind) {
	f.Slots += k.slots
	if k.guards != "" && k.closed.Why == "" {
		f.Guarded = count(f.Guarded, k.guards, k.slots)
	}
	if k.open {
		f.Matching += k.slots
		for i := range f.Clauses {
			f.Clauses[i].Met += k.slots
		}
	}
}

// addClosed counts the slots of a kind, which are closed.
func (f *Fit) addClosed(k kind) {
	f.Closed = count(f.Closed, k.closed.Why, k.slots)
	i := slices.IndexFunc(f.Closed, func(c Closed) bool { return c.Why == k.closed.Why })
	f.Closed[i].Until = max(f.Closed[i].Until, k.closed.Until)
}

// count adds slots to those of which the same is said.
func count(all []Closed, why string, slots int) []Closed {
	i := slices.IndexFunc(all, func(c Closed) bool { return c.Why == why })
	if i < 0 {
		i, all = len(all), append(all, Closed{Why: why})
	}
	all[i].Slots += slots
	return all
}

// addRefusal notes by which clause the slots of a kind refuse a job, while steps are left.
func (f *Fit) addRefusal(k kind, t *trial, job *classad.ClassAd, left int64) {
	if t.steps() >= left {
		return
	}
	ad := k.ad
	if t.accepts(ad, job) { // a slot of the bundle refuses
		i := slices.IndexFunc(k.parts, func(slot backfill.SlotID) bool { return !t.accepts(k.m.slots[slot].ad, job) })
		if i < 0 {
			return
		}
		ad = k.m.slots[k.parts[i]].ad
	}
	k.m.clock.begin(job, ad)
	scope := classad.Scope{My: ad, Target: job, Host: t.supplier(), MaxSteps: t.limit, Meter: &t.meter}
	refusals := scope.Explain("Requirements").Refusals()
	if len(refusals) == 0 {
		return
	}
	r := Refusal{refusals[0].Attribute, refusals[0].Clause.Expr, k.slots}
	i := slices.IndexFunc(f.Refusals, func(o Refusal) bool { return o.Attribute == r.Attribute && o.Text == r.Text })
	switch {
	case i >= 0:
		f.Refusals[i].Slots += k.slots
	case len(f.Refusals) < mostClauses:
		f.Refusals = append(f.Refusals, r)
	}
}

// ClosedTo says how the jobs of an autocluster, which match no slot, fit the slots for which isUp
// returns true. The second result is false if no slot would take them if it were open, or if
// finding out in this cycle would take more steps than [Limits].Cluster, as with WhyNone.
func (m *Matchmaker) ClosedTo(id int, isUp func(backfill.SlotID) bool) (Fit, bool) {
	if m.explaining <= 0 {
		return Fit{}, false
	}
	fit := m.fit(id, isUp, &m.explaining)
	return fit, len(fit.Closed) > 0
}

// WhyNone says why the jobs of an autocluster match no slot, or no bundle. All that it finds out in
// a cycle takes no more steps than [Limits].Cluster; after that it only says that none matches. The second
// result says that some would, if they were not closed.
func (m *Matchmaker) WhyNone(id int) (why string, closed bool) {
	none := "matches no slot"
	if len(m.bundles) > 0 {
		none = "matches no bundle"
	}
	if why := m.whyNot(id, none); why != "" {
		return why, false
	}
	fit := m.fit(id, func(backfill.SlotID) bool { return true }, &m.explaining)
	return none + ": " + fit.WhyNone(), len(fit.Closed) > 0
}

// DescribeClosed says which slots are closed, and how many others refuse the job: of 4 slots 1 is
// draining, 2 refuse it. The function puts times into words; without it none are told.
func (f Fit) DescribeClosed(at func(unix int64) string) string {
	var parts []string
	for _, c := range f.Closed {
		verb, until := "is", ""
		if c.Slots > 1 {
			verb = "are"
		}
		if c.Until != 0 && at != nil {
			until = " until " + at(c.Until)
		}
		parts = append(parts, fmt.Sprintf("%d %s %s%s", c.Slots, verb, c.Why, until))
	}
	switch {
	case f.Refusing == 1:
		parts = append(parts, "1 refuses it")
	case f.Refusing > 1:
		parts = append(parts, fmt.Sprintf("%d refuse it", f.Refusing))
	}
	slots := "slots"
	if f.Slots == 1 {
		slots = "slot"
	}
	return fmt.Sprintf("of %d %s %s", f.Slots, slots, strings.Join(parts, ", "))
}

// WhyNone says why no slot matches: which clauses of the job's Requirements are true on none, or
// that the slots refuse the job or are closed.
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
	more := 0
	for _, c := range f.Clauses {
		switch {
		case c.Met > 0:
		case len(never) < mostQuoted:
			never = append(never, backfill.Printable(c.Text, longestQuoted))
		default:
			more++
		}
	}
	if more > 0 {
		never = append(never, fmt.Sprintf("and %d more", more))
	}
	switch {
	case len(never) > 0:
		return fmt.Sprintf("true on none of %d: %s", f.Slots, strings.Join(never, "; "))
	case len(f.Closed) > 0:
		return "those that would do are closed: " + f.DescribeClosed(nil)
	case f.Refusing == f.Slots:
		return fmt.Sprintf("the Requirements of all %d refuse it%s", f.Slots, f.refusals())
	default:
		return fmt.Sprintf("none of %d meets all its Requirements and accepts it%s", f.Slots, f.refusals())
	}
}

// refusals quotes the clauses by which slots refuse a job, behind a colon, and how many slots each.
func (f Fit) refusals() string {
	var quoted []string
	for i, r := range f.Refusals {
		if i == mostQuoted {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(f.Refusals)-i))
			break
		}
		text := r.String()
		if r.Slots != f.Slots {
			text += fmt.Sprintf(" (%d)", r.Slots)
		}
		quoted = append(quoted, text)
	}
	if len(quoted) == 0 {
		return ""
	}
	return ": " + strings.Join(quoted, "; ")
}
