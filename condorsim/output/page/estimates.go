package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// estimated finds the schedulers of a study by the estimator that they plan run times with, for
// figures like those of Tang et al. (IPDPS 2010).
type estimated struct {
	// bases are the schedulers that were run with several estimators, by their labels with
	// requested times; estimators are the names of all their estimators, requested first, then in
	// the order of the sweep.
	bases, estimators []string
	// at is the index in Study.Schedulers, by base and estimator.
	at map[[2]string]int
}

// The names of estimators. Others are compared with requested. mix, with a number from 0 to 1, lies
// between requested times and accurate ones.
const (
	requested = "requested"
	accurate  = "accurate"
	mix       = "mix:"
)

// estimated groups the schedulers by estimator; nil if none was run with several estimators.
func (s *Study) estimated() *estimated {
	e := &estimated{at: map[[2]string]int{}}
	all := map[string][]string{} // estimators of each base
	var bases []string
	names := s.baseNames()
	for _, k := range s.Folder.Manifest.Cells {
		base, estimator := names[baseOf(k)], k.Estimator()
		if _, known := e.at[[2]string{base, estimator}]; known {
			continue
		}
		e.at[[2]string{base, estimator}] = slices.Index(s.Schedulers, k.Scheduler)
		if all[base] == nil {
			bases = append(bases, base)
		}
		all[base] = append(all[base], estimator)
	}
	for _, base := range bases {
		if len(all[base]) == 1 {
			continue
		}
		e.bases = append(e.bases, base)
		for _, estimator := range all[base] {
			if estimator != requested && !slices.Contains(e.estimators, estimator) {
				e.estimators = append(e.estimators, estimator)
			}
		}
	}
	if len(e.bases) == 0 {
		return nil
	}
	e.estimators = slices.Insert(e.estimators, 0, requested)
	return e
}

// baseNames returns the names of schedulers without their estimators, by what baseOf returns: the
// sweep's label of the scheduler with requested times, else the description of baseOf itself.
func (s *Study) baseNames() map[string]string {
	names := map[string]string{}
	for _, k := range s.Folder.Manifest.Cells {
		base := baseOf(k)
		if name := strings.TrimSuffix(k.Scheduler, "-"+requested); k.Estimator() == requested {
			names[base] = name
		}
		names[base] = cmp.Or(names[base], base)
	}
	return names
}

// baseOf describes a scheduler without its estimator, such as "easy-sjf depth=4".
func baseOf(k results.Key) string {
	name := k.Policy
	if k.Order != "fcfs" {
		name += "-" + k.Order
	}
	return strings.TrimSpace(name + " " + results.OptionsText(k.Options))
}

// without returns the names of the estimators that begin with none of the given prefixes.
func (e *estimated) without(kinds ...string) []string {
	return slices.DeleteFunc(slices.Clone(e.estimators), func(name string) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(name, kind) })
	})
}

// accuracy draws, for each trace, how R, run time over requested time, is distributed; nil if the
// study does not compare estimators.
func (s sketch) accuracy() *chart.Figure {
	if s.estimates == nil {
		return nil
	}
	var traces []string
	var curves [][]chart.Point
	for _, c := range s.Folder.Cells {
		if len(c.Series.Accuracy) == 0 || slices.Contains(traces, c.Trace) {
			continue
		}
		traces, curves = append(traces, c.Trace), append(curves, cumulative(c.Series.Accuracy))
	}
	if len(traces) == 0 {
		return nil
	}
	return chart.Lines(chart.Lined{
		Name: "accuracy", Title: "Accuracy of the requested times", Scope: "trace", Note: s.partial(), Width: s.width,
		Series: traces, PerRow: 1, Height: 250,
		Alt: "For each trace, the share of the jobs whose run time over requested time, R, is no greater than " +
			"the number on the axis.",
		Panels: []chart.Panel{{
			Across: chart.Axis{Max: 1}, Up: chart.Axis{Unit: chart.Percent, Max: 1}, Curves: curves,
			AcrossIs: "R = run time / requested time", UpIs: "jobs of no greater R",
		}},
	})
}

// cumulative returns the curve of a histogram's running sum: at the end of each bin, the share of
// all counts that are in it or in a bin before.
func cumulative(counts []int) []chart.Point {
	all := 0
	for _, n := range counts {
		all += n
	}
	curve, sum := []chart.Point{{}}, 0
	for i, n := range counts {
		sum += n
		curve = append(curve, chart.Point{
			Across: float64(i+1) / float64(len(counts)),
			Up:     float64(sum) / float64(max(all, 1)),
		})
	}
	return curve
}

// adjusted draws by how much each estimator improves a measure over requested times, all else
// equal; nil if there is nothing to compare.
func (s sketch) adjusted(m Measure) *chart.Figure {
	if s.estimates == nil || m.Better == Neither {
		return nil
	}
	g := chart.Grouped{
		Name: "estimates-" + fileName(m.Name), Title: m.Label + ": improvement over requested times",
		Scope: "estimator", Note: s.partial(), Width: s.width,
		Alt: "Bars for each scheduler and trace, by estimator: " + m.formula() +
			", where the baseline is the same scheduler with requested times. Above 0 is better.",
		Series: s.estimates.without(mix), Unit: chart.Percent, Skip: 0, Low: -cut, High: cut,
	}
	if len(g.Series) < 2 {
		return nil
	}
	for i, group := range s.Groups {
		for _, base := range s.estimates.bases {
			values, tips := make([]float64, len(g.Series)), make([]string, len(g.Series))
			reference, known := s.estimates.at[[2]string{base, requested}]
			for n, estimator := range g.Series {
				values[n] = math.NaN()
				if own, ok := s.estimates.at[[2]string{base, estimator}]; ok && known {
					values[n] = s.improvementOver(m, i, own, reference)
					tips[n] = fmt.Sprintf("%s, %s on %s\n%s\n%s instead of %s", base, estimator, group.Label,
						chart.Percent.Format(values[n]), m.format(s.value(m, i, own)),
						m.format(s.value(m, i, reference)))
				}
			}
			g.Groups, g.Over, g.Values, g.Tips = append(g.Groups, base), append(g.Over, group.Label),
				append(g.Values, values), append(g.Tips, tips)
		}
	}
	return barsOf(g)
}

// mixed draws a measure against a, for the estimators mix:a from requested times (a = 0) to
// accurate ones (a = 1), with a panel for each group; nil if there are fewer than three values of
// a.
func (s sketch) mixed(m Measure) *chart.Figure {
	if s.estimates == nil {
		return nil
	}
	l := chart.Lined{
		Name: "accuracy-" + fileName(m.Name), Title: m.Label + " over the accuracy of estimates", Scope: "base",
		Note: s.partial(), Width: s.width, PerRow: 2, Height: 230,
		Series: s.estimates.bases,
		Alt: "A curve for each scheduler, a panel for each trace: estimates go from what is requested, at " +
			"0, to the run time, at 1.",
	}
	steps := s.estimates.steps()
	if len(steps) < 3 {
		return nil
	}
	for i, group := range s.Groups {
		p := chart.Panel{
			Title: group.Label, Across: chart.Axis{Max: 1},
			AcrossIs: "a: estimate = a · run time + (1 − a) · requested time", UpIs: m.upIs(), Dots: true,
		}
		low, high, there := 0.0, 0.0, false
		for _, base := range s.estimates.bases {
			var curve []chart.Point
			for _, step := range steps {
				at, ok := s.estimates.at[[2]string{base, step.estimator}]
				if !ok {
					continue
				}
				if v := s.value(m, i, at); !math.IsNaN(v) {
					curve, there = append(curve, chart.Point{Across: step.a, Up: v}), true
					low, high = min(low, v), max(high, v)
				}
			}
			p.Curves = append(p.Curves, curve)
		}
		if there {
			p.Up = chart.NewAxis(chart.Linear, m.Unit, low, high)
			l.Panels = append(l.Panels, p)
		}
	}
	if len(l.Panels) == 0 {
		return nil
	}
	return chart.Lines(l)
}

// step is an estimator between requested times (a = 0) and run times (a = 1).
type step struct {
	estimator string
	a         float64
}

// steps returns the estimators of the study that are such steps, by a.
func (e *estimated) steps() (all []step) {
	for _, estimator := range e.estimators {
		text, between := strings.CutPrefix(estimator, mix)
		a, err := strconv.ParseFloat(text, 64)
		switch {
		case estimator == requested:
			all = append(all, step{estimator, 0})
		case estimator == accurate:
			all = append(all, step{estimator, 1})
		case between && err == nil:
			all = append(all, step{estimator, a})
		}
	}
	slices.SortStableFunc(all, func(x, y step) int { return cmp.Compare(x.a, y.a) })
	return all
}

// starts draws, for each scheduler and estimator, the shares of the jobs that started from the top
// of the queue, past a waiting job, and by backfilling; nil if the study does not compare
// estimators.
func (s sketch) starts(group int) *chart.Figure {
	if s.estimates == nil {
		return nil
	}
	ways := []struct{ metric, name string }{
		{"share_from_top", "from the top of the queue"},
		{"share_not_from_top", "past a waiting job, not by backfilling"},
		{"share_backfilled", "by backfilling"},
	}
	g := chart.Grouped{
		Name: "starts-" + s.Groups[group].ID, Title: "How jobs came to start: " + s.Groups[group].Label, Scope: "start",
		Note: s.partial(), Width: s.width,
		Alt:  "For each scheduler and estimator, the shares of the jobs that started in each way.",
		Unit: chart.Percent, Skip: -1, High: 1,
	}
	for _, w := range ways {
		g.Series = append(g.Series, w.name)
	}
	for _, base := range s.estimates.bases {
		for _, estimator := range s.estimates.without(mix) {
			at, ok := s.estimates.at[[2]string{base, estimator}]
			c, there := s.cell(group, at)
			if !ok || !there {
				continue
			}
			values, tips := make([]float64, len(ways)), make([]string, len(ways))
			for i, w := range ways {
				v, ok := c.Metrics[w.metric]
				if !ok {
					v = math.NaN()
				}
				values[i], tips[i] = v, fmt.Sprintf("%s, %s\n%s %s", base, estimator, chart.Percent.Format(v), w.name)
			}
			g.Groups, g.Over, g.Values, g.Tips = append(g.Groups, estimator), append(g.Over, base),
				append(g.Values, values), append(g.Tips, tips)
		}
	}
	return barsOf(g)
}
