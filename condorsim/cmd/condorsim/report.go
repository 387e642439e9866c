package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/condorsim/output/console"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// reportCommand is condorsim report.
type reportCommand struct {
	Folder   string   `arg:"" name:"dir" help:"Folder of results that a sweep made."`
	Out      string   `placeholder:"FILE" help:"Where the report goes; by default report.html in the folder."`
	Baseline string   `placeholder:"LABEL" help:"${report_baseline}"`
	Charts   []string `enum:"svg,png,none" default:"svg,png" help:"${report_charts}"`
	JSON     bool     `name:"json" help:"Print what was written as one JSON object."`
}

// Help is shown below the flags.
func (*reportCommand) Help() string {
	return `The report is one HTML file that needs no network. The tables are also written
to DIR/tables as CSV, the charts to DIR/charts. Of a sweep that is not finished it
shows what is there, and says so.

Examples:
  condorsim report results/
  condorsim report results/ --baseline easy --out easy.html --charts none`
}

// written says which files were written.
type written struct {
	Report   string `json:"report"`
	Baseline string `json:"baseline"`
	Cells    int    `json:"cells"`
	Of       int    `json:"of"`
	Charts   int    `json:"charts"`
	Tables   int    `json:"tables"`

	Comparisons []results.Comparison `json:"comparisons"`
}

// Run makes the report.
func (c *reportCommand) Run(p *process) error {
	formats, err := c.formats()
	if err != nil {
		return cli.Bad(err)
	}
	folder, err := results.Read(c.Folder)
	if err != nil {
		return cli.Bad(err)
	}
	study, err := page.NewStudy(folder, c.Baseline)
	if err != nil {
		return cli.Bad(err)
	}
	path := c.Out
	if path == "" {
		path = filepath.Join(c.Folder, "report.html")
		if err = wholefile.Regular(path); err != nil {
			return cli.Bad(fmt.Errorf("write the report: %w", err))
		}
	}
	out, err := c.create(path)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.Discard()
	bar := cli.NewProgress("charts and tables")
	made, err := study.Write(page.Output{
		Page: out, Tables: filepath.Join(c.Folder, "tables"), Charts: filepath.Join(c.Folder, "charts"),
		Formats: formats, Progress: bar.Update,
	})
	bar.Done()
	if err != nil {
		return err
	}
	if !folder.Complete() {
		cli.Logger("condorsim", "warn", p.errs).Warn("the results are partial, and the report says so", "cells",
			len(folder.Cells), "of", len(folder.Manifest.Cells))
	}
	if err = c.print(p.out, written{
		Report: path, Baseline: study.Schedulers[study.Baseline], Cells: len(folder.Cells),
		Of: len(folder.Manifest.Cells), Charts: made.Charts, Tables: made.Tables, Comparisons: study.Comparisons,
	}); err != nil || c.JSON {
		return err
	}
	return console.Means(p.out, study)
}

// create creates the report's file, which must not be one of the results.
func (c *reportCommand) create(path string) (*wholefile.File, error) {
	if there, err := os.Stat(path); err == nil {
		entries, _ := os.ReadDir(c.Folder) // the results have been read already
		for _, e := range entries {
			kept, inErr := os.Stat(filepath.Join(c.Folder, e.Name()))
			if inErr == nil && os.SameFile(there, kept) && !kept.IsDir() && filepath.Ext(e.Name()) != ".html" {
				return nil, fmt.Errorf("--out %s: that is %s of the results; choose another file", path, e.Name())
			}
		}
	}
	folder, err := os.Stat(filepath.Dir(path))
	if cells, inErr := os.Stat(filepath.Join(c.Folder, "cells")); err == nil && inErr == nil &&
		os.SameFile(folder, cells) {
		return nil, fmt.Errorf("--out %s: that folder holds what the report is made of; choose another one", path)
	}
	return wholefile.Create("the report", path)
}

// formats returns the kinds of files in which charts are drawn; none for --charts none.
func (c *reportCommand) formats() ([]string, error) {
	var formats []string
	for _, f := range c.Charts {
		if f != "none" {
			formats = append(formats, f)
		}
	}
	if len(formats) > 0 && len(formats) < len(c.Charts) {
		return nil, fmt.Errorf("--charts %s: none goes with nothing else", strings.Join(c.Charts, ","))
	}
	return formats, nil
}

func (c *reportCommand) print(out io.Writer, w written) error {
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(w); err != nil {
			return fmt.Errorf("print what was written: %w", err)
		}
		return nil
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendRows([]table.Row{
		{"report", w.Report},
		{"baseline", w.Baseline},
		{"cells", fmt.Sprintf("%d of %d", w.Cells, w.Of)},
		{"charts", fmt.Sprintf("%d in %s", w.Charts, filepath.Join(c.Folder, "charts"))},
		{"tables", fmt.Sprintf("%d in %s", w.Tables, filepath.Join(c.Folder, "tables"))},
	})
	if _, err := io.WriteString(out, t.Render()+"\n"); err != nil {
		return fmt.Errorf("print what was written: %w", err)
	}
	return nil
}
