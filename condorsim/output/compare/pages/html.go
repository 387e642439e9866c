package pages

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

//go:embed assets
var assets embed.FS

//nolint:gochecknoglobals // parsed once
var body = template.Must(template.ParseFS(assets, "assets/compare.html"))

// sectionView is a section with its parts as HTML.
type sectionView struct {
	Section

	A, B   string          // what both sides are called
	Whole  []template.HTML // the tables, with their titles
	Tables []template.HTML
	Charts []template.HTML
	Dots   template.JS // the jobs by their waits; "": there are none
	Count  int         // of the jobs
}

// HTML writes the comparisons as one page, which needs no network and can be printed.
func (p *Page) HTML(out io.Writer) error {
	view := map[string]any{"Notes": p.Notes, "Command": p.Command, "Version": p.Version}
	var all []sectionView
	for i, s := range p.Sections() {
		s.ID = fmt.Sprint("c", i+1)
		one, err := p.viewOf(s)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	if len(p.Jobs) > 1 {
		view["Together"] = svg(p.cumulated(p.Jobs))
	}
	view["Sections"], view["Title"] = all, p.title()
	var text strings.Builder
	if err := body.Execute(&text, view); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	//nolint:gosec // a template made it
	return page.Report(p.title(), template.HTML(text.String()), asset("compare.css"), asset("dots.js")).Write(out)
}

// title names all that is compared.
func (p *Page) title() string {
	base, others := "", []string{}
	add := func(nameA, nameB string) {
		a, b := p.labels(nameA, nameB)
		base, others = a, append(others, b)
	}
	for _, c := range p.Jobs {
		add(c.A.Name, c.B.Name)
	}
	for _, c := range p.Cells {
		add(c.A, c.B)
	}
	return strings.Join(others, ", ") + " against " + base
}

// viewOf returns a section as HTML. If the differences of all comparisons are drawn together, its own are not.
func (p *Page) viewOf(s Section) (sectionView, error) {
	view := sectionView{Section: s}
	var err error
	if view.Whole, err = htmlOf(s.Whole); err != nil {
		return view, err
	}
	if view.Tables, err = htmlOf(s.Tables); err != nil {
		return view, err
	}
	if c := s.jobs; c != nil {
		view.A, view.B = p.labels(c.A.Name, c.B.Name)
		view.Count = c.Compared
		if len(p.Jobs) == 1 {
			view.Charts = append(view.Charts, svg(p.cumulated([]*compare.Comparison{c})))
		}
		view.Charts = append(view.Charts, svg(p.tails(c)))
		text, err := json.Marshal(dotsOf(&c.Shapes))
		if err != nil {
			return view, fmt.Errorf("encode the jobs: %w", err)
		}
		view.Dots = template.JS(text) //nolint:gosec // JSON with <, > and & escaped
	}
	return view, nil
}

// htmlOf returns tables that have rows as HTML, each below its title.
func htmlOf(tables []page.Table) (all []template.HTML, err error) {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		text, err := t.HTML()
		if err != nil {
			return nil, err
		}
		//nolint:gosec // the title is escaped
		all = append(all, template.HTML("<h3>"+template.HTMLEscapeString(t.Title)+"</h3>")+text)
	}
	return all, nil
}

func svg(f *chart.Figure) template.HTML { return template.HTML(f.SVG()) } //nolint:gosec // a drawing with escaped texts

// cumulated draws the differences of the waits summed up in order of arrival.
func (p *Page) cumulated(all []*compare.Comparison) *chart.Figure {
	l := chart.Lined{
		Title:  "All differences so far, by arrival",
		Alt:    "The differences of the waits, summed up in order of arrival: a curve that falls says that jobs that came then wait shorter.",
		Height: 260, PerRow: 1, Scope: "compare",
	}
	low, high, days := 0.0, 0.0, 0.0
	panel := chart.Panel{AcrossIs: "days since the first job came", UpIs: "hours"}
	for _, c := range all {
		a, b := p.labels(c.A.Name, c.B.Name)
		name := b + " − " + a
		var curve []chart.Point
		for _, q := range c.Shapes.Cumulated {
			hours := q.Y / 3600
			low, high, days = min(low, hours), max(high, hours), max(days, q.X)
			curve = append(curve, chart.Point{Across: q.X, Up: hours})
		}
		l.Series, panel.Curves = append(l.Series, name), append(panel.Curves, curve)
	}
	panel.Across, panel.Up = chart.NewAxis(chart.Linear, chart.Number, 0, days), chart.NewAxis(chart.Linear, chart.Number, low, high)
	l.Panels = []chart.Panel{panel}
	return chart.Lines(l)
}

// tails draws which share of the jobs waits at least so much shorter, or longer.
func (p *Page) tails(c *compare.Comparison) *chart.Figure {
	longest, highest := 0.0, 0.0
	points := func(curve []compare.Point) (all []chart.Point) {
		for _, q := range curve {
			longest, highest = max(longest, q.X), max(highest, q.Y)
			all = append(all, chart.Point{Across: q.X, Up: q.Y})
		}
		return all
	}
	panel := chart.Panel{
		AcrossIs: "at least so much", UpIs: "share of the jobs",
		Curves: [][]chart.Point{points(c.Shapes.Shorter), points(c.Shapes.Longer)},
	}
	panel.Across = chart.NewAxis(chart.Log, chart.Seconds, 0, longest)
	panel.Up = chart.NewAxis(chart.Linear, chart.Percent, 0, math.Max(highest, 0.01))
	_, b := p.labels(c.A.Name, c.B.Name)
	return chart.Lines(chart.Lined{
		Title:  "How many wait how much shorter or longer under " + b,
		Alt:    "For each length of time, the share of the jobs whose wait gets shorter by at least that, and the share whose wait gets longer.",
		Series: []string{"wait shorter", "wait longer"}, Panels: []chart.Panel{panel}, Height: 240, PerRow: 1, Scope: "tails",
	})
}

// dots is what the page's script draws.
type dots struct {
	Decades   int   `json:"decades"`
	PerDecade int   `json:"per"`
	All       []any `json:"dots"` // a list each: x, y, jobs; job, user, cpus, run, wait in A, wait in B, submitted
}

func dotsOf(s *compare.Shapes) dots {
	d := dots{Decades: max(1, s.Decades), PerDecade: compare.PerDecade, All: []any{}}
	for _, one := range s.Dots {
		j := &one.Job
		d.All = append(d.All, []any{one.X, one.Y, one.Jobs, j.Name, j.User, j.Cpus, j.Run, j.A, j.B, one.When})
	}
	return d
}

// asset returns the text of an embedded file.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return string(text)
}
