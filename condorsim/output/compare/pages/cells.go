package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// cellMeasures are the measures of cells that people look at first; programs get all.
func cellMeasures() []string {
	return []string{
		"mean_wait", "p99_wait", "longest_wait", "area_weighted_response", "mean_bounded_slowdown", "processor_bounded_slowdown",
		"utilisation",
	}
}

// ofCells returns the section of a comparison of finished simulations.
func (p *Page) ofCells(c *compare.Cells) Section {
	a, b := p.labels(c.A, c.B)
	s := Section{Title: b + " against " + a, Sentences: []string{simulations(len(c.Rows)) + " in both."}}
	if c.Unlike {
		s.Sentences = append(s.Sentences, "The schedulers are not the same, and are compared with each other.")
	}
	for _, name := range cellMeasures() {
		t := page.Table{
			Name: name, Columns: []page.Column{
				{Title: "Cell"},
				{Title: "Scheduler, " + a},
				{Title: b},
				{Title: "Unit"},
				{Title: a, Number: true},
				{Title: b + " ", Number: true},
				{Title: "Difference", Number: true},
				{Title: "Change", Unit: "%", Number: true},
			},
		}
		for _, row := range c.Rows {
			at := slices.IndexFunc(row.Measures, func(m compare.Measure) bool { return m.Name == name })
			if at < 0 {
				continue
			}
			m := &row.Measures[at]
			t.Title = m.Label
			t.Rows = append(t.Rows, append([]page.Value{
				page.Text(row.Cell), page.Text(row.SchedulerA), page.Text(row.SchedulerB),
			}, beside(m)...))
		}
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	if len(s.Tables) == 0 {
		return s
	}
	s.Tables[len(s.Tables)-1].Caption = "± is half the 95 % interval of the paired difference, over the seeds or, where these " +
		"change nothing, from the weeks in which jobs came; ✱ is beyond chance."
	for _, only := range []struct {
		name  string
		cells []string
	}{{a, c.OnlyA}, {b, c.OnlyB}} {
		if len(only.cells) > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s in %s alone: %s.", simulations(len(only.cells)), only.name, few(only.cells)))
		}
	}
	for _, row := range c.Rows {
		if row.JobsA != row.JobsB {
			s.Notes = append(s.Notes, fmt.Sprintf("%s %s: %d jobs ran in %s and %d in %s; their measures are of different jobs.",
				row.Cell, row.SchedulerB, row.JobsA, a, row.JobsB, b))
		}
	}
	return s
}

// simulations says that so many are somewhere.
func simulations(n int) string {
	if n == 1 {
		return "1 simulation is"
	}
	return fmt.Sprintf("%d simulations are", n)
}

// few lists the first of some names.
func few(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}
