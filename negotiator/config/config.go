// Package config holds the negotiator's settings: one table, in which each setting has one entry
// ([Setting]), and the [Config] that the table fills.
//
// The YAML file is read strictly, so that a misspelt key is an error with its line and not a setting
// that silently does nothing. HTCondor's configuration is read by package condorconfig, from the same
// table.
//
// A new setting is a field and an entry, side by side in one of the files of the table; then
// "UPDATE=1 go test ./configs" writes it into the files for users.
//
// Files: setting.go what an entry is; config.go, estimators.go, simulated.go, real.go, serving.go,
// recording.go and plugins.go the table; file.go reading and placing errors; reload.go what a reload changes.
package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Config is the content of a configuration file. [Default] supplies what the file leaves out; flags
// of the command line override it.
type Config struct {
	// Policy is a policy's name or a plugin's path; Options are its settings.
	Policy  string
	Options map[string]string
	// Fallback is the linked-in policy that decides when Policy fails; empty means conservative if
	// Policy gives guarantees, else easy.
	Fallback string
	// Order is the queue's priority function; empty means the policy's own, on a real pool
	// [negotiator.FairShare]. Placement is the choice of slots.
	Order     string
	Placement string
	// PlanDepth is the most waiting jobs that a policy with guarantees promises a start; 0 means no
	// limit. PlanHorizon bounds their work, see [backfill.Planning]; 0 means no limit. Reorder lets it
	// promise starts in the queue's order.
	PlanDepth   int
	PlanHorizon time.Duration
	Reorder     bool
	// Pool is "simulated" (the embedded pool), a file of slot ads, htcondor://HOST:PORT or
	// [LocalPool]. Workload is a file of job ads; empty means the embedded one.
	Pool     string
	Workload string
	// Dependencies is ignore if jobs are submitted when they were, whatever they waited for; or honour.
	Dependencies string
	// Speed is the number of simulated seconds per real second, or "max".
	Speed string
	Estimators
	// EstimateAttributes are the job attributes that may hold the run time in seconds; the first
	// that is set counts. DefaultEstimate is for jobs that have none of them.
	EstimateAttributes []string
	DefaultEstimate    time.Duration
	Plugins            Plugins
	// SlotEnds are the attributes of slots that may say when they end, in seconds since 1970; the first
	// that is a number counts. none among them stands for no attribute.
	SlotEnds []string
	// Resources are what jobs request and slots have, cpus first.
	Resources []string
	Simulated
	Real
	Tuning
	Serving
	Recording
	// LogLevel is trace, debug, info, warn, error or off; empty leaves it to the command.
	LogLevel string
}

// MostFutures is the largest number of futures: more tell nothing new.
const MostFutures = 1000

// levels are the log levels; "" leaves it to the command.
var levels = []string{"", "trace", "debug", "info", "warn", "error", "off"}

var deciding = []Setting{
	set(func(c *Config) *string { return &c.Policy }, "ibb", Setting{
		Key: "policy", Knob: "BACKFILL_POLICY", OnReal: "slack",
		Doc: "The policy that decides: a name, a plugin's path, or auto, which chooses policy and order.",
		More: `"negotiator policies" lists the names. If another one is taken up while it runs, what was promised ` +
			"stays promised, unless the new one gives no guarantees: then the log says how many promises are lifted.",
		Check: func(c *Config) error {
			return must(c.Policy != "", `""`, "must be a policy's name or a plugin's path")
		},
	}),
	set(func(c *Config) *map[string]string { return &c.Options }, nil, Setting{
		Key: "policy_options", Knob: "BACKFILL_POLICY_OPTIONS",
		Doc: `Options of the policy, which "negotiator policies" lists.`,
		More: "On a real pool easy has keep=true where nothing is said. The portfolio of auto may name plugins as " +
			"policy may: {portfolio: 'slack:sjf mine:wfp'}.",
		Example: map[string]string{"depth": "2"},
	}),
	set(func(c *Config) *string { return &c.Fallback }, "", Setting{
		Key: "fallback", Knob: "BACKFILL_FALLBACK",
		Doc: "The linked-in policy that decides where the first one cannot.",
		More: "It gives guarantees if and only if that one does. Where nothing is said it is conservative if that " +
			"one does, else easy; under auto leave it out.",
		Example: "easy",
		Check: func(c *Config) error {
			if c.Fallback == "" {
				return nil
			}
			_, err := policies.Named(c.Fallback)
			return err
		},
	}),
	set(func(c *Config) *string { return &c.Order }, "", Setting{
		Key: "order", Knob: "BACKFILL_ORDER", KnobDefault: negotiator.FairShare,
		Doc: "The queue's order: fcfs, sjf, ljf, area, widest, narrowest, wfp, wfp-wide, xfactor, fairshare or expr:EXPRESSION.",
		More: "Where nothing is said it is the one that the policy names, else fcfs. On a real pool it is fairshare, by " +
			"HTCondor's user priorities (condor_userprio) and group quotas, whatever the policy names; a simulated one " +
			"has the groups of its file. Under the policy auto leave it out.",
		Check: func(c *Config) error {
			if c.Order == "" || c.Order == negotiator.FairShare {
				return nil
			}
			_, err := negotiator.OrderNamed(c.Order)
			return err
		},
	}),
	set(func(c *Config) *int { return &c.PlanDepth }, 0, Setting{
		Key: "plan_depth", Knob: "BACKFILL_PLAN_DEPTH", OnReal: 10_000,
		Doc:  "The most waiting jobs that conservative, pc, dc and slack promise a start; 0: all.",
		More: "The others may start beside them, and are promised a start when jobs before them have started.",
		Check: func(c *Config) error {
			return must(c.PlanDepth >= 0, c.PlanDepth, "must be at least 1, or 0 for no limit")
		},
	}),
	set(func(c *Config) *time.Duration { return &c.PlanHorizon }, 0, Setting{
		Key: "plan_horizon", Knob: "BACKFILL_PLAN_HORIZON", OnReal: 90 * time.Second,
		Doc: "For how long all jobs that are promised a start could keep the whole pool busy at most, and those of one " +
			"user half as long; 0: no limit.",
		More: "So a user who comes later waits hardly longer for the promises of those who were first. One job of each " +
			"user is promised a start, however large it is.",
		Check: func(c *Config) error {
			return must(c.PlanHorizon >= 0 && c.PlanHorizon%time.Second == 0, c.PlanHorizon,
				"must be at least 1s, in whole seconds, or 0s for no limit")
		},
	}),
	set(func(c *Config) *bool { return &c.Reorder }, false, Setting{
		Key: "reorder", Knob: "BACKFILL_REORDER", OnReal: true,
		Doc:  "Promise starts in the queue's order, not in the order in which jobs were submitted.",
		More: "Promises that were given stay.",
	}),
	set(func(c *Config) *int { return &c.Futures }, ahead.DefaultFutures, Setting{
		Key: "futures", Knob: "BACKFILL_FUTURES",
		Doc:  "In how many futures starts are looked for, to tell the range of each; 1: no ranges.",
		More: "The run times in them are drawn from what is known of past jobs.",
		Check: func(c *Config) error {
			return must(c.Futures >= 1 && c.Futures <= MostFutures, c.Futures,
				fmt.Sprintf("must be from 1, without ranges, to %d", MostFutures))
		},
	}),
}

var reading = []Setting{
	set(func(c *Config) *string { return &c.Pool }, "simulated", Setting{
		Key: "pool", Restart: true,
		Doc: "The pool: slot ads, a description (YAML, or built in, such as tiny-bgp), or simulated, the built-in " +
			"four nodes; a real one is htcondor://HOST:PORT of its collector, or htcondor, that of this machine's HTCondor.",
		Check: func(c *Config) error {
			_, err := c.Collector()
			return err
		},
	}),
	set(func(c *Config) *string { return &c.Workload }, "", Setting{
		Key: "workload", Restart: true,
		Doc: "A simulated pool's jobs: a file that condorsim run takes (condorsim workload formats), or a trace that is built in, " +
			"such as lublin-128; 54 built-in jobs where nothing is said.",
	}),
	set(func(c *Config) *string { return &c.Dependencies }, "honour", Setting{
		Key: "dependencies", Restart: true,
		Doc: "Whether a simulated pool's jobs with a preceding job (fields 17 and 18 of SWF) are submitted after its end and " +
			"the think time (honour), or when they were (ignore).",
		Check: func(c *Config) error {
			return must(slices.Contains([]string{"honour", "ignore"}, c.Dependencies), c.Dependencies,
				"must be honour or ignore")
		},
	}),
	set(func(c *Config) *string { return &c.Speed }, "40", Setting{
		Key: "speed", Restart: true,
		Doc: "Simulated seconds in a second, or max.",
		Check: func(c *Config) error {
			_, err := ParseSpeed(c.Speed)
			return err
		},
	}),
	set(func(c *Config) *string { return &c.Placement }, profile.ByRank.String(), Setting{
		Key: "placement", Knob: "BACKFILL_PLACEMENT", Restart: true,
		Doc: profile.RuleHelp,
		Check: func(c *Config) error {
			_, err := profile.ParseRule(c.Placement)
			return err
		},
	}),
	set(func(c *Config) *[]string { return &c.EstimateAttributes }, negotiator.DefaultSchema().Estimates, Setting{
		Key: "estimate_attributes", Knob: "BACKFILL_ESTIMATE_ATTRIBUTES", Restart: true,
		Doc: "Job attributes that may hold the expected run time in seconds; the first that is a number above 0 counts.",
		More: "Of a simulated pool they may also be expressions or have a unit (s, min, h, d), such as MaxWallTimeMins:min; " +
			"an attribute that is named here and that no job has is an error there.",
		Check: func(c *Config) error {
			name := regexp.MustCompile(`^[A-Za-z_]\w*$`)
			wrong := slices.ContainsFunc(c.EstimateAttributes, func(text string) bool {
				return text == "" || c.OnRealPool() && !name.MatchString(text)
			})
			return must(!wrong, fmt.Sprintf("%q", c.EstimateAttributes), "must be names of attributes")
		},
	}),
	set(func(c *Config) *[]string { return &c.SlotEnds }, negotiator.DefaultSchema().SlotEnds, Setting{
		Key: "slot_end", Knob: "BACKFILL_SLOT_END", Restart: true,
		Doc: "Slot attributes that may say when the slot ends, in seconds since 1970; the first that is such a number counts; none: no one.",
		More: "Jobs with an estimate of their own start only where they end in time, others preferably where most time is " +
			"left. A slot's DaemonShutdown is heeded whatever is said here.",
		Check: func(c *Config) error {
			return must(!slices.Contains(c.SlotEnds, ""), fmt.Sprintf("%q", c.SlotEnds), "must be names of attributes")
		},
	}),
	set(func(c *Config) *time.Duration { return &c.DefaultEstimate }, time.Duration(negotiator.DefaultEstimate)*time.Second, Setting{
		Key: "default_estimate", Knob: "BACKFILL_DEFAULT_ESTIMATE", Restart: true,
		Doc: "What jobs that have no such attribute are planned with.",
		Check: func(c *Config) error {
			return must(c.DefaultEstimate >= time.Second && c.DefaultEstimate%time.Second == 0, c.DefaultEstimate,
				"must be at least 1s, in whole seconds")
		},
	}),
	set(func(c *Config) *[]string { return &c.Resources }, negotiator.DefaultSchema().Resources, Setting{
		Key: "resources", Knob: "BACKFILL_RESOURCES", Restart: true,
		Doc: "The resources that jobs request and slots have, cpus first.",
		Check: func(c *Config) error {
			return must(len(c.Resources) > 0 && strings.EqualFold(c.Resources[0], "cpus") &&
				!slices.Contains(c.Resources, ""), fmt.Sprintf("%q", c.Resources), "must be names of resources, cpus first")
		},
	}),
}

var logging = []Setting{
	set(func(c *Config) *string { return &c.LogLevel }, "", Setting{
		Key: "log_level", Doc: "trace, debug, info, warn, error or off, for plugins as well; info where nothing is said.",
		Check: func(c *Config) error {
			return must(slices.Contains(levels, c.LogLevel), c.LogLevel, "must be one of"+strings.Join(levels, " "))
		},
	}),
}

// Default returns the configuration without any file or flag.
func Default() (c Config) {
	for _, s := range settings() {
		if s.Target != nil {
			s.reset(&c, s.Default)
		}
	}
	return c
}

// ForPool returns the default configuration for a real pool.
func ForPool(pool string) Config {
	c := Default()
	for _, s := range settings() {
		if s.OnReal != nil {
			s.reset(&c, s.OnReal)
		}
	}
	c.Pool = pool
	return c
}

// OrderUnder returns the name of the order that the queue has under a policy: on a real pool
// [negotiator.FairShare] unless another is chosen, as user priorities count there; else the policy's own.
func (c Config) OrderUnder(policy backfill.PolicySpec) string {
	if c.Order == "" && c.OnRealPool() {
		return negotiator.FairShare
	}
	return policy.OrderUnless(c.Order)
}

// Planning returns how far a policy that gives guarantees plans.
func (c Config) Planning() backfill.Planning {
	return backfill.Planning{
		Depth: c.PlanDepth, Reorder: c.Reorder, Horizon: backfill.Time(c.PlanHorizon / time.Second),
	}
}

// Schema returns how ads are read under this configuration.
func (c Config) Schema() negotiator.Schema {
	s := negotiator.DefaultSchema()
	s.Resources, s.Estimates = c.Resources, c.EstimateAttributes
	s.Labels = append(c.labels(), c.EstimateSettings().Labels()...)
	slices.Sort(s.Labels)
	s.Labels = slices.Compact(s.Labels)
	s.SlotEnds = slices.DeleteFunc(slices.Clone(c.SlotEnds), func(name string) bool {
		return strings.EqualFold(name, "none") // HTCondor takes a knob without a value for not set
	})
	return s
}

// minSpeed is the lowest speed: the simulated pool is a thousand times slower than a real one.
const minSpeed = 0.001

// ParseSpeed reads the number of simulated seconds per real second: a positive number, or "max",
// which is infinity.
func ParseSpeed(text string) (float64, error) {
	if text == "max" {
		return math.Inf(1), nil
	}
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed >= minSpeed) || math.IsInf(speed, 0) {
		return 0, fmt.Errorf("%q: must be max or a number of at least %v", text, minSpeed)
	}
	return speed, nil
}
