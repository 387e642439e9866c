package accountant

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Candidate is a job as [Bounds] sees it: its submitter and what it takes of limits.
type Candidate struct {
	Submitter string
	// User is whose job it is, as the schedd knows him: what it takes to look up limits is charged to
	// him.
	User string
	// Weight is the slot weight that the whole job takes: that of all its slots.
	Weight float64
	// Limits are its concurrency limits, counted once per start of the whole job.
	Limits []Limit
	// Schedd is the schedd that runs it, and Project the project there; "": it counts for no room.
	Schedd, Project string
	// Rooms are the limits of the schedd that runs it; nil means no limit.
	Rooms Rooms
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

// Bounds are the limits of the pool in one cycle, as far as jobs take of any: concurrency limits,
// submitters' ceilings, quotas of groups that accept no surplus, and the maximum number of jobs of
// each schedd. It is not safe for concurrent use.
//
// A group that accepts surplus has no bound of its own: what it may use follows from the queue's
// order, see [Share].
type Bounds struct {
	a      *Accountant
	limits *Limits
	byName map[string]*Bound
	all    []*Bound

	named    map[*Limit][]Want // by the first of a job's limits: jobs that are alike share them
	spent    map[string]int    // by user, on looking up limits
	spentAll int
}

// Bound is one limit. Its name is unique, and stands in reasons.
type Bound struct {
	Name string
	// Max is the limit, at least 0; +Inf: there is none now.
	Max float64
	// Used is what running jobs use, and Waited what waiting ones want, who are Waiting.
	Used, Waited float64
	Waiting      int
	// User is whose jobs named it first, if users choose its name; else "".
	User string

	err  error
	full string // the reason when there is no room; if empty, the numbers are the reason
}

// Want is what a job takes of a limit. What is exempt counts as use, but is never refused.
type Want struct {
	*Bound

	Amount float64
	Exempt bool
}

// Bounds begins a cycle in which nobody uses or wants anything yet.
func (a *Accountant) Bounds(limits *Limits) *Bounds {
	return &Bounds{
		a: a, limits: limits, byName: map[string]*Bound{}, named: map[*Limit][]Want{}, spent: map[string]int{},
	}
}

// All returns the limits that jobs were found to take of, in the order in which they were.
func (b *Bounds) All() []*Bound { return b.all }

// What looking up the limits of jobs may cost in one cycle: a name counts once for all jobs that
// are alike, and newName times when it is new, which takes some µs. A user may spend his
// [Allowance]. Further jobs of his wait: honest ones name a few limits, or are alike.
const (
	mostLookups = 1_000_000
	newName     = 40
)

// May tells whether a waiting job may name its concurrency limits; else it returns why not.
func (b *Bounds) May(c Candidate) (why string) {
	if len(c.Limits) == 0 || b.named[&c.Limits[0]] != nil ||
		b.spent[c.User] < Allowance(mostLookups, b.spentAll, b.spent[c.User]) {
		return ""
	}
	return TooMany(c.User)
}

// TooMany is why jobs wait whose user names too many concurrency limits.
func TooMany(user string) string {
	return fmt.Sprintf("the jobs of %s name too many different concurrency limits", user)
}

// Of returns what a job takes of each limit that applies to it, and of those that may come to apply
// while it is there.
func (b *Bounds) Of(c Candidate) []Want {
	wants := append([]Want(nil), b.lookUp(c)...)
	b.a.mu.Lock()
	defer b.a.mu.Unlock()
	wants = b.ofSchedd(wants, c)
	if c.Submitter == "" {
		return wants
	}
	r, name := b.a.accounts[c.Submitter], ceilingName+c.Submitter
	ceiling := b.bound(name, "")
	if r != nil && r.Ceiling >= 0 {
		ceiling.Max = float64(r.Ceiling)
	}
	wants = append(wants, Want{Bound: ceiling, Amount: c.Weight})
	g, _ := b.a.groupOf(r, c.Submitter)
	regroups := g != nil && g.Autoregroup // competes for the surplus of all
	for loose := b.a.settings.LooseQuotas; g != nil; g = g.parent {
		name, most := quotaName+g.Name, g.subtreeQuota
		if loose { // of what it uses without its subgroups
			name, most = ownQuotaName+g.Name, g.quota
		}
		if !g.AcceptSurplus {
			quota := b.bound(name, "")
			quota.Max = most
			wants = append(wants, Want{quota, c.Weight, regroups})
		}
		if loose {
			break
		}
	}
	return wants
}

// lookUp returns what a job wants of concurrency limits.
func (b *Bounds) lookUp(c Candidate) []Want {
	if len(c.Limits) == 0 {
		return nil
	}
	wants, known := b.named[&c.Limits[0]]
	if known {
		return wants
	}
	cost := len(c.Limits)
	for _, l := range c.Limits {
		bound := b.byName[limitName+l.Name]
		if bound == nil {
			bound = b.bound(limitName+l.Name, c.User)
			bound.Max, bound.err = b.limits.Max(l.Name)
			bound.Max = max(0, bound.Max)
			cost += newName
		}
		wants = append(wants, Want{Bound: bound, Amount: l.Wanted})
	}
	b.named[&c.Limits[0]] = wants
	b.spent[c.User] += cost
	b.spentAll += cost
	return wants
}

// ofSchedd adds what a job takes of the rooms of its schedd, also of those that there are none of
// now: some come and go with what a user's other jobs do.
func (b *Bounds) ofSchedd(wants []Want, c Candidate) []Want {
	if c.Schedd == "" {
		return wants
	}
	names := [len(c.Rooms)]string{"jobs of schedd " + c.Schedd}
	if c.User != "" {
		names[1] = "jobs of " + c.User + " at schedd " + c.Schedd
	}
	if c.Project != "" {
		names[2] = "jobs of project " + c.Project + " at schedd " + c.Schedd
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		bound := b.bound(name, "")
		if room := c.Rooms[i]; room != nil {
			bound.Max, bound.full = float64(room.Jobs), room.Full()
		}
		wants = append(wants, Want{Bound: bound, Amount: 1})
	}
	return wants
}

// bound returns the limit of a name, and makes it if there is none.
func (b *Bounds) bound(name, user string) *Bound {
	bound := b.byName[name]
	if bound == nil {
		bound = &Bound{Name: name, Max: math.Inf(1), User: user}
		b.byName[name], b.all = bound, append(b.all, bound)
	}
	return bound
}

// slack tolerates rounding errors in sums of fractions.
const slack = 1e-9

// Binds tells whether all who want something of the limit cannot have it at once.
func (b *Bound) Binds() bool { return b.err == nil && b.Used+b.Waited > b.Max+slack }

// Never returns why a job would exceed a concurrency limit even if nothing else ran; "" if it would
// not. The rooms of schedds, the quotas of groups and the ceilings of submitters come and go, so no job
// is out of the plan for one that is too low now.
func Never(wants []Want) string {
	for _, w := range wants {
		switch {
		case w.Exempt:
		case w.err != nil:
			return w.err.Error()
		case w.Amount > w.Max+slack && strings.HasPrefix(w.Name, limitName):
			return fmt.Sprintf("can never start under %s: %s wanted of %s", w.Name, decimal(w.Amount), decimal(w.Max))
		}
	}
	return ""
}

// Lacking returns which limit has no room for a job now; "" if all have.
func Lacking(wants []Want) string {
	for _, w := range wants {
		switch {
		case w.Exempt || w.Used+w.Amount <= w.Max+slack:
			continue
		case w.full != "":
			return w.full
		}
		others := ""
		if w.Waiting > 1 {
			others = fmt.Sprintf(", %d jobs wait for it", w.Waiting)
		}
		// it ends like the stock negotiator's, for programs that read its logs
		return fmt.Sprintf("%s of %s in use%s, %s wanted: %s reached", decimal(w.Used), decimal(w.Max), others,
			decimal(w.Amount), w.Name)
	}
	return ""
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

// How the names of limits begin, as they stand in reasons.
const (
	limitName    = "concurrency limit "
	ceilingName  = "ceiling of "
	quotaName    = "quota of group "
	ownQuotaName = "own " + quotaName
)

// IsShare tells whether a limit of this name bounds how much of the pool a submitter or a group may
// use: a ceiling or a quota.
func IsShare(name string) bool {
	return strings.HasPrefix(name, ceilingName) || strings.HasPrefix(name, quotaName) ||
		strings.HasPrefix(name, ownQuotaName)
}

// decimal formats a number without exponent and without needless digits.
func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
