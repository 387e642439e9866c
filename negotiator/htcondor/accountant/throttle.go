package accountant

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Candidate is a job as [Accountant.Admit] sees it: its submitter and what it takes of limits.
type Candidate struct {
	Submitter string
	// User is whose job it is, as the schedd knows him: what it takes to look up limits is charged to
	// him.
	User string
	// Weight is the slot weight that the whole job takes: the cpus of all its slots.
	Weight float64
	// Limits are its concurrency limits, counted once per start of the whole job.
	Limits []Limit
	// Rooms are the limits of the schedd that runs it; nil means no limit.
	Rooms Rooms
	// Count is how many such jobs there are, of those that run; 0 means one.
	Count int
}

// Rooms are the limits that jobs of a schedd share: all of them, those of one user, and those of
// one project.
type Rooms [3]*Room

// Room is the maximum number of jobs that a schedd runs at once. Why is the reason for users when
// it does; "": it is the number.
type Room struct {
	Jobs int
	Why  string
}

// Full returns the reason that is shown to users when a schedd runs its maximum number of jobs.
func (r *Room) Full() string {
	if r.Why != "" {
		return r.Why
	}
	return fmt.Sprintf("its schedd runs no more than %d jobs at once", r.Jobs)
}

// Verdict says whether a job may enter the planning queue.
type Verdict struct {
	Admitted bool
	// Never marks a job that would exceed a limit even if nothing else ran.
	Never bool
	// Reason tells the job's user which limit keeps the job out; it is empty if none does.
	Reason string
}

// Asking are waiting jobs that want to be planned, in the order in which they would start.
type Asking struct {
	Jobs []Candidate
	// Start tries to start one of the jobs now, and reports whether it could; nil: all could. It is
	// asked in turn for those that limits have room for.
	Start func(i int) bool
	// Name tells users of one of the jobs that hold a limit, and of one of those in Kept if it is
	// negative: -1 is the first of them. nil: nobody is told.
	Name func(i int) string
	// Kept are jobs that were promised a start soon: they keep what they hold, even if a limit
	// shrinks.
	Kept []Candidate
}

// Admit decides which waiting jobs may be planned. Running jobs, those that are kept, and the jobs
// admitted together exceed no limit: concurrency limits, submitters' ceilings, quotas of groups
// that accept no surplus, and the maximum number of jobs of each schedd.
//
// If limits have no room for all, those come first that could start now, as HTCondor's negotiator
// would start them: each takes what it wants of its limits, if that is left, in the jobs' order.
// What is left then is held for the others, in the same order, until they start or one that could
// start now wants it.
func (a *Accountant) Admit(limits *Limits, running []Candidate, asking Asking) []Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.asked.outdate()
	t := a.throttle(limits)
	for _, c := range running {
		t.take(c)
	}
	a.limits = map[string]float64{}
	for name, p := range t.pots {
		a.limits[name] = p.used
	}
	for i, c := range asking.Kept {
		hold(t.of(c), -1-i)
	}
	verdicts := make([]Verdict, len(asking.Jobs))
	if !t.admit(asking, verdicts, func(int) bool { return true }) && asking.Start != nil {
		t.giveBack(asking.Kept)
		clear(verdicts)
		t.admit(asking, verdicts, asking.Start)
		t.admit(asking, verdicts, func(int) bool { return true })
	}
	for i, c := range asking.Jobs {
		if v := &verdicts[i]; !v.Admitted && v.Reason == "" {
			v.Reason = t.full(c, asking.Name)
		}
	}
	return verdicts
}

// admit goes over the jobs that are neither admitted nor never to be, and admits those that limits
// have room for and that start. It reports whether all are admitted.
func (t *throttle) admit(asking Asking, verdicts []Verdict, start func(int) bool) (all bool) {
	all = true
	for i, c := range asking.Jobs {
		v := &verdicts[i]
		if v.Admitted || v.Never {
			continue
		}
		if *v = t.judge(c); v.Admitted && len(t.demands) > 0 {
			if v.Admitted = start(i); v.Admitted {
				hold(t.demands, i)
			}
		}
		all = all && v.Admitted
	}
	return all
}

// Bounded tells which of the jobs any limit applies to.
func (a *Accountant) Bounded(limits *Limits, jobs []Candidate) []bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.throttle(limits)
	bounded := make([]bool, len(jobs))
	for i, c := range jobs {
		bounded[i] = len(t.of(c)) > 0
	}
	return bounded
}

func (a *Accountant) throttle(limits *Limits) *throttle {
	return &throttle{
		a: a, limits: limits, pots: map[string]*pot{}, groups: map[*group]*pot{},
		submitters: map[string]*pot{}, rooms: map[*Room]*pot{}, named: map[*Limit][]demand{}, spent: map[string]int{},
	}
}

// LimitsInUse returns how much of each concurrency limit running jobs use, as of the last Admit.
func (a *Accountant) LimitsInUse() map[string]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.limits)
}

// throttle keeps the use of all limits while jobs are admitted.
type throttle struct {
	a          *Accountant
	limits     *Limits
	pots       map[string]*pot // concurrency limits
	groups     map[*group]*pot // quotas
	submitters map[string]*pot // ceilings
	rooms      map[*Room]*pot
	demands    []demand // of the job that is being judged

	named    map[*Limit][]demand // by the first of a job's limits: jobs that are alike share them
	spent    map[string]int      // by user, on looking up limits
	spentAll int
}

// What looking up the limits of jobs may cost in one Admit: a name counts once for all jobs that
// are alike, and newName times when it is new, which takes some µs. A user may spend his
// [Allowance]. Further jobs of his wait: honest ones name a few limits, or are alike.
const (
	mostLookups = 1_000_000
	newName     = 40
)

// mayLookUp reports whether a user's jobs may name further limits.
func (t *throttle) mayLookUp(user string) bool {
	return t.spent[user] < Allowance(mostLookups, t.spentAll, t.spent[user])
}

// lookUp returns what a job wants of concurrency limits.
func (t *throttle) lookUp(c Candidate) []demand {
	if len(c.Limits) == 0 {
		return nil
	}
	demands, known := t.named[&c.Limits[0]]
	if known {
		return demands
	}
	cost := len(c.Limits)
	for _, l := range c.Limits {
		p := t.pots[l.Name]
		if p == nil {
			p = &pot{name: limitName + l.Name}
			p.max, p.err = t.limits.Max(l.Name)
			t.pots[l.Name] = p
			cost += newName
		}
		demands = append(demands, demand{pot: p, amount: l.Wanted})
	}
	t.named[&c.Limits[0]] = demands
	t.spent[c.User] += cost
	t.spentAll += cost
	return demands
}

// pot is one limit, what running jobs use of it, and what is held for waiting ones.
type pot struct {
	name            string
	used, held, max float64
	err             error
	full            string // the reason when there is no room; if empty, the numbers are the reason
	holder, holders int    // the first of the jobs that hold something, see [Asking], and how many do
	text            string // says for whom it is held; made once
}

// demand is the amount of one limit that a job wants.
type demand struct {
	pot    *pot
	amount float64
	// exempt demands count as use but are never refused.
	exempt bool
}

// slack tolerates rounding errors in sums of fractions.
const slack = 1e-9

func (t *throttle) take(c Candidate) {
	for _, d := range t.of(c) {
		d.pot.used += d.amount * float64(max(1, c.Count))
	}
}

// hold holds for a waiting job what it wants.
func hold(demands []demand, index int) {
	for _, d := range demands {
		p := d.pot
		if p.holders == 0 {
			p.holder = index
		}
		p.held, p.holders = p.held+d.amount, p.holders+1
	}
}

// giveBack gives back what is held, but for those that are kept.
func (t *throttle) giveBack(kept []Candidate) {
	for _, pots := range []iter.Seq[*pot]{
		maps.Values(t.pots), maps.Values(t.groups), maps.Values(t.submitters), maps.Values(t.rooms),
	} {
		for p := range pots {
			p.held, p.holders = 0, 0
		}
	}
	for i, c := range kept {
		hold(t.of(c), -1-i)
	}
}

// judge tells whether limits have room for a job. The verdict lacks the reason if they have none
// now.
func (t *throttle) judge(c Candidate) Verdict {
	t.demands = t.demands[:0]
	if len(c.Limits) > 0 && t.named[&c.Limits[0]] == nil && !t.mayLookUp(c.User) {
		return Verdict{Reason: fmt.Sprintf("the jobs of %s name too many different concurrency limits", c.User)}
	}
	demands := t.of(c)
	for _, d := range demands {
		switch {
		case d.exempt:
		case d.pot.err != nil:
			return Verdict{Never: true, Reason: d.pot.err.Error()}
		case d.amount > d.pot.max+slack && d.pot.full != "":
			return Verdict{Never: true, Reason: d.pot.full}
		case d.amount > d.pot.max+slack:
			return Verdict{Never: true, Reason: fmt.Sprintf("can never start under %s: %s wanted of %s", d.pot.name,
				decimal(d.amount), decimal(d.pot.max))}
		}
	}
	return Verdict{Admitted: !slices.ContainsFunc(demands, demand.lacks)}
}

// lacks tells whether a limit has less left than is wanted.
func (d demand) lacks() bool {
	return !d.exempt && d.pot.used+d.pot.held+d.amount > d.pot.max+slack
}

// full says which limit has no room for a job.
func (t *throttle) full(c Candidate, name func(int) string) string {
	for _, d := range t.of(c) {
		p := d.pot
		switch {
		case !d.lacks():
			continue
		case p.full != "":
			return p.full + p.heldFor(name)
		}
		// it ends like the stock negotiator's, for programs that read its logs
		return fmt.Sprintf("%s of %s in use%s, %s wanted: %s reached", decimal(p.used), decimal(p.max),
			p.heldFor(name), decimal(d.amount), p.name)
	}
	return ""
}

// heldFor says how much of a limit is held, for which job, and for how many others; "" if for none.
func (p *pot) heldFor(name func(int) string) string {
	if p.holders == 0 || name == nil {
		return ""
	}
	if p.text == "" {
		p.text = ", " + decimal(p.held) + " held for " + name(p.holder)
		if more := p.holders - 1; more > 0 {
			p.text += fmt.Sprintf(", and %d more", more)
		}
	}
	return p.text
}

// Reached returns the name of the concurrency limit that a reason says is reached.
func Reached(reason string) (limit string, ok bool) {
	most, ok := strings.CutSuffix(reason, " reached")
	if !ok {
		return "", false
	}
	at := strings.LastIndex(most, ": "+limitName)
	if at < 0 {
		return "", false
	}
	return most[at+len(": "+limitName):], true
}

// limitName begins the names of concurrency limits in reasons.
const limitName = "concurrency limit "

// of returns what the job wants of each limit that applies to it. The result is valid until the
// next call.
func (t *throttle) of(c Candidate) []demand {
	t.demands = append(t.demands[:0], t.lookUp(c)...)
	r := t.a.accounts[c.Submitter]
	if r != nil && r.Ceiling >= 0 {
		p := t.submitters[c.Submitter]
		if p == nil {
			p = &pot{name: "ceiling of " + c.Submitter, max: float64(r.Ceiling)}
			t.submitters[c.Submitter] = p
		}
		t.demands = append(t.demands, demand{pot: p, amount: c.Weight})
	}
	for _, r := range c.Rooms {
		if r == nil {
			continue
		}
		p := t.rooms[r]
		if p == nil {
			p = &pot{full: r.Full(), max: float64(r.Jobs)}
			t.rooms[r] = p
		}
		t.demands = append(t.demands, demand{pot: p, amount: 1})
	}
	if c.Submitter == "" {
		return t.demands
	}
	g, _ := t.a.groupOf(r, c.Submitter)
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

// decimal formats a number without exponent and without needless digits.
func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
