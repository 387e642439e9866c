package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/pages"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/console"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// compareCommand is condorsim compare.
type compareCommand struct {
	Base   string   `arg:"" name:"a" help:"${compare_base}"`
	Others []string `arg:"" name:"b" help:"${compare_others}"`

	Cpus       int64  `group:"Compared" nonzero:"" placeholder:"N" help:"${compare_cpus}"`
	AnySubmit  bool   `group:"Compared" help:"${compare_any_submit}"`
	TraceStart int64  `group:"Compared" placeholder:"UNIX" help:"${compare_trace_start}"`
	Zone       string `group:"Compared" default:"UTC" placeholder:"ZONE" help:"Time zone of the hours of arrival, such as Europe/Paris."`

	Top  int    `group:"Output" nonzero:"" default:"10" placeholder:"N" help:"${compare_top}"`
	HTML string `group:"Output" name:"html" placeholder:"FILE" help:"${compare_html}"`
	JSON bool   `group:"Output" name:"json" help:"Print all of it as one JSON object, with times in seconds."`
}

// Help is shown below the flags.
func (*compareCommand) Help() string {
	return `Each of B, C … is compared with A; differences are those less A, so that below 0 jobs wait shorter. Jobs are
the same if they have the same name and submit time. What is in one alone is counted and named, and not
compared. Intervals are of paired differences over the weeks in which jobs came, and need four weeks.

A table of jobs has a row for each job: condorsim run --jobs-out writes it. A record (--record) of a
simulation, or of a real pool, says the same of its jobs. Folders of results have no
jobs: their cells are compared by measures, with intervals over seeds or weeks, and so are a table and a
folder.

Examples:
  condorsim run trace.swf --policy easy --jobs-out easy.csv
  condorsim run trace.swf --policy slack --jobs-out slack.parquet
  condorsim compare easy.csv slack.parquet
  condorsim compare easy.csv slack.parquet conservative.csv.gz --html policies.html
  condorsim compare easy.csv slack.parquet --cpus 100 --json
  condorsim compare results-before results-after`
}

// Run compares.
func (c *compareCommand) Run(p *process) error {
	page, out, err := c.prepare()
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	base, err := c.read(page, c.Base)
	if err != nil {
		return cli.Bad(err)
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return cli.Bad(fmt.Errorf("--zone %s: there is no such time zone; give one such as Europe/Paris", c.Zone))
	}
	page.Clock = base.clock(c.TraceStart, zone)
	for _, name := range c.Others {
		var other *side
		if other, err = c.read(page, name); err != nil {
			return cli.Bad(err)
		}
		if err = c.add(page, base, other); err != nil {
			return cli.Bad(err)
		}
	}
	if out.file != nil {
		if err = out.file.Fill(page.HTML); err != nil {
			return err
		}
	}
	if c.JSON {
		return cli.JSON(p.out, page.JSON())
	}
	return c.print(p, page)
}

// pageFile is the file of the page; nil: none is wanted.
type pageFile struct{ file *wholefile.File }

func (f pageFile) discard() {
	if f.file != nil {
		f.file.Discard()
	}
}

// prepare checks the flags, and begins the page. Its file must be none of those that are read.
func (c *compareCommand) prepare() (*pages.Page, pageFile, error) {
	if c.Top < 0 || c.Cpus < 0 {
		return nil, pageFile{}, errors.New("--top and --cpus must be at least 1")
	}
	id, err := version.ID()
	if err != nil {
		return nil, pageFile{}, err
	}
	page := &pages.Page{Version: id, Command: c.command()}
	if c.HTML == "" {
		return page, pageFile{}, nil
	}
	if there, inErr := os.Stat(c.HTML); inErr == nil && there.Mode().IsRegular() {
		for _, input := range append([]string{c.Base}, c.Others...) {
			if in, statErr := os.Stat(input); statErr == nil && os.SameFile(in, there) {
				return nil, pageFile{}, fmt.Errorf("--html %s: that is where %s is read from; choose another file", c.HTML, input)
			}
		}
	}
	file, err := wholefile.Create("the page", c.HTML)
	return page, pageFile{file}, err
}

// side is what was read to be compared: a table of jobs, or the cells of a folder.
type side struct {
	name  string
	jobs  *schedules.Schedule // nil: it is a folder
	cells []results.Cell
}

// read reads a side, and notes what is to be heeded.
func (c *compareCommand) read(page *pages.Page, name string) (*side, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		jobs, readErr := schedules.Read(name) // which says what is wrong with the path
		if readErr == nil && jobs.Torn != nil {
			page.Notes = append(page.Notes, jobs.Torn.Error())
		}
		return &side{name: name, jobs: jobs}, readErr
	}
	folder, err := results.Read(name)
	if err != nil {
		return nil, err
	}
	if len(folder.Cells) == 0 {
		return nil, fmt.Errorf("%s has no finished cell of %d; run condorsim sweep to its end", name, len(folder.Manifest.Cells))
	}
	if note := compare.Incomplete(folder); note != "" {
		page.Notes = append(page.Notes, note)
	}
	return &side{name: name, cells: folder.Cells}, nil
}

// clock returns the clock of a table of jobs. If the submit times are no Unix times, the hours of a day are known
// only if it is known when second 0 was; else the trace's days begin with it.
func (s *side) clock(unix int64, zone *time.Location) instant.Clock {
	if s.jobs == nil || len(s.jobs.Rows) == 0 {
		return instant.Clock{}
	}
	first, last := s.jobs.Rows[0].Submit, s.jobs.Rows[0].Submit
	for i := range s.jobs.Rows {
		first, last = min(first, s.jobs.Rows[i].Submit), max(last, s.jobs.Rows[i].Submit)
	}
	return instant.OfJobs(unix, first, last, zone)
}

// add compares a side with the base: by jobs if both have some, else by cells.
func (c *compareCommand) add(page *pages.Page, base, other *side) error {
	if base.jobs != nil && other.jobs != nil {
		found, err := compare.Jobs(base.jobs, other.jobs, compare.Options{Cpus: c.Cpus, AnySubmit: c.AnySubmit, Clock: page.Clock})
		if err == nil {
			page.Jobs = append(page.Jobs, found)
		}
		return err
	}
	for _, s := range []*side{base, other} {
		if s.jobs != nil && s.cells == nil {
			s.cells = []results.Cell{compare.CellOf(s.jobs, c.Cpus)}
		}
	}
	found, err := compare.OfCells(base.cells, other.cells, base.name, other.name)
	if err == nil {
		page.Cells = append(page.Cells, found)
	}
	return err
}

// command returns the command line that repeats the comparison.
func (c *compareCommand) command() string {
	words := []string{"condorsim", "compare", cli.Quoted(c.Base)}
	for _, name := range c.Others {
		words = append(words, cli.Quoted(name))
	}
	for _, flag := range []struct {
		name  string
		given bool
		value string
	}{
		{"--cpus", c.Cpus > 0, strconv.FormatInt(c.Cpus, 10)},
		{"--any-submit", c.AnySubmit, ""},
		{"--trace-start", c.TraceStart != 0, strconv.FormatInt(c.TraceStart, 10)},
		{"--zone", c.Zone != "UTC", cli.Quoted(c.Zone)},
		{"--html", c.HTML != "", cli.Quoted(c.HTML)},
	} {
		if flag.given {
			words = append(words, flag.name)
			if flag.value != "" {
				words = append(words, flag.value)
			}
		}
	}
	return strings.Join(words, " ")
}

// print prints the comparisons as text.
func (c *compareCommand) print(p *process, page *pages.Page) error {
	var sections []console.Section
	for _, s := range page.Sections() {
		for i := range s.Sentences {
			s.Sentences[i] = cli.Line(s.Sentences[i])
		}
		sections = append(sections, console.Section{
			Title: s.Title, Sentences: s.Sentences, Whole: s.Whole, Tables: s.Tables, Notes: s.Notes,
		})
	}
	for _, note := range page.Notes {
		if _, err := fmt.Fprintln(p.errs, "note:", note); err != nil {
			return err
		}
	}
	if err := console.Sections(p.out, sections, c.Top, "--top N and --html show more"); err != nil {
		return err
	}
	if c.HTML != "" {
		if _, err := fmt.Fprintln(p.out, "\nthe page is", c.HTML); err != nil {
			return err
		}
	}
	return nil
}
