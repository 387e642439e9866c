package check

import (
	"cmp"
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
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// Options configure a check. Clock is required; the other fields may be zero.
type Options struct {
	// Policy holds the policy's options.
	Policy map[string]string
	// Seed is the seed of the first random pool; the others follow it.
	Seed uint64
	// Quick makes every check shorter.
	Quick bool
	// NoMTLS leaves the connection unencrypted.
	NoMTLS bool
	// Reads are files and folders that the plugin may read besides its own.
	Reads []string
	// Deadline limits a decision; 0 means the host's default.
	Deadline time.Duration
	// Clock returns the time, for latencies.
	Clock func() time.Time
	// Log receives the logs of the plugin and its host from LogLevel on; nil means no log.
	Log      io.Writer
	LogLevel hclog.Level
	// Progress is called with the check in progress and the fraction of all that is done, up to 1.
	Progress func(check string, done float64)

	scale *scale   // of tests
	only  []string // names of the checks to run, in tests
}

// Verdict is the result of a check.
type Verdict string

// The verdicts. A warning is advice, which the plugin's author may have reasons not to follow. A
// check is inconclusive if the fallback decided some of the rounds that it rests on.
const (
	Passed       Verdict = "passed"
	Warning      Verdict = "warning"
	Failed       Verdict = "failed"
	Inconclusive Verdict = "inconclusive"
	Skipped      Verdict = "skipped"
)

// Check is one check with its result.
type Check struct {
	Number  int     `json:"number"` // from 1
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Seen says in one or two sentences what was observed, or why the check was skipped.
	Seen string `json:"seen"`
	// Do says how to mend the plugin, if there is anything to mend.
	Do string `json:"do,omitempty"`
	// Seed is the seed of the pool in which the fault shows; nil if it shows in any.
	Seed *uint64 `json:"seed,omitempty"`
	// Log is the end of the plugin's log, if the plugin ended unexpectedly.
	Log []string `json:"log,omitempty"`
}

// Report is the result of all checks.
type Report struct {
	Plugin  string    `json:"plugin"` // path
	Policy  string    `json:"policy"` // name; empty if the plugin did not get as far as saying it
	Doc     string    `json:"doc"`
	Seed    uint64    `json:"seed"`
	Quick   bool      `json:"quick"`
	Checks  []Check   `json:"checks"`
	Latency []Latency `json:"latency"`
	Resync  *Resync   `json:"resync,omitempty"`
	Passed  bool      `json:"passed"` // every check passed, perhaps with a warning
}

// Failed returns the number of failed checks.
func (r *Report) Failed() (n int) {
	for _, c := range r.Checks {
		if c.Verdict == Failed {
			n++
		}
	}
	return n
}

// OptionsError says that the policy accepts its own defaults but not the given options.
type OptionsError struct{ err error }

func (e *OptionsError) Error() string { return e.err.Error() }
func (e *OptionsError) Unwrap() error { return e.err }

// Run checks a plugin. An error means that there is no verdict: the command is not a plugin
// ([host.ErrNotPlugin]), the policy does not accept the options ([OptionsError]), or the context
// ended. No process of the plugin is left after Run.
func Run(ctx context.Context, command host.Command, options Options) (*Report, error) {
	c := &checker{
		command: command, options: options, scale: full(),
		report:  &Report{Plugin: command.Path, Seed: options.Seed, Quick: options.Quick, Latency: []Latency{}},
		journal: map[uint64][]conformance.Step{},
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
	if options.only != nil {
		steps = slices.DeleteFunc(steps, func(s step) bool { return !slices.Contains(options.only, s.name) })
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
	c.report.Passed = !slices.ContainsFunc(c.report.Checks,
		func(k Check) bool { return k.Verdict != Passed && k.Verdict != Warning })
	return c.report, nil
}

// step is a check to run.
type step struct {
	name string
	do   func(context.Context) (Check, error)
}

// try runs a check. A check that passed is inconclusive if rounds were decided by the fallback. If
// an earlier check has failed, a check that cannot run is skipped and the verdict stands; this may
// happen when a mistake of the core also stops the fallback.
func (c *checker) try(ctx context.Context, s step) (Check, error) {
	c.played = played{}
	check, err := s.do(ctx)
	switch {
	case err != nil && ctx.Err() == nil && c.report.Failed() > 0:
		return skipped("it could not be tried: " + c.plain(err)), nil
	case err == nil && check.Verdict == Passed && c.played.lost > 0:
		return c.inconclusive(), nil
	}
	return check, err
}

// played counts the rounds that a check rests on.
type played struct {
	rounds, lost int    // lost: decided by the fallback, since the policy's own decision did not count
	why          string // of the first that was lost
}

// count adds rounds, of which some were lost; why is the reason of the first.
func (p *played) count(rounds, lost int, why string) {
	p.rounds += rounds
	if p.lost += lost; lost > 0 {
		p.why = cmp.Or(p.why, why)
	}
}

// inconclusive returns a check whose rounds were not all decided by the policy. What there is to do
// belongs to the check that failed for the same reason, if there is one.
func (c *checker) inconclusive() Check {
	check := Check{
		Verdict: Inconclusive,
		Seen: fmt.Sprintf("the fallback decided %d of %s, so that this says nothing about the policy: %s", c.played.lost,
			count(c.played.rounds, "round"), c.nameless(c.played.why)),
	}
	if c.report.Failed() == 0 {
		check.Do, check.Log = "let the policy decide every round itself, and check again", c.tail.last()
	}
	return check
}

// scale is the amount of testing.
type scale struct {
	pools, rounds int // of the conformance check
	compared      int // number of pools in the checks that compare decisions
	restarts      int // in each of these pools
	slots, jobs   []int
	samples       int           // timed decisions per size
	budget        time.Duration // for each size
	patience      time.Duration // for a plugin that should end
}

func full() scale {
	return scale{
		pools: 30, rounds: 100, compared: 9, restarts: 3, samples: 200, budget: 2 * time.Second,
		patience: 10 * time.Second,
		slots:    []int{1, 100, 1000, 10_000}, jobs: []int{0, 100, 1000, 10_000},
	}
}

func quick() scale {
	return scale{
		pools: 9, rounds: 60, compared: 3, restarts: 1, samples: 50, budget: 500 * time.Millisecond,
		patience: 3 * time.Second,
		slots:    []int{1, 100, 1000}, jobs: []int{0, 100, 1000},
	}
}

// checker is a plugin that is being checked.
type checker struct {
	command  host.Command
	options  Options
	scale    scale
	report   *Report
	logger   hclog.Logger
	tail     tail
	progress func(part float64) // of the current check

	spec     backfill.PolicySpec
	declared []*policyv1.Option
	knows    wire.Features
	// stop is the reason why no further checks make sense; empty if they do.
	stop    string
	advised Check
	played  played // in the current check
	// journal holds the decisions in each of the compared pools, by the pool's seed; incomparable
	// is the reason why decisions cannot be compared, empty if they can.
	journal      map[uint64][]conformance.Step
	incomparable string
}

// pool returns the seed of the nth pool, of a kind that the plugin knows.
func (c *checker) pool(n int) uint64 {
	knows := func(f wire.Features) bool { return c.knows&f != 0 }
	return conformance.Pool(n, c.options.Seed, conformance.Kinds{
		Partitioned: knows(wire.Bundles), Deferred: knows(wire.Release), Shallow: knows(wire.PlanDepth),
		Windowed: knows(wire.Windows), Limited: knows(wire.Limits), Ending: knows(wire.Ends), Sparing: knows(wire.Least),
		Preempting: knows(wire.Preemption),
	})
}

// start starts the plugin with additional environment variables.
func (c *checker) start(ctx context.Context, policy map[string]string, env ...string) (*host.Remote, error) {
	command := c.command
	command.Env = slices.Concat(command.Env, env)
	c.tail.clear()
	options := c.running()
	options.Policy = policy
	return host.Start(ctx, command, options)
}

// running returns how the plugin runs.
func (c *checker) running() host.Options {
	return host.Options{
		Deadline: c.options.Deadline, NoMTLS: c.options.NoMTLS, Logger: c.logger, User: host.Nobody,
		Reads: c.options.Reads,
	}
}

func passed(format string, args ...any) Check {
	return Check{Verdict: Passed, Seen: fmt.Sprintf(format, args...)}
}

func failed(do, format string, args ...any) Check {
	return Check{Verdict: Failed, Seen: fmt.Sprintf(format, args...), Do: do}
}

func skipped(why string) Check { return Check{Verdict: Skipped, Seen: why} }

// at returns the check with the seed of the pool in which its result shows.
func (k Check) at(seed uint64) Check {
	k.Seed = &seed
	return k
}

// plain returns the text of an error without the plugin's path and the policy's name, which the
// report has already.
func (c *checker) plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "start "+c.command.Path+": ")
	return strings.TrimPrefix(text, "policy plugin "+c.spec.Name+": ")
}

// nameless returns the text of a finding without the policy's name.
func (c *checker) nameless(text string) string {
	return strings.Replace(text, "policy plugin "+c.spec.Name+": ", "", 1)
}
