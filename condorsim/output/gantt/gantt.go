package gantt

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/lanes"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/drawing"
)

// Chart is a finished simulation, ready to be drawn.
type Chart struct{ data data }

// New returns a chart of a simulation. The title says what was run. It errs if a job ran on a slot
// that the pool does not have.
func New(title string, r *condorsim.Result) (*Chart, error) {
	packed, err := lanes.Of(r)
	if err != nil {
		return nil, err
	}
	c := &Chart{encode(r, packed)}
	c.data.Title = title
	return c, nil
}

//go:embed assets
var assets embed.FS

var body = template.Must(template.ParseFS(assets, "assets/gantt.html")) //nolint:gochecknoglobals // parsed once

// Write writes the page.
func (c *Chart) Write(out io.Writer) error {
	text, err := json.Marshal(c.data)
	if err != nil {
		return fmt.Errorf("encode the jobs: %w", err)
	}
	var html strings.Builder
	err = body.Execute(&html, map[string]any{
		"Title": c.data.Title, "Jobs": c.data.Count,
		"Data": template.JS(text), //nolint:gosec // JSON with <, > and & escaped
	})
	if err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	var script strings.Builder
	script.WriteString(drawing.Script("times.js", "spans.js", "view.js", "shade.js", "sheet.js", "strip.js", "hand.js"))
	for _, name := range []string{"data", "draw", "overview", "panel", "main"} {
		script.WriteString(asset(name + ".js"))
	}
	return page.Shell{
		Title: c.data.Title, Style: asset("gantt.css"), Script: script.String(),
		Body: template.HTML(html.String()), //nolint:gosec // a template made it
	}.Write(out)
}

// asset returns the text of an embedded file.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return string(text)
}
