package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/alecthomas/kong"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// etaFlag says how many jobs are told their starts; 0: none.
type etaFlag int

// Decode reads the number, which may be missing.
func (f *etaFlag) Decode(ctx *kong.DecodeContext) error {
	*f = condorsim.DefaultEtaJobs
	token := ctx.Scan.Peek()
	text, ok := token.Value.(string)
	if !ok || !token.IsValue() {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("%q: must be a number of jobs, at least 1", text)
	}
	ctx.Scan.Pop()
	*f = etaFlag(n)
	return nil
}

// simulateEta runs the workload and tells jobs their starts on the way.
func (c *runCommand) simulateEta(ctx context.Context, w *condorsim.Workload, config negotiator.Config,
	sinks ...negotiator.Sink,
) (*condorsim.Result, error) {
	if err := w.Steady("--eta: start times"); err != nil {
		return nil, cli.Bad(err)
	}
	spec := config.Policy.Spec()
	settings := c.settings().Under(spec, spec.OrderUnless(c.Order))
	if c.Policy == auto.Name {
		settings = auto.Under(c.settings())
	}
	return condorsim.RunEta(ctx, w, config, condorsim.Eta{
		Jobs: int(c.Eta), Seed: c.Seed, Estimates: settings,
		Open: func(name string) (io.ReadCloser, error) { return os.Open(name) },
	}, sinks...)
}
