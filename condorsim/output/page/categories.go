package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// heat draws, for each scheduler, a heat map of a value of each category of jobs, by width and
// length; nil if no cell has categories.
func (s sketch) heat(group int, name, title string, unit chart.Unit, cells []metrics.Series,
	value func(metrics.Category) float64,
) *chart.Figure {
	widths, lengths := map[string]bool{}, map[string]bool{}
	for _, c := range cells {
		for _, category := range c.Categories {
			widths[category.Width], lengths[category.Length] = true, true
		}
	}
	if len(widths) == 0 {
		return nil
	}
	g := s.Groups[group]
	h := chart.Heated{
		Name: "categories-" + name + "-" + g.ID, Title: title + ": " + g.Label,
		Alt:  "A map for each scheduler: rows are classes of processors, columns classes of run times.",
		Note: s.partial(), Width: s.width,
		Rows: ascending(widths), Columns: ascending(lengths), RowsAre: "cpus", ColumnsAre: "run time", Unit: unit,
	}
	names := s.names()
	for i, c := range cells {
		if len(c.Categories) == 0 {
			continue
		}
		m := chart.Map{Title: names[i]}
		for range h.Rows {
			values := make([]float64, len(h.Columns))
			for j := range values {
				values[j] = math.NaN()
			}
			m.Values, m.Tips = append(m.Values, values), append(m.Tips, make([]string, len(h.Columns)))
		}
		for _, k := range c.Categories {
			row, column := slices.Index(h.Rows, k.Width), slices.Index(h.Columns, k.Length)
			if k.Jobs > 0 {
				m.Values[row][column] = value(k)
				m.Tips[row][column] = fmt.Sprintf("%s\n%d jobs of %s cpus and %s\nmean wait %s\n"+
					"mean bounded slowdown %s", names[i], k.Jobs, k.Width, k.Length, chart.Seconds.Format(k.MeanWait),
					chart.Number.Format(k.MeanBoundedSlowdown))
			}
		}
		h.Maps = append(h.Maps, m)
	}
	return chart.Heat(h)
}

// classes draws bars of mean wait, uwait and bounded slowdown for each class of widths, and for
// each class of lengths, by estimator; none if the study does not compare estimators.
func (s sketch) classes(group int) (figures []*chart.Figure) {
	if s.estimates == nil {
		return nil
	}
	for _, grouping := range []struct {
		name, label string
		class       func(metrics.Category) string
	}{
		{"width", "requested cpus", func(c metrics.Category) string { return c.Width }},
		{"length", "run time", func(c metrics.Category) string { return c.Length }},
	} {
		for _, v := range []struct {
			name, title string
			unit        chart.Unit
			value       func(metrics.Category) float64
		}{
			{"wait", "Mean wait", chart.Seconds, func(c metrics.Category) float64 { return c.MeanWait }},
			{"uwait", "Mean uwait (wait / requested time)", chart.Number, func(c metrics.Category) float64 {
				return c.MeanUwait
			}},
			{"slowdown", "Mean bounded slowdown", chart.Number, func(c metrics.Category) float64 {
				return c.MeanBoundedSlowdown
			}},
		} {
			figures = append(figures, s.byClass(group, chart.Grouped{
				Name: grouping.name + "-" + v.name, Title: v.title + " by " + grouping.label, Unit: v.unit,
			}, grouping.class, v.value))
		}
	}
	return figures
}

// byClass draws one of these charts. The callback class returns a category's class of widths, or of
// lengths; the callback of returns the value to draw.
func (s sketch) byClass(group int, g chart.Grouped, class func(metrics.Category) string,
	value func(metrics.Category) float64,
) *chart.Figure {
	where := s.Groups[group]
	g.Name, g.Title, g.Scope, g.Note, g.Width = g.Name+"-"+where.ID, g.Title+": "+where.Label, "estimator",
		s.partial(), s.width
	g.Alt, g.Skip, g.High = "Bars for each class and scheduler, by estimator.", -1, math.Inf(1)
	g.Series = s.estimates.without(mix, "S0", "S1") // estimators that are the same for all uses
	found := map[string]bool{}
	for scheduler := range s.Schedulers {
		c, _ := s.cell(group, scheduler)
		for _, category := range c.Series.Categories {
			found[class(category)] = true
		}
	}
	for _, base := range s.estimates.bases {
		for _, name := range ascending(found) {
			values, tips := make([]float64, len(g.Series)), make([]string, len(g.Series))
			for i, estimator := range g.Series {
				values[i] = math.NaN()
				at, ok := s.estimates.at[[2]string{base, estimator}]
				c, there := s.cell(group, at)
				if !ok || !there {
					continue
				}
				if mean, jobs := ofClass(c.Series.Categories, name, class, value); jobs > 0 {
					values[i] = mean
					tips[i] = fmt.Sprintf("%s, %s\n%d jobs of %s\n%s", base, estimator, jobs, name,
						g.Unit.Format(values[i]))
				}
			}
			g.Groups, g.Over, g.Values, g.Tips = append(g.Groups, name), append(g.Over, base), append(g.Values, values),
				append(g.Tips, tips)
		}
	}
	return barsOf(g)
}

// ofClass returns the mean of a value over the jobs of the class with this name, and how many jobs
// these are.
func ofClass(categories []metrics.Category, name string, class func(metrics.Category) string,
	value func(metrics.Category) float64,
) (mean float64, jobs int) {
	sum := 0.0
	for _, c := range categories {
		if class(c) == name {
			sum, jobs = sum+value(c)*float64(c.Jobs), jobs+c.Jobs
		}
	}
	return sum / float64(max(jobs, 1)), jobs
}

// bound matches a number in the name of a class, with or without a unit of time.
var bound = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([smhdw]?)`)

// ascending sorts classes such as 5-8, 1-10m or 10m-1h by their first number. Its unit, if it has
// none, is that of the second number. A class that begins with < or ≤ comes before that number,
// with > or ≥ after it.
func ascending(classes map[string]bool) []string {
	size := func(class string) float64 {
		found := bound.FindAllStringSubmatch(class, 2)
		if found == nil {
			return math.Inf(1)
		}
		v, _ := strconv.ParseFloat(found[0][1], 64) // the expression matches only numbers
		unit := cmp.Or(found[0][2], found[len(found)-1][2])
		v *= map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}[unit]
		switch {
		case strings.HasPrefix(class, "<"), strings.HasPrefix(class, "≤"):
			return v - 0.5
		case strings.HasPrefix(class, ">"), strings.HasPrefix(class, "≥"):
			return v + 0.5
		}
		return v
	}
	all := slices.Sorted(maps.Keys(classes))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(size(a), size(b)) })
	return all
}
