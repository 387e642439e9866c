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

	"github.com/condor-backfill/condor-backfill/condorsim/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
)

// heat is a value of the categories of jobs, a map for each scheduler.
func (s drawing) heat(group int, name, title string, unit chart.Unit, cells []metrics.Series, of func(metrics.Category) float64) *chart.Figure {
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
		Name: "categories-" + name + "-" + g.ID, Title: title + ": " + g.Label, Alt: "A map for each scheduler: rows are classes of processors, columns classes of run times.", Note: s.partial(), Width: s.width,
		Rows: ascending(widths), Columns: ascending(lengths), RowsAre: "cpus", ColumnsAre: "run time", Unit: unit,
	}
	for i, c := range cells {
		if len(c.Categories) == 0 {
			continue
		}
		m := chart.Map{Title: s.Schedulers[i]}
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
				m.Values[row][column] = of(k)
				m.Tips[row][column] = fmt.Sprintf("%s\n%d jobs of %s cpus and %s\nmean wait %s\nmean bounded slowdown %s", s.Schedulers[i], k.Jobs, k.Width, k.Length, chart.Seconds.Format(k.MeanWait), chart.Number.Format(k.MeanBoundedSlowdown))
			}
		}
		h.Maps = append(h.Maps, m)
	}
	return chart.Heat(h)
}

// bound is a number of a class, with a unit of time or without.
var bound = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([smhdw]?)`)

// ascending orders classes such as 5-8, 1-10m or 10m-1h by their first number, in
// the unit of the second if it has none itself; one that begins with < or ≤ is
// below it, with > or ≥ above.
func ascending(classes map[string]bool) []string {
	size := func(class string) float64 {
		found := bound.FindAllStringSubmatch(class, 2)
		if found == nil {
			return math.Inf(1)
		}
		v, _ := strconv.ParseFloat(found[0][1], 64) // the expression lets numbers through only
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
