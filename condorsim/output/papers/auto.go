package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// autoPolicy is the policy of a pool that chooses its own.
const autoPolicy = "auto"

// chosen compares one scheduler with policy auto with the best of all other schedulers, over all traces
// on which the results have both, with the same estimators.
type chosen struct {
	label string
	times []float64 // its mean bounded slowdown over that of the best, by trace
	where []string
}

// choosers returns the schedulers with policy auto, in the order of the results.
func choosers(f *results.Folder) (all []chosen) {
	const metric = "mean_bounded_slowdown"
	for i := range f.Cells {
		own := &f.Cells[i]
		if own.Policy != autoPolicy {
			continue
		}
		best := math.Inf(1)
		for k := range f.Cells {
			member := &f.Cells[k]
			if member.Policy != autoPolicy && member.Trace == own.Trace && estimators(member) == estimators(own) {
				best = min(best, member.Metrics[metric])
			}
		}
		if math.IsInf(best, 1) || best == 0 {
			continue
		}
		n := slices.IndexFunc(all, func(c chosen) bool { return c.label == own.Scheduler })
		if n < 0 {
			n, all = len(all), append(all, chosen{label: own.Scheduler})
		}
		all[n].times = append(all[n].times, own.Metrics[metric]/best)
		all[n].where = append(all[n].where, own.Trace)
	}
	return all
}

// estimators returns what tells a cell's estimators from others.
func estimators(c *results.Cell) string {
	if c.Estimates == nil {
		return ""
	}
	e := c.Estimates
	all := []string{strings.TrimPrefix(e.All, "requested"), e.Order, e.Backfill, e.Running}
	return strings.TrimRight(strings.Join(all, "/"), "/")
}

// auto checks the goals of a pool that chooses its own policy, which are this project's own.
func auto(f *results.Folder) (rows []Row) {
	all := choosers(f)
	if len(all) == 0 {
		all = []chosen{{label: autoPolicy}}
	}
	for _, c := range all {
		rows = append(rows,
			c.holds("its mean bounded slowdown is within 5 % of the best member's", 10,
				func(x float64) bool { return x <= 1.05 }),
			c.holds("it is lower than every member's", 4, func(x float64) bool { return x < 1 }),
			c.holds("it is at most 15 % above the best member's", 12, func(x float64) bool { return x <= 1.15 }))
	}
	return rows
}

// holds judges on how many traces a statement holds: of other numbers than twelve, the same share counts.
func (c chosen) holds(statement string, of12 int, test func(times float64) bool) Row {
	t := tally{total: len(c.times)}
	worst := 0
	for i, x := range c.times {
		if test(x) {
			t.holds++
		} else {
			t.except = append(t.except, c.where[i])
		}
		if x > c.times[worst] {
			worst = i
		}
	}
	r := Row{
		Statement: c.label + ": " + statement, Paper: fmt.Sprintf("on at least %d of 12 traces", of12), Verdict: Untested,
	}
	switch {
	case t.total == 0:
		return r.because("")
	case 12*t.holds >= of12*t.total:
		r.Verdict = Agrees
	case 2*12*t.holds >= of12*t.total:
		r.Verdict = Partly
	default:
		r.Verdict = Differs
	}
	r.Ours = fmt.Sprintf("%v; the most is %.2f times, %s", t, c.times[worst], c.where[worst])
	return r.because("an hour or a week shows little of what a member leaves to those who come later, and single " +
		"results are chancy")
}
