package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/gantt"
	"github.com/condor-backfill/condor-backfill/condorsim/wholefile"
)

// createGantt prepares the Gantt chart; nil if none is wanted. It must not take
// the place of what it is made from.
func (c *runCommand) createGantt() (*wholefile.File, error) {
	if c.Gantt == "" {
		return nil, nil //nolint:nilnil // nil is a chart that is not wanted
	}
	if c.JobsOut != "" && filepath.Clean(c.Gantt) == filepath.Clean(c.JobsOut) {
		return nil, fmt.Errorf("--gantt %s: --jobs-out writes there; choose another file", c.Gantt)
	}
	if out, err := os.Stat(c.Gantt); err == nil {
		for _, path := range []string{c.Workload, c.Instance, c.Pool} {
			if in, inErr := os.Stat(path); inErr == nil && os.SameFile(in, out) {
				return nil, fmt.Errorf("--gantt %s: that is where %s is read from; choose another file", c.Gantt, path)
			}
		}
	}
	return wholefile.Create("the Gantt chart", c.Gantt)
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
