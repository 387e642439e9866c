package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/chart"
)

//go:embed assets
var assets embed.FS

// Shell is a page: what all have in common around a body of its own.
type Shell struct {
	Title string
	// Style and Script come after the common ones.
	Style  string
	Script string
	Body   template.HTML
}

// Write writes the page. It refers to nothing outside itself, and says so in its
// content security policy.
func (s Shell) Write(out io.Writer) error {
	return shell.Execute(out, map[string]any{
		"Title": s.Title, "Body": s.Body,
		"Style":  template.CSS(colours() + asset("base.css") + chart.CSS() + s.Style), //nolint:gosec // the program's own
		"Before": template.JS(asset("before.js")),                                     //nolint:gosec // the program's own
		"Script": template.JS(asset("theme.js") + s.Script),                           //nolint:gosec // the program's own
	})
}

var shell = template.Must(template.New("shell").Parse(asset("shell.html"))) //nolint:gochecknoglobals // parsed once

// asset is the text of an embedded file, which is there.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return string(text)
}

// colours are those of the charts in both themes; the rest of the page's are in
// base.css.
func colours() string {
	light, dark := chart.Colours(false), chart.Colours(true)
	return ":root{" + light + "}\n@media (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark + "}}\n:root[data-theme=dark]{" + dark + "}\n@media print{:root,:root[data-theme],:root:not([data-theme=light]){" + light + "}}\n"
}
