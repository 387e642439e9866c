package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// fstFlag says which fair start times to find: strict, relaxed or both.
type fstFlag condorsim.Fair

// UnmarshalText reads a list such as strict,relaxed.
func (f *fstFlag) UnmarshalText(text []byte) error {
	for kind := range strings.SplitSeq(string(text), ",") {
		switch kind {
		case "strict":
			f.Strict = true
		case "relaxed":
			f.Relaxed = true
		default:
			return fmt.Errorf("%q: must be strict, relaxed or strict,relaxed", kind)
		}
	}
	return nil
}

// simulate runs the workload, and finds fair start times or tells start times if requested.
func (c *runCommand) simulate(ctx context.Context, w *condorsim.Workload, config negotiator.Config,
	sinks ...negotiator.Sink,
) (*condorsim.Result, error) {
	if c.Eta != 0 {
		return c.simulateEta(ctx, w, config, sinks...)
	}
	if c.Fst == (fstFlag{}) {
		return condorsim.Run(ctx, w, config, nil, sinks...)
	}
	if err := w.Steady("--fst: fair start times"); err != nil {
		return nil, cli.Bad(err)
	}
	fair := condorsim.Fair(c.Fst)
	fair.Capped = c.JobsOut == "" // the table has columns for them
	return condorsim.RunFair(ctx, w, config, fair, sinks...)
}
