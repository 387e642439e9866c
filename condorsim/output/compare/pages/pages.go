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

// labels returns what A and B are called in the heads of columns: the names of the files without folders and
// ends, unless they are the same.
func labels(a, b string) (labelA, labelB string) {
	labelA, labelB = filepath.Base(a), filepath.Base(b)
	if shortA, shortB := short(labelA), short(labelB); shortA != shortB {
		return shortA, shortB
	}
	if labelA == labelB {
		return a, b
	}
	return labelA, labelB
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
