package accountant

import (
	"fmt"
	"maps"
	"math"
	"strconv"
)

// Candidate is a job as limits see it.
type Candidate struct {
	Submitter string
	// Weight is the slot weight that the job takes in all, cpus × nodes as a rule.
	Weight float64
	// Limits are its concurrency limits, for each start of the whole job.
	Limits []Limit
	// Room is where its schedd runs it; nil: there is as much as one likes.
	Room *Room
}

// Room is how many jobs a schedd runs at once.
type Room struct{ Jobs int }

// Full says that there is no more room.
func (r *Room) Full() string {
	return fmt.Sprintf("its schedd runs no more than %d jobs at once", r.Jobs)
}

// Verdict says whether a job may enter the planning queue.
type Verdict struct {
	Admitted bool
	// Never marks a job that exceeds a limit even when nothing else runs.
	Never bool
	// Reason says which limit keeps the job out, for its user; empty if none does.
	Reason string
}

// Admit decides which waiting jobs, in queue order, may be planned, so that what
// runs, what was admitted before and still waits, and what is admitted now
// together exceed no limit: concurrency limits, submitters' ceilings, the
// quotas of groups that accept no surplus, and the room that schedds have. What was admitted before counts like
// what runs; it is not asked again, and keeps its place even if a limit shrinks.
//
// A job that a limit has no room for keeps that limit from later jobs, so that
// small jobs do not starve large ones; other limits that it wants stay free for
// them. A job that can never start keeps nothing from anybody.
func (a *Accountant) Admit(limits *Limits, waiting, running, admitted []Candidate) []Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &throttle{a: a, limits: limits, pots: map[string]*pot{}, groups: map[*group]*pot{}, submitters: map[string]*pot{}, rooms: map[*Room]*pot{}}
	for _, c := range running {
		t.take(c)
	}
	a.limits = map[string]float64{}
	for name, p := range t.pots {
		a.limits[name] = p.used
	}
	for _, c := range admitted {
		t.take(c)
	}
	verdicts := make([]Verdict, len(waiting))
	for i, c := range waiting {
		if verdicts[i] = t.judge(c); verdicts[i].Admitted {
			t.take(c)
		}
	}
	return verdicts
}

// LimitsInUse is how much of each concurrency limit runs, as of the last Admit.
func (a *Accountant) LimitsInUse() map[string]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.limits)
}

// throttle is what is left of the limits while jobs are admitted.
type throttle struct {
	a          *Accountant
	limits     *Limits
	pots       map[string]*pot // concurrency limits
	groups     map[*group]*pot // quotas
	submitters map[string]*pot // ceilings
	rooms      map[*Room]*pot
	demands    []demand // of the job that is looked at
}

// pot is one limit.
type pot struct {
	name      string
	used, max float64
	err       error
	full      string  // what it says when there is no room; "": the numbers
	wanted    float64 // by an earlier job that there was no room for
}

// demand is what a job wants of a pot.
type demand struct {
	pot    *pot
	amount float64
	// exempt counts against the limit but is not held to it.
	exempt bool
}

// slack keeps sums of fractions from exceeding a limit by their rounding.
const slack = 1e-9

func (t *throttle) take(c Candidate) {
	for _, d := range t.of(c) {
		d.pot.used += d.amount
	}
}

func (t *throttle) judge(c Candidate) Verdict {
	demands := t.of(c)
	for _, d := range demands {
		switch {
		case d.exempt:
		case d.pot.err != nil:
			return Verdict{Never: true, Reason: d.pot.err.Error()}
		case d.amount > d.pot.max+slack && d.pot.full != "":
			return Verdict{Never: true, Reason: d.pot.full}
		case d.amount > d.pot.max+slack:
			return Verdict{Never: true, Reason: fmt.Sprintf("can never start under %s: %s wanted of %s", d.pot.name, decimal(d.amount), decimal(d.pot.max))}
		}
	}
	reason := ""
	for _, d := range demands {
		p := d.pot
		switch {
		case d.exempt:
		case p.used+d.amount > p.max+slack:
			p.wanted = max(p.wanted, d.amount)
			if reason == "" && p.full != "" {
				reason = p.full
			}
			if reason == "" {
				reason = fmt.Sprintf("%s: %s of %s in use, %s wanted", p.name, decimal(p.used), decimal(p.max), decimal(d.amount))
			}
		case p.wanted > 0 && reason == "":
			reason = fmt.Sprintf("%s: %s of %s in use, %s wanted, and an earlier job waits for %s", p.name, decimal(p.used), decimal(p.max), decimal(d.amount), decimal(p.wanted))
		}
	}
	return Verdict{Admitted: reason == "", Reason: reason}
}

// of is what a job wants of which limits. It is good until the next call.
func (t *throttle) of(c Candidate) []demand {
	t.demands = t.demands[:0]
	for _, l := range c.Limits {
		p := t.pots[l.Name]
		if p == nil {
			p = &pot{name: "limit " + l.Name}
			p.max, p.err = t.limits.Max(l.Name)
			t.pots[l.Name] = p
		}
		t.demands = append(t.demands, demand{pot: p, amount: l.Wanted})
	}
	if r := t.a.accounts[c.Submitter]; r != nil && r.Ceiling >= 0 {
		p := t.submitters[c.Submitter]
		if p == nil {
			p = &pot{name: "ceiling of " + c.Submitter, max: float64(r.Ceiling)}
			t.submitters[c.Submitter] = p
		}
		t.demands = append(t.demands, demand{pot: p, amount: c.Weight})
	}
	if c.Room != nil {
		p := t.rooms[c.Room]
		if p == nil {
			p = &pot{full: c.Room.Full(), max: float64(c.Room.Jobs)}
			t.rooms[c.Room] = p
		}
		t.demands = append(t.demands, demand{pot: p, amount: 1})
	}
	if c.Submitter == "" {
		return t.demands
	}
	g, _ := t.a.tree.assigned(c.Submitter)
	regroups := g != nil && g.Autoregroup // competes for the surplus of all
	for ; g != nil; g = g.parent {
		if g.AcceptSurplus {
			continue
		}
		p := t.groups[g]
		if p == nil {
			p = &pot{name: "quota of group " + g.Name, max: g.subtreeQuota}
			t.groups[g] = p
		}
		t.demands = append(t.demands, demand{p, c.Weight, regroups})
	}
	return t.demands
}

// decimal prints a number as people write it.
func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
