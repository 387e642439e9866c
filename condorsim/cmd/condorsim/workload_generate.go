package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/generate"
	"github.com/condor-backfill/condor-backfill/condorsim/output/survey"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// generateCommand is condorsim workload generate.
type generateCommand struct {
	Lublin lublinCommand `cmd:"" help:"By the model of Lublin and Feitelson."`
	Simple simpleCommand `cmd:"" help:"By a few distributions."`
}

// generateFlags are the flags of all generators.
type generateFlags struct {
	Jobs          int    `default:"10000" placeholder:"N" help:"How many jobs, 10000 by default."`
	Cpus          int64  `default:"128" placeholder:"N" help:"Processors of the machine, 128 by default."`
	Memory        int64  `placeholder:"MIB" help:"Memory of the machine; by default memory is no resource."`
	Seed          uint64 `placeholder:"N" help:"The same seed gives the same trace; 0 by default."`
	EstimateModel string `default:"accurate" placeholder:"MODEL" help:"${generate_estimate_model}"`
	MemoryModel   string `placeholder:"MODEL" help:"${generate_memory_model}"`
	outFlags
}

// generator generates a trace and names it.
type generator interface {
	Trace(name string) (*workload.Trace, error)
}

// run generates and writes a trace, named after the output file, or fallback on standard output.
// load is the load to scale it to; 0: unchanged.
func (f generateFlags) run(p *process, g generator, fallback string, load float64) error {
	name := fallback
	if f.Out != "-" {
		_, plain := packed.ByName(filepath.Base(f.Out))
		name = strings.TrimSuffix(plain, filepath.Ext(plain))
	}
	switch model := workload.EstimateModel(f.EstimateModel); {
	case model == "", model == "given":
		return cli.Bad(errors.New("--estimate-model given: there is no trace yet whose estimates could be taken; give " +
			"accurate, f:F or tsafrir"))
	case model.Lies():
		return cli.Bad(workload.ErrLies)
	}
	out, err := f.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	trace, err := g.Trace(name)
	if err != nil {
		return cli.Bad(err)
	}
	trace.Machine.Memory = f.Memory
	if workload.MemoryModel(f.MemoryModel).IsField() {
		return cli.Bad(fmt.Errorf("--memory-model %s: there is no trace yet whose memory could be read; give "+
			"per-cpu:MIB or lognormal:MEDIAN:SIGMA", f.MemoryModel))
	}
	x := workload.Transform{
		Estimates: workload.EstimateModel(f.EstimateModel),
		Memory:    workload.MemoryModel(f.MemoryModel), Seed: f.Seed,
	}
	if load != 0 {
		const least, most = 0.001, 1000
		if !(least <= load && load <= most) { // also refuses NaN
			return cli.Bad(fmt.Errorf("target-load: %v: must be from %v to %v", load, least, most))
		}
		offered := survey.Of(trace).Load
		if offered == 0 {
			return cli.Bad(fmt.Errorf("a load of %v cannot be had from jobs that offer none; generate more of them",
				load))
		}
		x.Load = load / offered
	}
	if trace, err = trace.Transform(x); err != nil {
		return cli.Bad(err)
	}
	return out.write(trace)
}

// lublinCommand is condorsim workload generate lublin.
type lublinCommand struct {
	generateFlags
	Kind       string  `enum:"all,batch,interactive,both" default:"all" help:"${lublin_kind}"`
	TargetLoad float64 `placeholder:"F" help:"${lublin_target_load}"`
}

// Help is shown below the flags.
func (*lublinCommand) Help() string {
	return `The model of Lublin and Feitelson (J. Parallel and Distributed Computing 63(11), 2003), with the
parameters of the authors' program.

Examples:
  condorsim workload generate lublin --jobs 5000 --cpus 256 --seed 1 --out lublin.swf.gz
  condorsim workload generate lublin --kind both --target-load 0.9 --estimate-model tsafrir > trace.swf`
}

// Run generates.
func (c *lublinCommand) Run(p *process) error {
	g := generate.Lublin{Jobs: c.Jobs, Processors: c.Cpus, Kind: generate.Kind(c.Kind), Seed: c.Seed}
	return c.run(p, g, "lublin", c.TargetLoad)
}

// simpleCommand is condorsim workload generate simple.
type simpleCommand struct {
	generateFlags
	TargetLoad float64 `default:"0.9" placeholder:"F" help:"Load that the jobs offer, 0.9 by default."`
	Shape      float64 `default:"1" placeholder:"K" help:"${simple_shape}"`
	Widths     string  `enum:"powers,uniform" default:"powers" help:"Processors of a job: powers of two, or uniform."`
	Widest     int64   `placeholder:"N" help:"Processors of the widest job; by default the machine's."`
	RunMedian  float64 `default:"1800" placeholder:"S" help:"${simple_run_median}"`
	RunSigma   float64 `default:"1.5" placeholder:"SIGMA" help:"Standard deviation of their logarithm, 1.5 by default."`
	RunLongest int64   `placeholder:"S" help:"Longest run time; by default a week."`
	Users      int     `default:"20" placeholder:"N" help:"How many users there are, 20 by default."`
	Zipf       float64 `default:"1.2" placeholder:"S" help:"${simple_zipf}"`
}

// Help is shown below the flags.
func (*simpleCommand) Help() string {
	return `Gaps, widths, run times, users and memory are independent of each other.

Examples:
  condorsim workload generate simple --jobs 2000 --cpus 64 --target-load 0.95 --seed 1 --out simple.swf.gz
  condorsim workload generate simple --estimate-model f:3 --memory 262144 --memory-model lognormal:1024:1
  condorsim workload generate simple --shape 0.6 --widths uniform --widest 32 --run-sigma 2`
}

// Run generates.
func (c *simpleCommand) Run(p *process) error { return c.run(p, c.generator(), "simple", 0) }

// generator returns what the flags describe.
func (c *simpleCommand) generator() generate.Simple {
	g := generate.Simple{
		Jobs: c.Jobs, Processors: c.Cpus, Memory: c.Memory, Seed: c.Seed, Load: c.TargetLoad, Shape: c.Shape,
		Widest: c.Widest, RunMedian: c.RunMedian, RunSigma: c.RunSigma,
		RunLongest: c.RunLongest, Users: c.Users, ZipfExponent: c.Zipf,
	}
	if c.Widths != string(generate.WidthsPowers) {
		g.Widths = generate.Widths(c.Widths)
	}
	return g
}
