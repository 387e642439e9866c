package pages

import (
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Page is comparisons of one base with others.
type Page struct {
	// Jobs are the comparisons job by job, Cells those of which only measures are known.
	Jobs  []*compare.Comparison
	Cells []*compare.Cells
	// Clock writes the instants of the jobs.
	Clock instant.Clock
	// Notes are what to heed.
	Notes []string
	// Command is the command line that repeats it, and Version the program's.
	Command, Version string
}

// Section is a comparison for people.
type Section struct {
	ID, Title string
	Sentences []string
	// Whole are tables that are short; the others have up to compare.Kept rows.
	Whole, Tables []page.Table
	Notes         []string

	jobs *compare.Comparison // nil: it is of cells
}

// Sections returns a section for each comparison.
func (p *Page) Sections() (all []Section) {
	for _, c := range p.Jobs {
		all = append(all, p.ofJobs(c))
	}
	for _, c := range p.Cells {
		all = append(all, p.ofCells(c))
	}
	return all
}

// document is all comparisons for programs.
type document struct {
	Jobs    []*compare.Comparison `json:"jobs"`
	Cells   []*compare.Cells      `json:"cells"`
	Notes   []string              `json:"notes"`
	Command string                `json:"command"`
	Version string                `json:"version"`
}

// JSON returns the comparisons as they are printed for programs. Times are in seconds.
func (p *Page) JSON() any {
	d := document{Jobs: p.Jobs, Cells: p.Cells, Notes: p.Notes, Command: p.Command, Version: p.Version}
	if d.Jobs == nil {
		d.Jobs = []*compare.Comparison{}
	}
	if d.Cells == nil {
		d.Cells = []*compare.Cells{}
	}
	if d.Notes == nil {
		d.Notes = []string{}
	}
	return d
}

// labels returns what A and B are called in the heads of columns.
func (p *Page) labels(a, b string) (labelA, labelB string) { return p.label(a), p.label(b) }

// label returns what a side is called: the name of its file without folder and end, if no other one is called
// so.
func (p *Page) label(name string) string {
	for _, called := range []func(string) string{
		func(name string) string { return short(filepath.Base(name)) }, filepath.Base,
	} {
		unique := true
		for _, other := range p.names() {
			unique = unique && (other == name || called(other) != called(name))
		}
		if unique {
			return called(name)
		}
	}
	return name
}

// names are those of all sides.
func (p *Page) names() (all []string) {
	for _, c := range p.Jobs {
		all = append(all, c.A.Name, c.B.Name)
	}
	for _, c := range p.Cells {
		all = append(all, c.A, c.B)
	}
	return all
}

// short returns a name without the end that says how a table of jobs is written.
func short(name string) string {
	for _, end := range []string{".csv.gz", ".csv.zst", ".csv", ".parquet"} {
		if rest, found := strings.CutSuffix(name, end); found && rest != "" {
			return rest
		}
	}
	return name
}
