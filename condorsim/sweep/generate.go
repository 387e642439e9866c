package sweep

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/generate"
)

// Generate generates a trace, anew for each seed of the sweep. Fields that a model does not use
// must be left out.
type Generate struct {
	Model string `yaml:"model"` // lublin or simple
	Jobs  int    `yaml:"jobs"`
	CPUs  int64  `yaml:"cpus"`

	Kind string `yaml:"kind"` // lublin

	// Of simple; see generate.Simple.
	Memory     int64   `yaml:"memory"` // MiB
	Load       float64 `yaml:"load"`
	Shape      float64 `yaml:"shape"`
	Widths     string  `yaml:"widths"`
	Widest     int64   `yaml:"widest"`
	RunMedian  float64 `yaml:"run_median"`
	RunSigma   float64 `yaml:"run_sigma"`
	RunLongest int64   `yaml:"run_longest"`
	Users      int     `yaml:"users"`
	Zipf       float64 `yaml:"zipf"`
}

// UnmarshalYAML reads the parameters. Those that are left out are what condorsim workload generate takes
// by default; so 0 is what somebody said.
func (g *Generate) UnmarshalYAML(read func(any) error) error {
	type plain Generate
	simple := generate.UsualSimple(generate.UsualJobs, generate.UsualProcessors)
	usual := plain{
		Jobs: simple.Jobs, CPUs: simple.Processors, Load: simple.Load, Shape: simple.Shape, RunMedian: simple.RunMedian,
		RunSigma: simple.RunSigma, Users: simple.Users, Zipf: simple.ZipfExponent,
	}
	if err := read(&usual); err != nil {
		return err
	}
	*g = Generate(usual)
	return nil
}

// trace generates the trace.
func (g *Generate) trace(name string, seed uint64) (*workload.Trace, error) {
	if g.Model == "lublin" {
		return generate.Lublin{Jobs: g.Jobs, Processors: g.CPUs, Kind: generate.Kind(g.Kind), Seed: seed}.Trace(name)
	}
	return g.simple(seed).Trace(name)
}

func (g *Generate) simple(seed uint64) generate.Simple {
	return generate.Simple{
		Jobs: g.Jobs, Processors: g.CPUs, Memory: g.Memory, Seed: seed, Load: g.Load, Shape: g.Shape,
		Widths: generate.Widths(g.Widths), Widest: g.Widest, RunMedian: g.RunMedian, RunSigma: g.RunSigma,
		RunLongest: g.RunLongest, Users: g.Users, ZipfExponent: g.Zipf,
	}
}

// generate checks the parameters by generating a few jobs.
func (c *checker) generate(path string, g *Generate) {
	c.oneOf(path+".model", g.Model, "lublin", "simple")
	few := *g
	few.Jobs = min(g.Jobs, 2)
	switch g.Model {
	case "":
		c.say(path, "which model makes the trace up is not said: model must be lublin or simple")
	case "lublin":
		if g.simple(0) != generate.UsualSimple(g.Jobs, g.CPUs) {
			c.say(path, "the model lublin knows jobs, cpus and kind only")
		}
		c.few(path, &few)
	case "simple":
		if g.Kind != "" {
			c.say(path+".kind", "the model simple has no kinds")
		}
		c.few(path, &few)
	}
}

// few generates a few jobs. What is wrong is told by the names of flags, which have hyphens.
func (c *checker) few(path string, g *Generate) {
	if _, err := g.trace("check", 0); err != nil {
		c.say(path, "%s", strings.ReplaceAll(err.Error(), "run-", "run_"))
	}
}
