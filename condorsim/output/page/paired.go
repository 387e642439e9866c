package page

import (
	"math"
	"strconv"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// markBest marks the best of a group's values, one for each scheduler, if it is better than each of
// the others that are there beyond chance: by the paired difference, see [results.Pair].
func (s *Study) markBest(m Measure, group int, values []Value) {
	best := -1
	for i, v := range values {
		if !math.IsNaN(v.number) && (best < 0 || m.compare(v.number, values[best].number) < 0) {
			best = i
		}
	}
	others := 0
	for i, v := range values {
		if i == best || math.IsNaN(v.number) {
			continue
		}
		d, ok := results.Pair(s.cells[place{group, best}], s.cells[place{group, i}], m.Name)
		if !ok || !d.Sure() {
			return
		}
		others++
	}
	if others > 0 {
		values[best].Best = true
	}
}

// paired returns the table of a measure's comparisons; false if it has none.
func (s *Study) paired(m Measure) (Table, bool) {
	t := Table{
		Name: fileName(m.Name) + "-paired", Title: m.Label + ": paired differences",
		Caption: "The scheduler's value less that of the other one on the same workload, ± half the 95 % interval (paired " +
			"t) by the pairs of weeks or seeds. If the interval has 0 in it, chance alone may make the difference",
		Columns: []Column{{Title: "Trace"}},
	}
	loads, models := s.vary(func(g Group) any { return g.Load }), s.vary(func(g Group) any { return g.EstimateModel })
	if loads {
		t.Columns = append(t.Columns, Column{Title: "Load", Number: true})
	}
	if models {
		t.Columns = append(t.Columns, Column{Title: "Estimate model"})
	}
	t.Columns = append(t.Columns, Column{Title: "Scheduler"}, Column{Title: "Against"},
		Column{Title: "Difference", Unit: m.unit(), Number: true}, Column{Title: "Pairs of", Number: true})
	for _, c := range s.Comparisons {
		if c.Measure != m.Name {
			continue
		}
		row := []Value{Text(c.Trace)}
		if loads {
			row = append(row, load(c.Load))
		}
		if models {
			row = append(row, Text(c.EstimateModel))
		}
		pairs := Text(strconv.Itoa(c.Pairs) + " " + string(c.Sample))
		pairs.number = float64(c.Pairs)
		pairs.Show = pairs.Text
		t.Rows = append(t.Rows, append(row, Text(c.Scheduler), Text(c.Against),
			Number(m.scaled(c.Difference)).within(m.scaled(c.HalfWidth)), pairs))
	}
	return t, len(t.Rows) > 0
}
