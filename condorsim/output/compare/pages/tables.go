package pages

import (
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// beyond says what stars and intervals are.
const beyond = "± is half the 95 % interval of the paired difference, from the weeks in which jobs came; ✱ is beyond chance. " +
	"Each interval holds by itself: of twenty, one misses by chance."

// measures returns the table of measures side by side.
func measures(all []compare.Measure, a, b string) page.Table {
	t := page.Table{
		Name: "measures", Title: "Measures", Caption: beyond, Columns: []page.Column{
			{Title: "Measure"},
			{Title: "Unit"},
			{Title: a, Number: true},
			{Title: b, Number: true},
			{Title: "Difference", Number: true},
			{Title: "Change", Unit: "%", Number: true},
		},
	}
	for i := range all {
		m := &all[i]
		t.Rows = append(t.Rows, append([]page.Value{page.Text(m.Label)}, beside(m)...))
	}
	return t
}

// beside returns the entries of a measure: its unit, both sides, difference and change.
func beside(m *compare.Measure) []page.Value {
	factor, unit := scale(m.Unit)
	digits := max(decimals(factor*m.A), decimals(factor*m.B))
	if unit == "s" {
		digits = min(1, max(digits, decimals(m.Difference)))
	}
	value := func(v float64) page.Value {
		entry := page.Number(factor * v)
		entry.Show = written(factor*v, digits, false)
		return entry
	}
	var half *float64
	if m.HalfWidth != nil {
		half = new(factor * *m.HalfWidth)
	}
	return []page.Value{
		page.Text(unit), value(m.A), value(m.B), difference(factor*m.Difference, half, digits, m.Sure()), change(m.A, m.B),
	}
}

// groups returns the table of the users, widths or hours whose waits differ most.
func groups(title, name string, all compare.Groups, a, b string) page.Table {
	t := page.Table{
		Name: "by-" + name, Title: title + " whose waits differ most", Columns: []page.Column{
			{Title: name},
			{Title: "Jobs", Number: true},
			{Title: "Used", Unit: "cpu h", Number: true},
			{Title: "Mean wait, " + a, Unit: "s", Number: true},
			{Title: b, Unit: "s", Number: true},
			{Title: "Difference", Unit: "s", Number: true},
			{Title: "All waits", Unit: "h", Number: true},
		},
	}
	if all.Of > len(all.Rows) {
		t.Caption = fmt.Sprintf("These are %d of %s.", len(all.Rows), inwords.Whole(all.Of))
	}
	for i := range all.Rows {
		g := &all.Rows[i]
		t.Rows = append(t.Rows, []page.Value{
			page.Text(g.Name), whole(g.Jobs), whole(int64(math.Round(g.CPUSeconds / 3600))), seconds(g.A), seconds(g.B),
			difference(g.Difference, g.HalfWidth, min(1, decimals(g.Difference)), g.Sure()),
			difference(g.Total/3600, nil, min(2, decimals(g.Total/3600)), false),
		})
	}
	return t
}

// jobs returns the table of those who gained or lost most.
func (p *Page) jobs(title string, all []compare.Job, a, b string) page.Table {
	t := page.Table{
		Name: "jobs", Title: title, Columns: []page.Column{
			{Title: "Job"},
			{Title: "User"},
			{Title: "Cpus", Number: true},
			{Title: "Run", Unit: "s", Number: true},
			{Title: "Submitted"},
			{Title: "Wait, " + a, Unit: "s", Number: true},
			{Title: b, Unit: "s", Number: true},
			{Title: "Difference", Unit: "s", Number: true},
		},
	}
	for _, j := range all {
		t.Rows = append(t.Rows, []page.Value{
			page.Text(j.Name), page.Text(j.User), whole(j.Cpus), whole(j.Run), page.Text(p.Clock.Text(j.Submit)), whole(j.A), whole(j.B),
			signed(j.Difference),
		})
	}
	return t
}

// waiting returns the table of the jobs that waited when a start differed first.
func (p *Page) waiting(f *compare.First, a, b string) page.Table {
	t := page.Table{
		Name: "waiting", Title: "Who waited at " + p.Clock.Text(f.At) + ", when the first start differs", Columns: []page.Column{
			{Title: "Job"},
			{Title: "User"},
			{Title: "Cpus", Number: true},
			{Title: "Requested", Unit: "s", Number: true},
			{Title: "Submitted"},
			{Title: "Start, " + a},
			{Title: b},
		},
	}
	start := func(at *int64) page.Value {
		if at == nil {
			return page.Text("–")
		}
		text := p.Clock.Text(*at)
		if *at == f.At {
			text += " (then)"
		}
		return page.Text(text)
	}
	for _, j := range f.Waiting {
		t.Rows = append(t.Rows, []page.Value{
			page.Text(j.Name), page.Text(j.User), whole(j.Cpus), estimate(j.Estimate), page.Text(p.Clock.Text(j.Submit)),
			start(j.StartA), start(j.StartB),
		})
	}
	return t
}

// running returns the table of the jobs that ran when a start differed first.
func (p *Page) running(f *compare.First) page.Table {
	t := page.Table{
		Name: "running", Title: "Who ran then, the widest first", Columns: []page.Column{
			{Title: "Job"},
			{Title: "User"},
			{Title: "Cpus", Number: true},
			{Title: "Requested", Unit: "s", Number: true},
			{Title: "Since"},
			{Title: "Until"},
		},
	}
	for _, j := range f.Running {
		since, until := "–", "–"
		if j.StartA == nil {
			j.StartA, j.EndA = j.StartB, j.EndB
		}
		if j.StartA != nil {
			since = p.Clock.Text(*j.StartA)
		}
		if j.EndA != nil {
			until = p.Clock.Text(*j.EndA)
		}
		t.Rows = append(t.Rows, []page.Value{
			page.Text(j.Name), page.Text(j.User), whole(j.Cpus), estimate(j.Estimate), page.Text(since), page.Text(until),
		})
	}
	return t
}

// estimate returns an entry for a requested time, which may be unknown.
func estimate(v int64) page.Value {
	if v == 0 {
		return page.Number(math.NaN())
	}
	return whole(v)
}
