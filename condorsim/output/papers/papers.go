// Package papers compares results with what papers say, statement by statement, and with this
// project's own goals in the same way.
//
// [Of] takes a folder of results, whose manifest names the paper, and returns a [Row] for each
// statement: what the paper says, what came out here, and whether that agrees. If it does not, the
// row gives the likely cause; if results are missing, it says that nothing can be said.
//
//   - guarantees.go: Lindsay, Galloway-Carson, Johnson, Bunde and Leung, Backfilling with
//     guarantees granted upon job submission, Euro-Par 2011
//   - fairness.go: Rajbhandary, Bunde and Leung, Variations of Conservative backfilling to improve
//     fairness, JSSPP 2013
//   - ibb.go: Liu et al., IBB: Improved K-Resource Aware Backfill Balanced Scheduling for HTCondor
//   - estimates.go: Tang, Desai, Buettner and Lan, Analyzing and adjusting user runtime estimates
//     to improve job scheduling on the Blue Gene/P, IPDPS 2010
//   - slack.go: no paper, but what the policy slack is to do
//   - auto.go: no paper, but what a pool that chooses its own policy is to do
//   - sc15.go: Gaussier, Glesser, Reis and Trystram, Improving backfilling by using machine learning
//     to predict running times, SC 2015, and the results of its authors' simulator
//
// Improvements are as in the papers, (base − X) / base of the same measure.
package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// Row is a statement of a paper with our verdict.
type Row struct {
	Statement string  `json:"statement"`
	Paper     string  `json:"paper"` // what the paper says, or what the goal is
	Ours      string  `json:"ours"`  // what we get
	Verdict   Verdict `json:"verdict"`
	// Why is the likely cause of a disagreement, or what is missing.
	Why string `json:"why,omitempty"`
}

// Verdict is whether results agree with a statement.
type Verdict string

// The verdicts.
const (
	Agrees   Verdict = "agrees"
	Partly   Verdict = "partly" // in direction, but not in every case or not in size
	Differs  Verdict = "differs"
	Untested Verdict = "not tested" // results are missing
)

// study is a paper, or a list of goals of this project, that results are compared with.
type study struct {
	name string // as in sweep files
	own  bool   // it is no paper
	rows func(*results.Folder) []Row
}

// studies lists them all.
func studies() []study {
	return []study{
		{"guarantees", false, onGrid(guarantees)},
		{"fairness", false, onGrid(fairness)},
		{"ibb", false, onGrid(ibb)},
		{"estimates", false, estimates},
		{"slack", true, slack},
		{autoPolicy, true, auto},
		{"sc15", false, sc15},
	}
}

// onGrid gives a study its results as a grid.
func onGrid(rows func(*grid) []Row) func(*results.Folder) []Row {
	return func(f *results.Folder) []Row { return rows(newGrid(f.Cells)) }
}

// Names returns the names of the papers, as in sweep files.
func Names() (names []string) {
	for _, s := range studies() {
		names = append(names, s.name)
	}
	return names
}

// named returns the study of that name; a study without a name if there is none.
func named(name string) study {
	for _, s := range studies() {
		if s.name == name {
			return s
		}
	}
	return study{}
}

// OwnGoals reports whether what goes by this name is no paper, but goals of this project.
func OwnGoals(name string) bool { return named(name).own }

// Of returns the rows for a folder of results; none if it names no paper.
func Of(f *results.Folder) ([]Row, error) {
	paper := f.Manifest.Paper
	if paper == "" {
		return nil, nil
	}
	s := named(paper)
	if s.rows == nil {
		return nil, fmt.Errorf("unknown paper %q: choose one of %s", paper, strings.Join(Names(), ", "))
	}
	return s.rows(overSeeds(f)), nil
}

// overSeeds returns the results with means over the seeds in the place of each.
func overSeeds(f *results.Folder) *results.Folder {
	averaged := *f
	averaged.Cells = results.OverSeeds(f.Cells)
	return &averaged
}

// scheduler is a policy and its order.
type scheduler struct{ policy, order string }

func (s scheduler) String() string {
	if s.order == fcfs {
		return s.policy
	}
	return s.policy + "-" + s.order
}

// fcfs is the default order.
const fcfs = "fcfs"

var (
	conservative = scheduler{"conservative", fcfs} //nolint:gochecknoglobals // a constant
	easy         = scheduler{"easy", fcfs}         //nolint:gochecknoglobals // a constant
)

// grid finds results by trace, scheduler and load. Of results that differ only in estimate model,
// it has the first.
type grid struct {
	traces []string // in the order of the sweep
	loads  []float64
	cells  map[cellKey]*results.Cell
}

type cellKey struct {
	trace string
	scheduler
	load float64
}

func newGrid(cells []results.Cell) *grid {
	g := &grid{cells: map[cellKey]*results.Cell{}}
	for i := range cells {
		c := &cells[i]
		order := c.Order
		if order == "fifo" || order == "" {
			order = fcfs
		}
		key := cellKey{c.Trace, scheduler{c.Policy, order}, c.Load}
		if g.cells[key] != nil { // another estimate model; the paper's is first
			continue
		}
		g.cells[key] = c
		if !slices.Contains(g.traces, c.Trace) {
			g.traces = append(g.traces, c.Trace)
		}
		if !slices.Contains(g.loads, c.Load) {
			g.loads = append(g.loads, c.Load)
		}
	}
	slices.Sort(g.loads)
	return g
}

// value returns a metric at the trace's own load.
func (g *grid) value(trace string, s scheduler, metric string) (float64, bool) {
	return g.at(trace, s, 1, metric)
}

func (g *grid) at(trace string, s scheduler, load float64, metric string) (float64, bool) {
	c := g.cells[cellKey{trace, s, load}]
	if c == nil {
		return 0, false
	}
	v, ok := c.Metrics[metric]
	return v, ok
}

// improvement returns by how much a metric is better under s than under base, as a share of the
// base's, at the trace's own load. It is 0 if both are 0, and unknown (false) if only the base's
// is, or a result is missing.
func (g *grid) improvement(trace string, s, base scheduler, metric string) (float64, bool) {
	x, ok := g.value(trace, s, metric)
	b, baseOK := g.value(trace, base, metric)
	switch {
	case !ok || !baseOK || b == 0 && x != 0:
		return 0, false
	case b == 0:
		return 0, true
	default:
		return (b - x) / b, true
	}
}

// tally is the number of traces on which a statement holds, of those for which that is known, and
// the traces on which it does not.
type tally struct {
	holds, total int
	except       []string
}

// count counts the traces on which a statement holds, as the callback says. Traces for which that
// is not known are left out.
func (g *grid) count(holds func(trace string) (yes, known bool)) (t tally) {
	for _, trace := range g.traces {
		yes, known := holds(trace)
		if !known {
			continue
		}
		t.total++
		if yes {
			t.holds++
		} else {
			t.except = append(t.except, trace)
		}
	}
	return t
}

// better counts the traces on which a metric is better under s than under the base.
func (g *grid) better(s, base scheduler, metric string) tally {
	return g.count(func(trace string) (bool, bool) {
		i, known := g.improvement(trace, s, base, metric)
		return i > 0, known
	})
}

func (t tally) String() string {
	text := fmt.Sprintf("%d of %d", t.holds, t.total)
	if len(t.except) > 0 && len(t.except) <= t.total/2+1 {
		text += " (not " + strings.Join(t.except, ", ") + ")"
	}
	return text
}

// onlyExcept judges a statement that, by the paper, holds on all traces but the given ones. It
// agrees partly if there are few other exceptions.
func (t tally) onlyExcept(traces ...string) Verdict {
	wrong := 0
	for _, trace := range t.except {
		if !slices.Contains(traces, trace) {
			wrong++
		}
	}
	switch {
	case t.total == 0:
		return Untested
	case wrong == 0:
		return Agrees
	case 4*wrong <= t.total:
		return Partly
	default:
		return Differs
	}
}

// percent prints a share as a percentage with a plus or minus sign; below 1 % with two decimals,
// else with one.
func percent(share float64) string {
	if math.Abs(share) < 0.01 && share != 0 {
		return fmt.Sprintf("%+.2f %%", 100*share)
	}
	return fmt.Sprintf("%+.1f %%", 100*share)
}

// pair returns a scheduler's improvement over Conservative on one trace, as text and as a share;
// false if it is unknown.
func (g *grid) pair(trace string, s scheduler, metric string) (string, float64, bool) {
	i, ok := g.improvement(trace, s, conservative, metric)
	if !ok {
		return "", 0, false
	}
	return fmt.Sprintf("%v %s", s, percent(i)), i, true
}

// because sets the row's likely cause, unless the results agree. If they are missing it says so
// instead.
func (r Row) because(why string) Row {
	switch r.Verdict {
	case Partly, Differs:
		r.Why = why
	case Untested:
		r.Why = "the results needed are not there"
	case Agrees:
	}
	return r
}
