package page

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/results"
)

var body = template.Must(template.New("report").Parse(asset("report.html"))) //nolint:gochecknoglobals // parsed once

// view is what the report's template sees.
type view struct {
	Title, Baseline, Partial string
	Manifest                 results.Manifest
	Missing                  []results.Key
	Sections                 []section
	Facts                    []fact
	Extra                    []Table
	Accuracy                 template.HTML
	Measures                 []measureView
	Groups                   []groupView
	// MeasureParts and GroupParts are what is shown of each, all but the first packed.
	MeasureParts, GroupParts []template.HTML
	All, Traces              Table
	Schedulers               []string
	Seeds                    []uint64
}

type section struct{ ID, Title string }

type fact struct{ Value, Label string }

type measureView struct {
	Measure
	Improvement, Adjusted, Mixed, Load template.HTML
	Values                             Table
	Improvements                       *Table // nil where there is nothing to compare
}

type groupView struct {
	Group
	Shown   bool // first of all
	Figures []template.HTML
}

// HTML writes the report as one page.
func (s *Study) HTML(out io.Writer, figures Figures) error {
	v := view{
		Title: s.title(), Baseline: s.Schedulers[s.Baseline], Partial: s.partial(), Manifest: s.Folder.Manifest, Missing: s.Missing,
		Sections: []section{{"compare", "Compared"}, {"details", "Waits, use, queue"}, {"cells", "All cells"}, {"run", "What was run"}},
		Facts:    s.facts(), Extra: s.Extra, All: s.all(), Traces: s.traces(), Schedulers: s.Schedulers, Seeds: s.seeds(),
	}
	if figures.Accuracy != nil {
		v.Accuracy = markup(figures.Accuracy)
		v.Sections = slices.Insert(v.Sections, 0, section{"accuracy", "Accuracy"})
	}
	if len(s.Extra) > 0 {
		v.Sections = slices.Insert(v.Sections, 0, section{"paper", "Paper"})
	}
	for i, m := range s.Measures {
		mv := measureView{Measure: m, Improvement: markup(figures.Improvement[i]), Adjusted: markup(figures.Adjusted[i]), Mixed: markup(figures.Mixed[i]), Load: markup(figures.Load[i]), Values: s.measured(m)}
		if figures.Improvement[i] != nil {
			table := s.improvements(m)
			mv.Improvements = &table
		}
		v.Measures = append(v.Measures, mv)
		part, err := part("measure", mv, i > 0)
		if err != nil {
			return err
		}
		v.MeasureParts = append(v.MeasureParts, part)
	}
	shown := max(0, slices.IndexFunc(figures.Groups, func(of []*chart.Figure) bool { return len(of) > 0 }))
	for i, g := range s.Groups {
		gv := groupView{Group: g, Shown: i == shown}
		for _, f := range figures.Groups[i] {
			gv.Figures = append(gv.Figures, markup(f))
		}
		v.Groups = append(v.Groups, gv)
		part, err := part("group", gv, i != shown)
		if err != nil {
			return err
		}
		v.GroupParts = append(v.GroupParts, part)
	}
	text, err := filled("report", v)
	if err != nil {
		return err
	}
	return Shell{
		Title: s.title(), Style: asset("report.css"), Script: asset("choose.js") + asset("tables.js") + asset("charts.js"),
		Body: text,
	}.Write(out)
}

// filled is a template of the report with what it shows.
func filled(name string, of any) (template.HTML, error) {
	var text strings.Builder
	if err := body.ExecuteTemplate(&text, name, of); err != nil {
		return "", fmt.Errorf("make the report: %w", err)
	}
	return template.HTML(text.String()), nil //nolint:gosec // a template made it
}

// part is a part of the page of which one at a time is shown. One that is packed
// is gzip in base64, which the page's script unpacks when the reader chooses it:
// charts of a big sweep are many megabytes, which a browser need not read at once.
func part(name string, of any, packed bool) (template.HTML, error) {
	text, err := filled(name, of)
	if err != nil || !packed {
		return text, err
	}
	var out strings.Builder
	out.WriteString(`<script type="text/plain">`)
	encoder := base64.NewEncoder(base64.StdEncoding, &out)
	packer, err := gzip.NewWriterLevel(encoder, gzip.BestCompression)
	if err == nil {
		_, err = io.WriteString(packer, string(text))
	}
	if err == nil {
		err = errors.Join(packer.Close(), encoder.Close())
	}
	if err != nil {
		return "", fmt.Errorf("pack a part of the report: %w", err)
	}
	out.WriteString("</script>")
	return template.HTML(out.String()), nil //nolint:gosec // base64
}

// markup is a figure as part of a page; "" of nil.
func markup(f *chart.Figure) template.HTML {
	if f == nil {
		return ""
	}
	return template.HTML(f.SVG()) //nolint:gosec // its texts are escaped
}

func (s *Study) title() string {
	if title := s.Folder.Manifest.Title; title != "" {
		return title
	}
	return s.Folder.Manifest.Name
}

func (s *Study) facts() []fact {
	traces, jobs := map[string]bool{}, 0
	for _, g := range s.Groups {
		traces[g.Trace] = true
	}
	for _, c := range s.Folder.Cells {
		jobs += c.Jobs
	}
	cells := strconv.Itoa(len(s.Folder.Cells))
	if len(s.Missing) > 0 {
		cells += " of " + strconv.Itoa(len(s.Folder.Manifest.Cells))
	}
	all := []fact{
		{strconv.Itoa(len(traces)), plural(len(traces), "trace")},
		{strconv.Itoa(len(s.Schedulers)), plural(len(s.Schedulers), "scheduler")},
		{cells, "simulations"},
		{shown(float64(jobs)), "jobs simulated"},
	}
	if n := len(s.seeds()); n > 1 {
		all = append(all, fact{strconv.Itoa(n), "seeds"})
	}
	return all
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// traces is the table of what the jobs were read from.
func (s *Study) traces() Table {
	t := Table{Name: "traces", Title: "Traces", Caption: "What the jobs were read from", Columns: []Column{
		{Title: "Trace"}, {Title: "File"}, {Title: "Jobs", Number: true}, {Title: "Cpus", Number: true}, {Title: "Slots", Number: true}, {Title: "SHA-256 of the file"},
	}}
	for _, f := range s.Folder.Manifest.Traces {
		hash := f.SHA256
		if hash == "" {
			hash = "generated"
		}
		row := []Value{Text(f.Name), Text(f.File), missing(), missing(), missing(), Text(hash)}
		if i := slices.IndexFunc(s.Folder.Cells, func(c results.Cell) bool { return c.Trace == f.Name }); i >= 0 {
			c := s.Folder.Cells[i]
			row[2], row[3], row[4] = Number(float64(c.Jobs)), Number(float64(c.Machine.Cpus)), Number(float64(c.Machine.Slots))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
