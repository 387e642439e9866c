package main

import (
	"fmt"
	"os"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/gantt"
	"github.com/condor-backfill/condor-backfill/condorsim/wholefile"
)

// createGantt prepares the Gantt chart; nil if none is wanted. It must not take
// the place of what it is made from, nor that of the table of jobs.
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

// isNoInput refuses to write to where the run is read from.
func (c *runCommand) isNoInput(flag, path string) error {
	out, err := os.Stat(path)
	if err != nil || !out.Mode().IsRegular() {
		return nil //nolint:nilerr // nothing is there that could be lost
	}
	for _, input := range append(c.settings().Files(), c.Workload, c.Instance, c.Pool, c.History) {
		if in, inErr := os.Stat(input); inErr == nil && os.SameFile(in, out) {
			return fmt.Errorf("%s %s: that is where %s is read from; choose another file", flag, path, input)
		}
	}
	return nil
}

// writeGantt writes the chart, if one is wanted.
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
