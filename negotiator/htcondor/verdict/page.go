package verdict

import (
	_ "embed"
	"html/template"
	"io"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

//go:embed page.html
var pageText string

// pageTemplate is the page. The template escapes whatever names it shows.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"whole":   inwords.Whole[int],
		"cpus":    inwords.Whole[int64],
		"lasting": lasting,
		"since":   func(n int64) string { return lasting(float64(n)) },
		"line":    cli.Line,
		"name":    func(user string) string { return cli.Line(name(user)) },
	}).Parse(pageText))
})

// page is what the template shows.
type page struct {
	*Verdict
	Headline, Span, NoPromises string
	Facts, Promised            []fact
	Meaning                    []string
	Tables                     []pageTable
	Lists                      []pageList
	Clock                      instant.Clock
}

// pageTable is a table of groups.
type pageTable struct {
	Title, Head string
	Rows        []pageRow
	Further     int
}

// pageRow is a group, with the widths of its bars in percent.
type pageRow struct {
	Group
	Parts        []pagePart
	Theirs, Ours float64
}

// pagePart is a part of the bar of a group's jobs.
type pagePart struct {
	Class, Label string
	Percent      float64
}

// pageList is a list of jobs.
type pageList struct {
	Title string
	Cases []Case
}

// Page writes a verdict as an HTML page that needs nothing else, with instants as the clock writes
// them.
func (v *Verdict) Page(out io.Writer, clock instant.Clock) error {
	p := page{
		Verdict: v, Headline: v.Headline(), Span: v.span(clock), NoPromises: v.noPromises(), Facts: v.facts(),
		Promised: v.promised(), Meaning: v.meaning(), Clock: clock,
		Lists: []pageList{{"Most earlier here", v.Most.Earlier}, {"Most later here", v.Most.Later}},
	}
	p.Tables = append(p.Tables, tableOf("All jobs", "", []Group{v.All}, 0), tableOf("By width", "cpus", v.Widths, 0))
	if v.WideJobs.Jobs > 0 {
		p.Tables = append(p.Tables, tableOf("Wide jobs", "cpus", []Group{v.WideJobs}, 0))
	}
	shown := v.Users[:min(len(v.Users), pageUsers)]
	p.Tables = append(p.Tables, tableOf("By user", "user", shown, len(v.Users)-len(shown)))
	return pageTemplate().Execute(out, p)
}

// tableOf makes a table of groups, whose bars of waits share a scale.
func tableOf(title, head string, all []Group, further int) pageTable {
	t, longest := pageTable{Title: title, Head: head, Further: further}, 0.0
	for _, g := range all {
		longest = max(longest, g.Theirs.Mean, g.Ours.Mean)
	}
	for _, g := range all {
		row := pageRow{Group: g}
		if longest > 0 {
			row.Theirs, row.Ours = 100*g.Theirs.Mean/longest, 100*g.Ours.Mean/longest
		}
		for _, part := range []struct {
			class, label string
			jobs         int
		}{
			{"earlier", "earlier", g.Earlier},
			{"same", "at the same time", g.Same},
			{"later", "later", g.Later},
			{"never", "not at all", g.Never},
		} {
			if part.jobs > 0 {
				label := share(part.jobs, g.Jobs) + " " + part.label
				row.Parts = append(row.Parts, pagePart{part.class, label, 100 * float64(part.jobs) / float64(g.Jobs)})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
