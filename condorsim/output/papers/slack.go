package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// promising returns the schedulers that promise at least the head of the queue its start, promising
// nothing those that do not.
func promising() []scheduler {
	return []scheduler{easy, {"bb", fcfs}, {"ibb", fcfs}, conservative, {"pc", "sjf"}, {"dc", "sjf"}}
}

func promisingNothing() []scheduler { return []scheduler{{"first-fit", fcfs}, {"best-fit", fcfs}} }

// slacked has the results that show the policy slack: several traces, or several loads.
type slacked struct {
	*grid
	slack scheduler
}

func newSlacked(f *results.Folder) slacked {
	s := slacked{newGrid(f.Cells), scheduler{"slack", fcfs}}
	if i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Policy == "slack" }); i >= 0 {
		s.slack.order = cmp.Or(f.Cells[i].Order, fcfs)
	}
	return s
}

// slack checks the goals of the policy slack, which are this project's own. Over several loads it
// must do at each what it must do on most traces else.
func slack(f *results.Folder) []Row {
	s := newSlacked(f)
	rows := []Row{
		s.shorter("those that promise at least the head of the queue its start", promising(), 11),
		s.shorter("those that promise nothing", promisingNothing(), 9),
		s.shorter("EASY in the same order, so that the policy alone counts", []scheduler{{"easy", s.slack.order}}, 9),
	}
	if !s.overLoads() {
		rows = append(rows,
			s.atMost("mean of the greatest 5 % of waits, at most 1.1 times EASY's", "top5_wait", 1.1, 9),
			s.atMost("mean wait of the widest 10 % of the jobs, at most EASY's", "widest10_wait", 1, 9),
			s.atMost("area-weighted mean response, at most 1.05 times EASY's", "area_weighted_response", 1.05, 12),
			s.together("mean bounded slowdown, at most 0.6 times EASY's", "mean_bounded_slowdown", 0.6))
	}
	return append(rows, s.promises(), s.users())
}

func (s slacked) overLoads() bool { return len(s.loads) > 1 }

// cell returns a scheduler's result on a trace at a load; nil if there is none.
func (s slacked) cell(at cellKey, planner scheduler) *results.Cell {
	return s.cells[cellKey{at.trace, planner, at.load}]
}

// cases returns each trace at each load.
func (s slacked) cases() (all []cellKey) {
	for _, trace := range s.traces {
		for _, load := range s.loads {
			all = append(all, cellKey{trace: trace, load: load})
		}
	}
	return all
}

// label returns the name of a case, which has the load if there are several.
func (s slacked) label(at cellKey) string {
	if s.overLoads() {
		return fmt.Sprintf("%s at %g", at.trace, at.load)
	}
	return at.trace
}

// tally counts the cases in which a statement holds, as the callback says.
func (s slacked) tally(holds func(at cellKey) (yes, known bool)) (t tally) {
	for _, at := range s.cases() {
		yes, known := holds(at)
		if !known {
			continue
		}
		t.total++
		if yes {
			t.holds++
		} else {
			t.except = append(t.except, s.label(at))
		}
	}
	return t
}

// ratio returns slack's metric over another scheduler's; false if it is unknown.
func (s slacked) ratio(at cellKey, other scheduler, metric string) (float64, bool) {
	x, ok := s.at(at.trace, s.slack, at.load, metric)
	y, otherOK := s.at(at.trace, other, at.load, metric)
	switch {
	case !ok || !otherOK:
		return 0, false
	case x == y:
		return 1, true
	default:
		return x / y, true // +Inf over 0
	}
}

// goal returns what is wanted of so many of twelve traces, or of all loads.
func (s slacked) goal(of12 int) string {
	if s.overLoads() {
		return "at every load"
	}
	return fmt.Sprintf("on at least %d of 12 traces", of12)
}

// verdict judges a tally: of other numbers of traces than twelve, the same share may be exceptions.
func (s slacked) verdict(t tally, of12 int) Verdict {
	exceptions := t.total * (12 - of12) / 12
	if s.overLoads() {
		exceptions = 0
	}
	switch {
	case t.total == 0:
		return Untested
	case t.total-t.holds <= exceptions:
		return Agrees
	case 2*t.holds > t.total:
		return Partly
	default:
		return Differs
	}
}

// shorter judges that slack has both the lower mean wait and the lower mean bounded slowdown than
// each of the others.
func (s slacked) shorter(whom string, others []scheduler, of12 int) Row {
	lower := func(metrics ...string) tally {
		return s.tally(func(at cellKey) (yes, known bool) {
			yes = true
			for _, other := range others {
				for _, metric := range metrics {
					ratio, ok := s.ratio(at, other, metric)
					if !ok {
						return false, false
					}
					yes = yes && ratio < 1
				}
			}
			return yes, true
		})
	}
	var names []string
	for _, other := range others {
		names = append(names, other.String())
	}
	both := lower("mean_wait", "mean_bounded_slowdown")
	r := Row{
		Statement: fmt.Sprintf("slack has a lower mean wait and a lower mean bounded slowdown than %s: each of %s", whom,
			strings.Join(names, ", ")),
		Paper: s.goal(of12), Verdict: s.verdict(both, of12),
	}
	if both.total > 0 {
		r.Ours = fmt.Sprintf("both %v; mean wait %v; mean bounded slowdown %v", both, lower("mean_wait"),
			lower("mean_bounded_slowdown"))
	}
	return r.because("the table of improvements in this report says by how much, and against whom")
}

// atMost judges that a metric of slack is at most a multiple of EASY's, on so many of twelve traces.
func (s slacked) atMost(statement, metric string, limit float64, of12 int) Row {
	worst, where := math.Inf(-1), ""
	t := s.tally(func(at cellKey) (bool, bool) {
		ratio, ok := s.ratio(at, easy, metric)
		if ok && ratio > worst {
			worst, where = ratio, s.label(at)
		}
		return ratio <= limit, ok
	})
	r := Row{Statement: "slack: " + statement, Paper: s.goal(of12), Verdict: s.verdict(t, of12)}
	if t.total > 0 {
		r.Ours = fmt.Sprintf("%v; the most is %.2f times, %s", t, worst, where)
	}
	return r.because("promises allow it: a job may start as late as its slack, and the queue's order favours others")
}

// together judges that a metric of slack over EASY's is at most a limit in the geometric mean over the
// traces on which both are known and above 0.
func (s slacked) together(statement, metric string, limit float64) Row {
	logs, n := 0.0, 0
	for _, at := range s.cases() {
		if ratio, ok := s.ratio(at, easy, metric); ok && ratio > 0 && !math.IsInf(ratio, 1) {
			logs, n = logs+math.Log(ratio), n+1
		}
	}
	r := Row{Statement: "slack: " + statement, Paper: "in the geometric mean", Verdict: Untested}
	if n > 0 {
		mean := math.Exp(logs / float64(n))
		r.Ours, r.Verdict = fmt.Sprintf("%.2f times, over %d traces", mean, n), Differs
		switch {
		case mean <= limit:
			r.Verdict = Agrees
		case mean < 1:
			r.Verdict = Partly
		}
	}
	return r.because("the table of who gains and who pays says whose slowdowns these are")
}

// promises judges that slack kept all guarantees.
func (s slacked) promises() Row {
	given, kept, broken := 0.0, 0.0, 0.0
	t := s.tally(func(at cellKey) (bool, bool) {
		c := s.cell(at, s.slack)
		if c == nil {
			return false, false
		}
		g, k, b := c.Metrics["guarantees_given"], c.Metrics["guarantees_kept"], c.Metrics["guarantees_broken"]
		given, kept, broken = given+g, kept+k, broken+b
		return g > 0 && k == g && b == 0, true
	})
	r := Row{Statement: "slack keeps every promise", Paper: "all, everywhere", Verdict: Untested}
	if t.total > 0 {
		r.Ours, r.Verdict = fmt.Sprintf("%v; %.0f of %.0f promises kept", t, kept, given), Differs
		if t.holds == t.total {
			r.Verdict = Agrees
		}
	}
	return r.because(fmt.Sprintf("%.0f were broken: the table of all cells says where", broken))
}

// mostSlowdown is how many times EASY's a user's mean bounded slowdown may be under slack.
const mostSlowdown = 2

func (s slacked) users() Row {
	r := Row{
		Statement: "no user's mean bounded slowdown is more than twice as large under slack as under EASY",
		Paper:     "no user's, everywhere", Verdict: Untested,
	}
	all := s.compared()
	worse := slices.DeleteFunc(slices.Clone(all), func(u User) bool { return u.Times() <= mostSlowdown })
	switch {
	case len(all) == 0:
	case len(worse) == 0:
		r.Verdict = Agrees
	case 20*len(worse) <= len(all):
		r.Verdict = Partly
	default:
		r.Verdict = Differs
	}
	if len(all) > 0 {
		who := "users"
		if s.overLoads() {
			who = "users, counted at each load"
		}
		r.Ours = fmt.Sprintf("more for %d of %d %s, with %.2f %% of the jobs; the most is %.1f times, user %s of %s",
			len(worse), len(all), who, 100*jobs(worse)/jobs(all), all[0].Times(), all[0].Name, all[0].Where)
	}
	return r.because("the table of the worst users says who they are, and what they got under each")
}

func jobs(users []User) (sum float64) {
	for _, u := range users {
		sum += float64(u.Jobs)
	}
	return sum
}

// User is what a user got under slack and under EASY: the mean bounded slowdown.
type User struct {
	Name, Where string // Where is the trace, with the load if there are several
	Jobs        int
	EASY, Slack float64
}

// Times returns how many times as large it is under slack.
func (u User) Times() float64 { return u.Slack / u.EASY }

// Worst returns the users to whom slack did the most harm against EASY, the worst first, at most n;
// none if the results do not check the goals of slack, or have nothing about users.
func Worst(f *results.Folder, n int) []User {
	if f.Manifest.Paper != "slack" {
		return nil
	}
	all := newSlacked(overSeeds(f)).compared()
	return all[:min(n, len(all))]
}

// compared returns all users that results under slack and under EASY have, those first whose mean
// bounded slowdown has grown the most.
func (s slacked) compared() (all []User) {
	for _, at := range s.cases() {
		base, own := s.cell(at, easy), s.cell(at, s.slack)
		if base == nil || own == nil {
			continue
		}
		before := map[string]float64{}
		for _, u := range base.Users {
			before[u.Name] = u.MeanBoundedSlowdown
		}
		for _, u := range own.Users {
			if b, ok := before[u.Name]; ok {
				all = append(all, User{u.Name, s.label(at), u.Jobs, b, u.MeanBoundedSlowdown})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b User) int { return cmp.Compare(b.Times(), a.Times()) })
	return all
}
