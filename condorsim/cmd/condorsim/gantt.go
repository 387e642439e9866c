package main

import (
	"fmt"
	"os"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/gantt"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// createGantt creates the file of the Gantt chart; nil if none is requested. It must be neither an
// input file nor the table of jobs.
func (c *runCommand) createGantt(jobsOut *wholefile.File) (*wholefile.File, error) {
	if c.Gantt == "" {
		return nil, nil //nolint:nilnil // nil is a chart that is not wanted
	}
	if err := c.isNoInput("--gantt", c.Gantt); err != nil {
		return nil, err
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

// isNoInput returns an error if the path is that of an input file, so that the output does not
// replace it.
func (c *runCommand) isNoInput(flag, path string) error {
	out, err := os.Stat(path)
	if err != nil || !out.Mode().IsRegular() {
		return nil // there is no file to overwrite
	}
	for _, input := range append(c.settings().Files(), c.Workload, c.Instance, c.Pool, c.History) {
		if in, inErr := os.Stat(input); inErr == nil && os.SameFile(in, out) {
			return fmt.Errorf("%s %s: that is where %s is read from; choose another file", flag, path, input)
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
