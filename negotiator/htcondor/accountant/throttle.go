package accountant

import (
	"fmt"
	"maps"
	"math"
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
	// Count is how many such jobs there are, of those that run or were admitted earlier; 0 means one.
	Count int
}

// Rooms are the limits that jobs of a schedd share: all of them, those of one user, and those of one
// project.
type Rooms [3]*Room

// Room is the maximum number of jobs that a schedd runs at once. Why is the reason for users when it
// does; "": it is the number.
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

// Admit decides which waiting jobs, given in queue order, may be planned. Running jobs, jobs
// admitted earlier that still wait, and newly admitted jobs together exceed no limit: concurrency
// limits, submitters' ceilings, quotas of groups that accept no surplus, and the maximum number of
// jobs of each schedd. Jobs admitted earlier count like running jobs; they are not judged again and
// stay admitted even if a limit shrinks.
//
// When a limit has no room for a job, later jobs do not get that limit either, so that small jobs
// do not starve large ones; the job's other limits remain available to them. A job that can never
// start blocks nobody.
func (a *Accountant) Admit(limits *Limits, waiting, running, admitted []Candidate) []Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.asked.outdate()
	t := &throttle{
		a: a, limits: limits, pots: map[string]*pot{}, groups: map[*group]*pot{},
		submitters: map[string]*pot{}, rooms: map[*Room]*pot{}, named: map[*Limit][]demand{}, spent: map[string]int{},
	}
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

// What looking up the limits of jobs may cost in one Admit: a name counts once for all jobs that are
// alike, and newName times when it is new, which takes some µs. A user may spend a quarter of what
// the others leave. Further jobs of his wait: honest ones name a few limits, or are alike.
const (
	mostLookups = 1_000_000
	newName     = 40
)

// mayLookUp reports whether a user's jobs may name further limits.
func (t *throttle) mayLookUp(user string) bool {
	return t.spent[user] < (mostLookups-t.spentAll+t.spent[user])/4
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

// pot is one limit and its use.
type pot struct {
	name      string
	used, max float64
	err       error
	full      string  // the reason when there is no room; if empty, the numbers are the reason
	wanted    float64 // the most that an earlier job wanted and did not get
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

func (t *throttle) judge(c Candidate) Verdict {
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
	reason := "" // it ends like the stock negotiator's, for programs that read its logs
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
				reason = fmt.Sprintf("%s of %s in use, %s wanted: %s reached", decimal(p.used), decimal(p.max),
					decimal(d.amount), p.name)
			}
		case p.wanted > 0 && reason == "":
			reason = fmt.Sprintf("%s of %s in use, %s wanted, and an earlier job waits for %s: %s reached",
				decimal(p.used), decimal(p.max), decimal(d.amount), decimal(p.wanted), p.name)
		}
	}
	return Verdict{Admitted: reason == "", Reason: reason}
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
	if r := t.a.accounts[c.Submitter]; r != nil && r.Ceiling >= 0 {
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

// decimal formats a number without exponent and without needless digits.
func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
