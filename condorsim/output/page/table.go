package page

import (
	"encoding/csv"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
)

// Table is a table of the report, which can also be written as CSV.
type Table struct {
	// Name is the name of its file, without extension.
	Name, Title, Caption string
	Columns              []Column
	Rows                 [][]Value
}

// Column is the header of a column.
type Column struct {
	Title, Unit string
	Number      bool // aligned to the right, sorted by size
	First       bool // shown at first, where readers choose among many columns
}

// Value is an entry of a table.
type Value struct {
	Text string // as in CSV
	// Show is what the page shows; "": Text.
	Show string
	Best bool // the best of its row
	// Mark is the kind of a verdict: good, partly, bad or open; "" for none.
	Mark   string
	number float64
	half   *float64 // half the width of the 95 % interval; nil: there is none
}

// within gives a number half the width of its interval.
func (v Value) within(half float64) Value {
	v.half = &half
	v.Show += "\u202f±\u202f" + shown(half)
	return v
}

// Text returns the entry for a text.
func Text(text string) Value { return Value{Text: text, number: math.NaN()} }

// Number returns an entry that is shown with about four digits; NaN stands for a missing value.
func Number(v float64) Value {
	if math.IsNaN(v) {
		return missing()
	}
	return Value{Text: strconv.FormatFloat(v, 'f', -1, 64), Show: shown(v), number: v}
}

// load returns the entry for a load, written as in the sweep's file.
func load(v float64) Value { return Value{Text: number(v), number: v} }

// missing returns the entry for a missing value.
func missing() Value { return Value{Text: "missing", Show: "–", number: math.NaN()} }

// Sort returns the number by which the page's script sorts the entry; "" if it is no number.
func (v Value) Sort() string {
	if math.IsNaN(v.number) {
		return ""
	}
	return strconv.FormatFloat(v.number, 'g', -1, 64)
}

// Cell returns the text that the page shows for the entry.
func (v Value) Cell() string {
	if v.Show != "" {
		return v.Show
	}
	return v.Text
}

// shown writes a number for people, with commas between thousands.
func shown(v float64) string {
	size := math.Abs(v)
	decimals := 0
	switch {
	case v == math.Trunc(v):
	case size < 0.001:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case size < 1:
		decimals = 4
	case size < 100:
		decimals = 2
	case size < 1000:
		decimals = 1
	}
	text := inwords.Grouped(size, decimals)
	if v < 0 {
		text = "−" + text
	}
	return text
}

// CSV writes the table as comma-separated values, with the units in the header. Texts that a
// spreadsheet would take for formulas have an apostrophe before them. Half the widths of intervals
// are columns of their own, after all others.
func (t Table) CSV(out io.Writer) error {
	rows := csv.NewWriter(out)
	var header, halves []string
	var with []int // columns that have intervals
	for i, c := range t.Columns {
		unit := ""
		if c.Unit != "" {
			unit = " [" + c.Unit + "]"
		}
		header = append(header, spreadsheet.Quote(c.Title)+unit)
		if slices.ContainsFunc(t.Rows, func(row []Value) bool { return row[i].half != nil }) {
			with = append(with, i)
			halves = append(halves, spreadsheet.Quote(c.Title)+" half width"+unit)
		}
	}
	if err := rows.Write(append(header, halves...)); err != nil {
		return err
	}
	for _, row := range t.Rows {
		var line []string
		for _, v := range row {
			if math.IsNaN(v.number) {
				line = append(line, spreadsheet.Quote(v.Text))
			} else {
				line = append(line, v.Text)
			}
		}
		for _, i := range with {
			half := ""
			if row[i].half != nil {
				half = number(*row[i].half)
			}
			line = append(line, half)
		}
		if err := rows.Write(line); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

// Tables returns all tables of the study, the extra ones first.
func (s *Study) Tables() []Table {
	all := append(slices.Clone(s.Extra), s.relatives()...)
	for _, m := range s.Measures {
		all = append(all, s.measured(m))
		if t, some := s.paired(m); some {
			all = append(all, t)
		}
		if s.compares(m) {
			all = append(all, s.improvements(m))
		}
	}
	return append(all, s.all())
}

// matrix returns a table with a row per group and a column per scheduler. The callback returns the
// entry for a group and a scheduler.
func (s *Study) matrix(unit string, value func(group, scheduler int) Value) Table {
	t := Table{Columns: []Column{{Title: "Trace"}}}
	loads, models := s.vary(func(g Group) any { return g.Load }), s.vary(func(g Group) any { return g.EstimateModel })
	if loads {
		t.Columns = append(t.Columns, Column{Title: "Load", Number: true})
	}
	if models {
		t.Columns = append(t.Columns, Column{Title: "Estimate model"})
	}
	for _, name := range s.Schedulers {
		t.Columns = append(t.Columns, Column{Title: name, Unit: unit, Number: true})
	}
	for i, g := range s.Groups {
		row := []Value{Text(g.Trace)}
		if loads {
			row = append(row, load(g.Load))
		}
		if models {
			row = append(row, Text(g.EstimateModel))
		}
		for j := range s.Schedulers {
			row = append(row, value(i, j))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measured returns the table of a measure, with the values' intervals. The best of a row is marked
// if it is better than each other one beyond chance.
func (s *Study) measured(m Measure) Table {
	intervals := false
	t := s.matrix(m.unit(), func(group, scheduler int) Value {
		v := Number(m.scaled(s.value(m, group, scheduler)))
		if half, ok := s.halfWidth(m, group, scheduler); ok {
			intervals = true
			v = v.within(m.scaled(half))
		}
		return v
	})
	t.Name, t.Title = fileName(m.Name), m.Label
	t.Caption = "As simulated" + s.meanOverSeeds() + s.jittered()
	if intervals {
		t.Caption += ", ± half the 95 % interval"
		if s.meanOverSeeds() == "" {
			t.Caption += " that follows from the weeks in which jobs were submitted"
		}
	}
	if m.Better == Neither {
		return t
	}
	if !intervals {
		t.Caption += "; no value is marked as the best, as none has an interval: that takes four seeds that differ, or " +
			"of a mean over jobs four weeks of them"
		return t
	}
	t.Caption += "; ★ is the " + [...]string{"", "lowest", "highest"}[m.Better] +
		" of the row, if the 95 % interval of its paired difference from each other one is on one side of 0"
	for group, row := range t.Rows {
		s.markBest(m, group, row[len(row)-len(s.Schedulers):])
	}
	return t
}

// improvements returns the table of improvements over the baseline.
func (s *Study) improvements(m Measure) Table {
	t := s.matrix("%", func(group, scheduler int) Value {
		v := Number(100 * s.improvement(m, group, scheduler))
		if !math.IsNaN(v.number) {
			v.Show = strings.Replace(strconv.FormatFloat(v.number, 'f', 1, 64), "-", "−", 1)
			if v.Show == "−0.0" {
				v.Show = "0.0"
			}
		}
		return v
	})
	t.Name, t.Title = fileName(m.Name)+"-improvement", m.Label+": improvement over "+s.Schedulers[s.Baseline]
	t.Caption = "In % of the baseline: " + m.formula() + ". Above 0 is better."
	return t
}

// formula returns the formula of a measure's improvements as text.
func (m Measure) formula() string {
	if m.Better == Higher {
		return "(value − baseline) / baseline, as more is better"
	}
	return "(baseline − value) / baseline"
}

func (s *Study) meanOverSeeds() string {
	if n := len(s.seeds()); n > 1 {
		return ", mean over " + strconv.Itoa(n) + " seeds"
	}
	return ""
}

// jittered says how the keys of orders were jittered.
func (s *Study) jittered() string {
	if text := s.Folder.Manifest.Cells.JitterText(); text != "" {
		return ", " + text
	}
	return ""
}

// all returns the table of all cells, with every metric.
func (s *Study) all() Table {
	t := Table{
		Name: "cells", Title: "All cells", Caption: "Every cell of the sweep with every metric",
		Columns: []Column{
			{Title: "Cell"},
			{Title: "State"},
			{Title: "Trace"},
			{Title: "Scheduler"},
			{Title: "Policy"},
			{Title: "Order"},
			{Title: "Options"},
			{Title: "Load", Number: true},
			{Title: "Estimate model"},
			{Title: "Seed", Number: true},
			{Title: "Jobs", Number: true},
			{Title: "Held", Unit: "jobs", Number: true},
			{Title: "Estimates unknown", Unit: "jobs", Number: true},
			{Title: "Estimates raised", Unit: "jobs", Number: true},
			{Title: "Slots", Number: true},
			{Title: "Cpus", Number: true},
			{Title: "Memory", Unit: "MiB", Number: true},
		},
	}
	for _, m := range s.Measures {
		t.Columns = append(t.Columns, Column{Title: m.Label, Unit: m.unit(), Number: true})
	}
	for _, k := range s.Folder.Manifest.Cells {
		row := []Value{
			Text(k.ID), Text("finished"), Text(k.Trace), Text(k.Scheduler), Text(k.Policy), Text(k.Order),
			Text(options(k.Options)),
			load(k.Load), Text(k.EstimateModel),
			{Text: strconv.FormatUint(k.Seed, 10), number: float64(k.Seed)},
		}
		at := slices.IndexFunc(s.Folder.Cells, func(c results.Cell) bool { return c.ID == k.ID })
		if at >= 0 {
			t.Rows = append(t.Rows, append(row, s.numbers(&s.Folder.Cells[at])...))
			continue
		}
		row[1] = Value{Text: "missing", Mark: "bad", number: math.NaN()}
		for len(row) < len(t.Columns) {
			row = append(row, missing())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// numbers returns a finished cell's entries in the columns after its key: jobs, machine, metrics.
func (s *Study) numbers(c *results.Cell) []Value {
	row := []Value{
		Number(float64(c.Jobs)), Number(float64(c.Held)), Number(float64(c.Cleaning.EstimateUnknown)),
		Number(float64(c.Cleaning.EstimateRaised)), Number(float64(c.Machine.Slots)),
		Number(float64(c.Machine.Cpus)), Number(float64(c.Machine.Memory)),
	}
	for _, m := range s.Measures {
		v, ok := c.Metrics[m.Name]
		if !ok {
			v = math.NaN()
		}
		row = append(row, Number(m.scaled(v)))
	}
	return row
}

// options writes a scheduler's options as text.
func options(given map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		all = append(all, name+"="+given[name])
	}
	return strings.Join(all, " ")
}
