package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/drawing"
)

//go:embed assets
var assets embed.FS

// Shell is a page: the parts that all pages have, around a body.
type Shell struct {
	Title string
	// Style and Script are the page's own; they come after those of all pages.
	Style  string
	Script string
	Body   template.HTML
}

// Report returns a page in the style of reports, whose tables sort and whose charts answer to a pointer. The
// style and the script are the page's own.
func Report(title string, body template.HTML, style, script string) Shell {
	return Shell{
		Title: title, Style: asset("report.css") + style, Body: body,
		Script: asset("choose.js") + asset("charts.js") + asset("tables.js") + script,
	}
}

// HTML returns the table as part of a report.
func (t Table) HTML() (template.HTML, error) { return filled("table", t) }

// Write writes the page. It refers to nothing outside itself, and its content security policy says
// so.
func (s Shell) Write(out io.Writer) error {
	return shell.Execute(out, map[string]any{
		"Title": s.Title, "Body": s.Body,
		//nolint:gosec // the program's own
		"Style": template.CSS(drawing.Colours() + drawing.Text("base.css") + chart.CSS() + s.Style),
		//nolint:gosec // the program's own
		"Before": template.JS(drawing.Text("before.js")),
		//nolint:gosec // the program's own
		"Script": template.JS(drawing.Text("theme.js") + s.Script),
	})
}

var shell = template.Must(template.New("shell").Parse(asset("shell.html"))) //nolint:gochecknoglobals // parsed once

// asset returns the text of an embedded file.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return string(text)
}
