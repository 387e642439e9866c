package main

import (
	"fmt"
	"os"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/gantt"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// createGantt creates the file of the Gantt chart; nil if none is requested. It must not be
// the table of jobs.
func (c *runCommand) createGantt(jobsOut *wholefile.File) (*wholefile.File, error) {
	if c.Gantt == "" {
		return nil, nil //nolint:nilnil // nil is a chart that is not wanted
	}
	file, err := wholefile.Create("the Gantt chart", c.Gantt)
	if err != nil {
		return nil, err
	}
	if jobsOut.Same(file) {
		file.Discard()
		return nil, fmt.Errorf("--gantt %s: --jobs-out writes there; choose another file", c.Gantt)
	}
	return file, nil
}

// spares returns an error if an output would replace one of these input files.
func (c *runCommand) spares(inputs ...string) error {
	for _, o := range []struct{ flag, path string }{{"--jobs-out", c.JobsOut}, {"--gantt", c.Gantt}} {
		out, err := os.Stat(o.path)
		if err != nil || !out.Mode().IsRegular() {
			continue // there is no file to overwrite
		}
		for _, input := range inputs {
			if in, inErr := os.Stat(input); inErr == nil && os.SameFile(in, out) {
				return fmt.Errorf("%s %s: that is where %s is read from; choose another file", o.flag, o.path, input)
			}
		}
	}
	return nil
}

// writeGantt writes the chart, if one is requested.
func writeGantt(file *wholefile.File, title string, result *condorsim.Result) error {
	if file == nil {
		return nil
	}
	chart, err := gantt.New(title, result)
	if err != nil {
		return err
	}
	return file.Fill(chart.Write)
}
