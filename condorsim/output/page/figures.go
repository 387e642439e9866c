package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// Figures are all charts of the study.
type Figures struct {
	// Improvement, Load and Option have an entry for each of Study.Measures; nil if there is no such
	// chart. Improvement is over the baseline; Load and Option show the measure against the load,
	// and against the option of a policy in which schedulers differ.
	Improvement, Load, Option []*chart.Figure
	// Adjusted and Mixed have an entry for each measure, too: the effect of estimators, and of
	// their accuracy.
	Adjusted, Mixed []*chart.Figure
	// Accuracy is that of the requested times; nil if the study does not compare estimators.
	Accuracy *chart.Figure
	// Groups are the charts of each group: the distribution of waits, and so on.
	Groups [][]*chart.Figure
}

// All returns the figures in the order of the report.
func (f Figures) All() []*chart.Figure {
	all := slices.Concat([]*chart.Figure{f.Accuracy}, f.Improvement, f.Adjusted, f.Mixed, f.Load, f.Option)
	for _, figures := range f.Groups {
		all = append(all, figures...)
	}
	return slices.DeleteFunc(all, func(f *chart.Figure) bool { return f == nil })
}

// sketch is a study whose charts are drawn in one width.
type sketch struct {
	*Study
	width     float64
	estimates *estimated
	option    *varied
	drawn     []int // the schedulers that the charts of a group show
	scope     string
}

// Figures draws everything, as wide as [chart.Page] or [chart.Paper].
func (s *Study) Figures(width float64) Figures {
	var f Figures
	d := sketch{Study: s, width: width, estimates: s.estimated(), option: s.varied()}
	d.draw()
	f.Accuracy = d.accuracy()
	for _, m := range s.Measures {
		f.Improvement = append(f.Improvement, d.bars(m))
		f.Load = append(f.Load, d.overLoad(m))
		f.Option = append(f.Option, d.overOption(m))
		f.Adjusted = append(f.Adjusted, d.adjusted(m))
		f.Mixed = append(f.Mixed, d.mixed(m))
	}
	for i := range s.Groups {
		f.Groups = append(f.Groups, d.details(i))
	}
	return f
}

// most is how many schedulers can be told apart in a chart.
const most = 12

// draw chooses the schedulers for the charts of a group: usually all. If there are more than most,
// with several estimators, it chooses the baseline and the schedulers with requested, accurate and
// combined run times; charts by estimator show the others.
func (s *sketch) draw() {
	few := s.estimates != nil && len(s.Schedulers) > most
	if few {
		s.scope = "drawn"
	}
	some := []string{requested, accurate, "combined"}
	for i, name := range s.Schedulers {
		if !few || i == s.Baseline || slices.ContainsFunc(s.Folder.Manifest.Cells, func(k results.Key) bool {
			return k.Scheduler == name && slices.Contains(some, k.Estimator())
		}) {
			s.drawn = append(s.drawn, i)
		}
	}
}

// names returns the names of the chosen schedulers.
func (s sketch) names() (names []string) {
	for _, i := range s.drawn {
		names = append(names, s.Schedulers[i])
	}
	return names
}

// cut is where bars of improvements are cut off: at ±100 %.
const cut = 1.0

// compares reports whether a measure can improve over the baseline: there are several schedulers,
// and lower or higher values of the measure are better.
func (s *Study) compares(m Measure) bool { return len(s.Schedulers) > 1 && m.Better != Neither }

// bars draws a measure's improvement over the baseline; nil if there is nothing to compare.
func (s sketch) bars(m Measure) *chart.Figure {
	if !s.compares(m) {
		return nil
	}
	base := s.Schedulers[s.Baseline]
	g := chart.Grouped{
		Name: "improvement-" + fileName(m.Name), Title: m.Label + ": improvement over " + base, Scope: s.scope,
		Note: s.partial(), Width: s.width,
		Alt: "Bars for each trace and scheduler: " + m.formula() +
			". Above 0 is better. The table below has the numbers.",
		Series: s.names(), Unit: chart.Percent, Skip: slices.Index(s.drawn, s.Baseline), Low: -cut, High: cut,
	}
	for i, group := range s.Groups {
		if group.Variant == "" {
			g.Groups = append(g.Groups, group.Trace)
		} else {
			g.Groups, g.Over = append(g.Groups, group.Variant), append(g.Over, group.Trace)
		}
		values, tips := make([]float64, len(s.drawn)), make([]string, len(s.drawn))
		for at, j := range s.drawn {
			v := s.improvement(m, i, j)
			values[at] = v
			word := "better"
			if v < 0 {
				word = "worse"
			}
			tips[at] = fmt.Sprintf("%s on %s\n%s %s than %s\n%s instead of %s", s.Schedulers[j], group.Label,
				chart.Percent.Format(math.Abs(v)), word, base, m.format(s.value(m, i, j)),
				m.format(s.value(m, i, s.Baseline)))
		}
		g.Values, g.Tips = append(g.Values, values), append(g.Tips, tips)
	}
	return barsOf(g)
}

// barsOf draws bars; nil if no group has a value other than that of the skipped series.
func barsOf(g chart.Grouped) *chart.Figure {
	for _, values := range g.Values {
		for i, v := range values {
			if i != g.Skip && !math.IsNaN(v) {
				return chart.Bars(g)
			}
		}
	}
	return nil
}

// format writes a value with its unit.
func (m Measure) format(v float64) string {
	text := m.Unit.Format(v)
	if m.Of != "" {
		text += " " + m.Of
	}
	return text
}

// overLoad draws a measure against the load, with a panel for each trace and estimate model; nil if
// there is only one load.
func (s sketch) overLoad(m Measure) *chart.Figure {
	l := chart.Lined{
		Name: "load-" + fileName(m.Name), Title: m.Label + " over load", Note: s.partial(), Width: s.width,
		Series: s.Schedulers, PerRow: 2, Height: 230,
		Alt: "A curve for each scheduler, a panel for each trace. The table below has the numbers.",
	}
	done := map[[2]string]bool{}
	models := s.vary(func(g Group) any { return g.EstimateModel })
	for _, first := range s.Groups {
		which := [2]string{first.Trace, first.EstimateModel}
		if done[which] {
			continue
		}
		done[which] = true
		p, ok := s.overLoads(m, first)
		if !ok {
			continue
		}
		if models {
			p.Title += ", estimates " + first.EstimateModel
		}
		l.Panels = append(l.Panels, p)
	}
	if len(l.Panels) == 0 {
		return nil
	}
	return chart.Lines(l)
}

// overLoads returns the panel for a group and all groups that differ from it only in the load;
// false if these have only one load.
func (s sketch) overLoads(m Measure, group Group) (p chart.Panel, ok bool) {
	p = chart.Panel{
		Title: group.Trace, AcrossIs: "load, relative to the trace", UpIs: m.upIs(),
		Curves: make([][]chart.Point, len(s.Schedulers)), Dots: true,
	}
	loads, low, high := map[float64]bool{}, 0.0, 0.0
	for i, g := range s.Groups {
		if g.Trace != group.Trace || g.EstimateModel != group.EstimateModel {
			continue
		}
		loads[g.Load] = true
		for j := range s.Schedulers {
			if v := s.value(m, i, j); !math.IsNaN(v) {
				p.Curves[j] = append(p.Curves[j], chart.Point{Across: g.Load, Up: v})
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if len(loads) < 2 {
		return p, false
	}
	for _, c := range p.Curves {
		slices.SortFunc(c, byAcross)
	}
	all := slices.Sorted(maps.Keys(loads))
	p.Across = chart.Axis{Min: all[0], Max: all[len(all)-1], At: all}
	p.Up = chart.NewAxis(chart.Linear, m.Unit, low, high)
	return p, true
}

func byAcross(a, b chart.Point) int { return cmp.Compare(a.Across, b.Across) }

func (m Measure) upIs() string {
	if m.Of != "" {
		return m.Label + " [" + m.Of + "]"
	}
	return m.Label
}

// details returns the charts of the group with this index.
func (s sketch) details(group int) []*chart.Figure {
	cells := make([]metrics.Series, len(s.drawn))
	for i, scheduler := range s.drawn {
		if c, ok := s.cell(group, scheduler); ok {
			cells[i] = c.Series
		}
	}
	figures := []*chart.Figure{
		s.waits(group, cells),
		s.lined(group, "utilisation", "Utilisation over time", overSpans,
			s.overTime("", chart.Percent, "cpus in use", cells,
				func(c metrics.Series) []float64 { return c.Utilisation })),
		s.lined(group, "queue", "Queue length over time", overSpans,
			s.overTime("At most, in each span of time", chart.Number, "jobs waiting at once", cells,
				func(c metrics.Series) []float64 { return c.QueueMax }),
			s.overTime("Mean of each span", chart.Number, "jobs waiting", cells,
				func(c metrics.Series) []float64 { return c.Queue })),
		s.starts(group),
	}
	figures = append(figures, s.classes(group)...)
	figures = append(figures,
		s.heat(group, "wait", "Mean wait by width and length", chart.Seconds, cells,
			func(c metrics.Category) float64 { return c.MeanWait }),
		s.heat(group, "slowdown", "Mean bounded slowdown by width and length", chart.Number, cells,
			func(c metrics.Category) float64 { return c.MeanBoundedSlowdown }),
	)
	return slices.DeleteFunc(figures, func(f *chart.Figure) bool { return f == nil })
}

// overSpans says in words what the charts over time show.
const overSpans = "A curve for each scheduler, over a few hundred spans of time."

// lined draws a chart of a group, of the panels in which a curve has a point; nil if there are
// none.
func (s sketch) lined(group int, name, title, alt string, panels ...chart.Panel) *chart.Figure {
	panels = slices.DeleteFunc(panels, func(p chart.Panel) bool {
		return !slices.ContainsFunc(p.Curves, func(c []chart.Point) bool { return len(c) > 0 })
	})
	if len(panels) == 0 {
		return nil
	}
	g := s.Groups[group]
	if n := len(s.seeds()); n > 1 {
		title += " (first seed of " + strconv.Itoa(n) + ")"
	}
	return chart.Lines(chart.Lined{
		Name: name + "-" + g.ID, Title: title + ": " + g.Label, Alt: alt, Scope: s.scope, Note: s.partial(),
		Width: s.width, Series: s.names(), Panels: panels, PerRow: 2, Height: 250,
	})
}

// waits draws the empirical distribution of the waits under each chosen scheduler.
func (s sketch) waits(group int, cells []metrics.Series) *chart.Figure {
	curves, longest := make([][]chart.Point, len(cells)), 0.0
	for i, c := range cells {
		n := len(c.WaitQuantiles)
		for j, wait := range c.WaitQuantiles {
			if j == 0 {
				curves[i] = append(curves[i], chart.Point{Across: wait, Up: 0})
			}
			curves[i] = append(curves[i], chart.Point{Across: wait, Up: float64(j+1) / float64(n)})
			longest = max(longest, wait)
		}
	}
	for i := range curves {
		if len(curves[i]) > 0 {
			curves[i] = append(curves[i], chart.Point{Across: longest, Up: 1})
		}
	}
	return s.lined(group, "waits", "Distribution of waits",
		"For each scheduler, the share of the jobs that wait no longer than the time on the axis.", chart.Panel{
			Across: chart.NewAxis(chart.Log, chart.Seconds, 0, longest), Up: chart.Axis{Unit: chart.Percent, Max: 1},
			AcrossIs: "wait, logarithmic", UpIs: "jobs that wait no longer", Curves: curves,
		})
}

// overTime returns a panel that has, for each scheduler, the values of bins of time against the
// time since the first bin. The callback returns the bins of a cell.
func (s sketch) overTime(title string, unit chart.Unit, upIs string, cells []metrics.Series,
	values func(metrics.Series) []float64,
) chart.Panel {
	curves := make([][]chart.Point, len(cells))
	var begin int64 = math.MaxInt64
	for _, c := range cells {
		if len(values(c)) > 0 {
			begin = min(begin, c.Begin)
		}
	}
	last, high := 0.0, 0.0
	for i, c := range cells {
		for j, v := range values(c) {
			at := float64(c.Begin-begin) + (float64(j)+0.5)*float64(c.Step)
			curves[i] = append(curves[i], chart.Point{Across: at, Up: v})
			last, high = max(last, at+0.5*float64(c.Step)), max(high, v)
		}
	}
	up := chart.NewAxis(chart.Linear, unit, 0, high)
	if unit == chart.Percent {
		up = chart.Axis{Unit: unit, Max: max(1, high)}
	}
	return chart.Panel{
		Title: title, Across: chart.Axis{Unit: chart.Seconds, Max: last}, Up: up,
		AcrossIs: "time since the first submission", UpIs: upIs, Curves: curves,
	}
}
