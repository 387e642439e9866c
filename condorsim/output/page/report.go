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

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

//nolint:gochecknoglobals // parsed once
var body = template.Must(template.Must(template.New("report").Parse(asset("report.html"))).Parse(asset("sidebyside.html")))

// view is the data of the report's template.
type view struct {
	Title, Baseline, Partial string
	PaperTitle               string // above Extra
	Manifest                 results.Manifest
	Missing                  []results.Key
	Sections                 []section
	Facts                    []fact
	Extra                    []Table
	Relative                 []Table // who gains and who pays
	Accuracy                 template.HTML
	Measures                 []measureView
	Groups                   []groupView
	// MeasureParts and GroupParts are the HTML for each measure and group; all but those that the
	// page shows first are packed (see part).
	MeasureParts, GroupParts []template.HTML
	All, Traces              Table
	Schedulers               []string
	Seeds                    []uint64
}

type section struct{ ID, Title string }

type fact struct{ Value, Label string }

type measureView struct {
	Measure
	Improvement, Adjusted, Mixed, Load, Option template.HTML
	Values                                     Table
	Hours                                      *Table // the values in hours; nil if they are no times
	Paired                                     *Table // with hours; nil if nothing has an interval
	Improvements                               *Table // nil if there is nothing to compare
}

type groupView struct {
	Group
	Shown   bool // shown at first
	Figures []template.HTML
}

// HTML writes the report as one page.
func (s *Study) HTML(out io.Writer, figures Figures) error {
	v := view{
		Title: s.title(), Baseline: s.Schedulers[s.Baseline], Partial: s.partial(), Manifest: s.Folder.Manifest,
		Missing: s.Missing,
		Sections: []section{
			{"compare", "Compared"},
			{"details", "Waits, use, queue"},
			{"cells", "All cells"},
			{"run", "What was run"},
		},
		Facts: s.facts(), Extra: s.Extra, All: s.few(), Traces: s.traces(), Schedulers: s.Schedulers,
		Seeds: s.seeds(), Relative: s.relatives(),
	}
	if figures.Accuracy != nil {
		v.Accuracy = markup(figures.Accuracy)
		v.Sections = slices.Insert(v.Sections, 0, section{"accuracy", "Accuracy"})
	}
	if len(v.Relative) > 0 {
		v.Sections = slices.Insert(v.Sections, 0, section{"relative", "Who pays"})
	}
	if len(s.Extra) > 0 {
		v.PaperTitle = "What the paper says"
		title := "Paper"
		if papers.OwnGoals(s.Folder.Manifest.Paper) {
			v.PaperTitle, title = "What the goals are", "Goals"
		}
		v.Sections = slices.Insert(v.Sections, 0, section{"paper", title})
	}
	if err := s.addMeasures(&v, figures); err != nil {
		return err
	}
	if err := s.addGroups(&v, figures); err != nil {
		return err
	}
	text, err := filled("report", v)
	if err != nil {
		return err
	}
	return Shell{
		Title: s.title(), Style: asset("report.css"),
		Script: asset("choose.js") + asset("tables.js") + asset("columns.js") + asset("charts.js"),
		Body:   text,
	}.Write(out)
}

// addMeasures adds the part of the page for each measure.
func (s *Study) addMeasures(v *view, figures Figures) error {
	for i, m := range s.Measures {
		mv := measureView{
			Measure: m, Improvement: markup(figures.Improvement[i]),
			Adjusted: markup(figures.Adjusted[i]), Mixed: markup(figures.Mixed[i]), Load: markup(figures.Load[i]),
			Option: markup(figures.Option[i]),
			Values: s.measured(m),
		}
		if hours, some := mv.Values.Hours(); some {
			mv.Hours = &hours
		}
		if paired, some := s.paired(m); some {
			paired = paired.WithHours()
			mv.Paired = &paired
		}
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
	return nil
}

// addGroups adds the part of the page for each group. The page first shows the first group that has
// figures.
func (s *Study) addGroups(v *view, figures Figures) error {
	shown := max(0, slices.IndexFunc(figures.Groups, func(group []*chart.Figure) bool { return len(group) > 0 }))
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
	return nil
}

// filled returns a template of the report, executed with the given data.
func filled(name string, data any) (template.HTML, error) {
	var text strings.Builder
	if err := body.ExecuteTemplate(&text, name, data); err != nil {
		return "", fmt.Errorf("make the report: %w", err)
	}
	return template.HTML(text.String()), nil //nolint:gosec // a template made it
}

// part returns the HTML of a measure or a group, of which the page shows one at a time. A packed
// part is gzip in base64, which the page's script unpacks when the reader chooses it: the charts of
// a large sweep are many megabytes, which a browser need not parse at once.
func part(name string, data any, packed bool) (template.HTML, error) {
	text, err := filled(name, data)
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

// markup returns a figure as part of a page; "" for nil.
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

// traces returns the table of the traces' files.
func (s *Study) traces() Table {
	t := Table{Name: "traces", Title: "Traces", Caption: "What the jobs were read from", Columns: []Column{
		{Title: "Trace"},
		{Title: "File"},
		{Title: "Jobs", Number: true},
		{Title: "Cpus", Number: true},
		{Title: "Slots", Number: true},
		{Title: "SHA-256 of the file"},
	}}
	for _, f := range s.Folder.Manifest.Traces {
		hash := f.SHA256
		if hash == "" {
			hash = "generated"
		}
		row := []Value{Text(f.Name), Text(f.File), missing(), missing(), missing(), Text(hash)}
		if i := slices.IndexFunc(s.Folder.Cells, func(c results.Cell) bool { return c.Trace == f.Name }); i >= 0 {
			c := s.Folder.Cells[i]
			row[2], row[3], row[4] = Number(float64(c.Jobs)), Number(float64(c.Machine.Cpus)),
				Number(float64(c.Machine.Slots))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
