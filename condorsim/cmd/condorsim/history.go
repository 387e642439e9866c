package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// history reads the job ads of the workload, for the pool or, without one, for a machine of the
// history's size; see [history.History.Trace].
func (c *runCommand) history(pool *pools.Description, logger hclog.Logger) (*condorsim.Workload, error) {
	file, err := openFile(c.Workload)
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	if pool != nil && (c.ScaleWidths != 0 || c.MemoryModel != "") {
		return nil, errors.New("--scale-widths and --memory-model change traces; on a pool, job ads say what " +
			"each job asks for")
	}
	o := history.Options{Clean: workload.Clean(c.Clean), Schema: negotiator.DefaultSchema()}
	if pool != nil {
		o.Schema, o.WithAds, o.Asked = pool.Schema, true, append(pool.Asked(), c.asked()...)
	}
	if len(c.EstimateAttr) > 0 {
		o.Schema.Estimates = c.EstimateAttr
	}
	h, err := history.Read(file, shown(c.Workload), o)
	if err != nil {
		return nil, err
	}
	trace, err := h.Trace(c.readOptions(pool))
	if err != nil {
		return nil, err
	}
	if x := c.transform(c.Load, c.Jobs); !x.IsZero() {
		if trace, err = trace.Transform(x); err != nil {
			return nil, err
		}
	}
	if err = c.tell(trace, logger); err != nil {
		return nil, err
	}
	if pool == nil {
		logger.Info("the machine", "processors", trace.Machine.Processors, "most in use at one time", h.Peak)
	}
	return condorsim.FromHistory(h, trace, pool)
}

// asked returns the attributes of jobs that the order's expression refers to.
func (c *runCommand) asked() []string {
	text, is := strings.CutPrefix(c.Order, "expr:")
	if !is {
		return nil
	}
	expression, err := classad.ParseExpr(text)
	if err != nil {
		return nil // making the order gives the error
	}
	_, names, _ := expression.Refs(classad.New())
	return names
}
