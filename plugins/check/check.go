package check

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// Options say how a plugin is tried. Clock is needed; the rest may be zero.
type Options struct {
	// Policy are the policy's options.
	Policy map[string]string
	// Seed is that of the first random pool; the others follow.
	Seed uint64
	// Quick tries less of everything.
	Quick bool
	// NoMTLS leaves the connection unencrypted.
	NoMTLS bool
	// Deadline is how long a decision may take; 0: the host's default.
	Deadline time.Duration
	// Clock tells the time, for latencies.
	Clock func() time.Time
	// Log gets the plugin's log and its host's from LogLevel on; nil: nobody does.
	Log      io.Writer
	LogLevel hclog.Level
	// Progress hears what is being checked, and how much of all is done, up to 1.
	Progress func(check string, done float64)

	scale *scale // of tests
}

// Verdict is what a check came to.
type Verdict string

// The verdicts. A warning is advice; the plugin may have its reasons.
const (
	Passed  Verdict = "passed"
	Warning Verdict = "warning"
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped"
)

// Check is one thing that was tried.
type Check struct {
	Number  int     `json:"number"` // from 1
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Seen says in one or two sentences what was seen, or why it was not tried.
	Seen string `json:"seen"`
	// Do says what to do about it, if there is anything to do.
	Do string `json:"do,omitempty"`
	// Seed is that of the pool in which it shows, nil if it shows in any.
	Seed *uint64 `json:"seed,omitempty"`
	// Log are the last lines of the plugin's log, if it ended unasked.
	Log []string `json:"log,omitempty"`
}

// Report is what was found.
type Report struct {
	Plugin  string    `json:"plugin"` // path
	Policy  string    `json:"policy"` // name; empty if it did not get so far
	Doc     string    `json:"doc"`
	Seed    uint64    `json:"seed"`
	Quick   bool      `json:"quick"`
	Checks  []Check   `json:"checks"`
	Latency []Latency `json:"latency"`
	Resync  *Resync   `json:"resync,omitempty"`
	Passed  bool      `json:"passed"` // nothing failed and nothing was skipped
}

// Failed is how many of the checks failed.
func (r *Report) Failed() (n int) {
	for _, c := range r.Checks {
		if c.Verdict == Failed {
			n++
		}
	}
	return n
}

// OptionsError says that the policy does not take the options that were given, though
// it takes its own defaults.
type OptionsError struct{ err error }

func (e *OptionsError) Error() string { return e.err.Error() }
func (e *OptionsError) Unwrap() error { return e.err }

// Run tries a plugin. An error means that there is no verdict: the command is no
// plugin ([host.ErrNotPlugin]), it does not take the options ([OptionsError]), or the
// context ended. No process of the plugin is left then or later.
func Run(ctx context.Context, command host.Command, options Options) (*Report, error) {
	c := &checker{
		command: command, options: options, scale: full(),
		report:  &Report{Plugin: command.Path, Seed: options.Seed, Quick: options.Quick, Latency: []Latency{}},
		journal: map[uint64][]string{},
	}
	if options.Quick {
		c.scale = quick()
	}
	if options.scale != nil {
		c.scale = *options.scale
	}
	c.log()
	steps := []step{
		{"handshake", c.handshake},
		{"describe", c.describe},
		{"options", c.tryOptions},
		{"conformance", c.conformance},
		{"advice", c.advice},
		{"determinism", c.determinism},
		{"memory-less", c.memoryLess},
		{"branches", c.branches},
		{"restart", c.restart},
		{"end", c.end},
		{"latency", c.latency},
	}
	for i, s := range steps {
		c.progress = func(part float64) {
			if options.Progress != nil {
				options.Progress(s.name, (float64(i)+part)/float64(len(steps)))
			}
		}
		c.progress(0)
		check := skipped(c.stop)
		if c.stop == "" || s.name == "end" && c.spec.Name != "" {
			var err error
			if check, err = c.try(ctx, s); err != nil {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		check.Number, check.Name = i+1, s.name
		c.report.Checks = append(c.report.Checks, check)
	}
	c.report.Passed = !slices.ContainsFunc(c.report.Checks, func(k Check) bool { return k.Verdict == Failed || k.Verdict == Skipped })
	return c.report, nil
}

// step is a check to be made.
type step struct {
	name string
	do   func(context.Context) (Check, error)
}

// try makes a check. Once one has failed there is a verdict, which stands even if a
// later one cannot be made, such as where a mistake of the core brings the fallback
// down as well.
func (c *checker) try(ctx context.Context, s step) (Check, error) {
	check, err := s.do(ctx)
	if err != nil && ctx.Err() == nil && c.report.Failed() > 0 {
		return skipped("it could not be tried: " + c.plain(err)), nil
	}
	return check, err
}

// scale is how much is tried.
type scale struct {
	pools, rounds int // of the conformance check
	compared      int // pools, in the checks that compare
	restarts      int // in each of them
	slots, jobs   []int
	samples       int           // decisions that are timed, per size
	budget        time.Duration // of each size
	patience      time.Duration // with a plugin that should end
}

func full() scale {
	return scale{
		pools: 30, rounds: 100, compared: 9, restarts: 3, samples: 200, budget: 2 * time.Second, patience: 10 * time.Second,
		slots: []int{1, 100, 1000, 10_000}, jobs: []int{0, 100, 1000, 10_000},
	}
}

func quick() scale {
	return scale{
		pools: 9, rounds: 60, compared: 3, restarts: 1, samples: 50, budget: 500 * time.Millisecond, patience: 3 * time.Second,
		slots: []int{1, 100, 1000}, jobs: []int{0, 100, 1000},
	}
}

// checker is a plugin that is being tried.
type checker struct {
	command  host.Command
	options  Options
	scale    scale
	report   *Report
	logger   hclog.Logger
	tail     tail
	progress func(part float64) // of the check that is being made

	spec     backfill.Spec
	declared []*policyv1.Option
	knows    wire.Features
	// stop is why nothing more need be tried; empty if more can be.
	stop    string
	advised Check
	// journal is what was decided in each of the compared pools, and unlike why there is
	// no comparing; empty if there is.
	journal map[uint64][]string
	unlike  string
}

// pool is the seed of the nth pool. Every fourth has bundles, or none, if the plugin does
// not know what they are.
func (c *checker) pool(n int) uint64 {
	seed := c.options.Seed + uint64(n)
	switch {
	case c.knows&wire.Bundles == 0:
		return seed % conformance.Partitioned
	case n%4 == 3:
		return conformance.Partitioned + seed
	default:
		return seed
	}
}

// start starts the plugin, with more in its environment.
func (c *checker) start(ctx context.Context, policy map[string]string, env ...string) (*host.Remote, error) {
	command := c.command
	command.Env = slices.Concat(command.Env, env)
	c.tail.clear()
	return host.Start(ctx, command, host.Options{Policy: policy, Deadline: c.options.Deadline, NoMTLS: c.options.NoMTLS, Logger: c.logger})
}

func passed(format string, args ...any) Check {
	return Check{Verdict: Passed, Seen: fmt.Sprintf(format, args...)}
}

func failed(do, format string, args ...any) Check {
	return Check{Verdict: Failed, Seen: fmt.Sprintf(format, args...), Do: do}
}

func skipped(why string) Check { return Check{Verdict: Skipped, Seen: why} }

// at says in which pool it shows.
func (k Check) at(seed uint64) Check {
	k.Seed = &seed
	return k
}

// plain is an error without what the reader of a report knows.
func (c *checker) plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "start "+c.command.Path+": ")
	return strings.TrimPrefix(text, "policy plugin "+c.spec.Name+": ")
}
