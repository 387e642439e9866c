package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// check returns an error for invalid flags about what to run, measuring and estimates.
func (c *runCommand) check() error {
	named := cmp.Or(c.Workload, c.Instance)
	switch {
	case c.File != "" && named != "":
		return fmt.Errorf("%s and %s: name what to run once", c.File, named)
	case c.File == "" && named == "":
		return errors.New("name what to run: FILE, --workload FILE or --instance FILE; condorsim workload formats " +
			"describes what is read, and lublin-128 is built in")
	case slices.ContainsFunc(c.SlotEnd, isNoAttribute), len(c.SlotEnd) > 1 && slices.ContainsFunc(c.SlotEnd, isNone):
		return fmt.Errorf("--slot-end=%s: must be names of attributes, separated by commas, or none",
			strings.Join(c.SlotEnd, ","))
	case c.Without != nil && len(c.Without) == 0:
		return errors.New("--without is empty; name slots or machines of the pool, such as node7 or 'node*'")
	case len(c.With) == 1 && c.With[0] == "":
		return errors.New("--with is empty; say which slots, such as cpus=64,memory=256GiB,count=4")
	case c.Pool == "" && len(c.With)+len(c.Without) > 0:
		return errors.New("--with and --without change the slots of a pool: name it with --pool; without one the jobs " +
			"run on one machine, whose size is --cpus and --memory")
	case c.Pool == "" && c.SlotEnd != nil:
		return errors.New("--slot-end says when slots of a pool end: name it with --pool")
	case c.Bound < 1:
		return fmt.Errorf("--bound=%d: must be at least 1 s", c.Bound)
	case c.PlanDepth < 0:
		return fmt.Errorf("--plan-depth=%d: must be at least 1, or 0 for no limit", c.PlanDepth)
	case c.PlanHorizon < 0 || c.PlanHorizon > backfill.MaxTime:
		return fmt.Errorf("--plan-horizon=%d: must be from 1 to %d s, or 0 for no limit", c.PlanHorizon, int64(backfill.MaxTime))
	case c.Deadline < 0:
		return fmt.Errorf("--deadline=%v: must be positive, or 0 for none", c.Deadline)
	case c.CompareWithHistory && workload.Transform{Load: c.Load, Widths: c.ScaleWidths}.ForgetsWaits():
		return errors.New("--compare-with-history and --load or --scale-widths: what really happened, happened under the " +
			"load that there was")
	case c.PerUser && !c.JSON:
		return errors.New("--per-user is a part of the JSON object; add --json")
	case c.Predictions && c.JobsOut == "":
		return errors.New("--predictions adds columns to the table of jobs; say with --jobs-out where it goes")
	case c.RawNames && c.JobsOut == "":
		return errors.New("--raw-names is about the table of jobs; say with --jobs-out where it goes")
	case c.Anonymise && c.Record == "":
		return errors.New("--anonymise is about the record of the run; say with --record where it goes")
	case c.Predictions && jobtable.IsBatsim(c.JobsOut):
		return errors.New("--predictions: the table of Batsim has no columns for predictions; end its name with .csv alone")
	case c.CountEvents && c.Fst != (fstFlag{}):
		return errors.New("--fst and --count-events: ask for one at a time")
	case c.Eta != 0 && (c.CountEvents || c.Fst != (fstFlag{})):
		return errors.New("--eta, --fst and --count-events: ask for one at a time")
	case c.Fst != (fstFlag{}) && c.Order == negotiator.FairShare:
		return fmt.Errorf("--fst: %w", condorsim.ErrFairOrder)
	case c.Fst != (fstFlag{}) && c.settings().PredictsAgain():
		return fmt.Errorf("--fst: %w", condorsim.ErrFairAgain)
	default:
		return cmp.Or(c.ofOwnError(), checkJitter(c.jitter()), machineFlags{c.Cpus, c.Memory, c.Gpus}.onOne(c.Pool),
			c.checkMemory(c.Memory, c.Pool), c.checkPriorities(c.Order), c.estimateFlags.check(c.Eta != 0))
	}
}

// isNoAttribute reports whether no attribute has such a plain name.
func isNoAttribute(name string) bool { return !ast.IsIdentifier(name) }

// isNone tells whether a word stands for no attribute.
func isNone(word string) bool { return strings.EqualFold(word, condorsim.NoEnds) }

// counter returns a counter of profile events around the configured policy; nil if not requested.
func (c *runCommand) counter(w *condorsim.Workload, config *negotiator.Config) (*condorsim.EventCounter, error) {
	if !c.CountEvents {
		return nil, nil // nil: not requested
	}
	counter, err := condorsim.CountEvents(w, config)
	if err != nil {
		return nil, fmt.Errorf("--count-events: %w", err)
	}
	return counter, nil
}

// saved saves the jobs that lead to a violation, and adds to the error the command that runs them
// again. Other errors are returned unchanged.
func (c *runCommand) saved(err error) error {
	var violation *condorsim.Violation
	if !errors.As(err, &violation) {
		return err
	}
	path, saveErr := violation.Save(c.DumpDir)
	if saveErr != nil {
		return fmt.Errorf("%w; the case could not be saved: %w", err, saveErr)
	}
	return fmt.Errorf("%w; please report it with the case that was saved, which shows it again: %s", err, c.again(path))
}

// usualDeadline is the default of --deadline.
const usualDeadline = 10 * time.Second

// again returns the command that runs a saved case as this run was.
func (c *runCommand) again(path string) string {
	again := []string{"condorsim run --instance", cli.Quoted(path), "--policy", cli.Quoted(c.Policy)}
	for _, name := range slices.Sorted(maps.Keys(c.PolicyOpt)) {
		again = append(again, "--policy-opt", cli.Quoted(name+"="+c.PolicyOpt[name]))
	}
	for _, flag := range [][2]string{{"--order", c.Order}, {"--pool", c.Pool}} {
		if flag[1] != "" {
			again = append(again, flag[0], cli.Quoted(flag[1]))
		}
	}
	for _, slots := range c.With {
		again = append(again, "--with", cli.Quoted(slots))
	}
	for _, pattern := range c.Without {
		again = append(again, "--without", cli.Quoted(pattern))
	}
	if c.SlotEnd != nil {
		again = append(again, "--slot-end", strings.Join(c.SlotEnd, ","))
	}
	if c.PlanDepth > 0 {
		again = append(again, "--plan-depth", strconv.Itoa(c.PlanDepth))
	}
	if c.PlanHorizon > 0 {
		again = append(again, "--plan-horizon", strconv.FormatInt(c.PlanHorizon, 10))
	}
	if c.Reorder {
		again = append(again, "--reorder")
	}
	again = append(again, c.words()...)
	again = append(again, c.priorityWords()...)
	if c.Placement != "rank" {
		again = append(again, "--placement", c.Placement)
	}
	for _, dir := range c.PluginDir {
		again = append(again, "--plugin-dir", cli.Quoted(dir))
	}
	for _, path := range c.PluginReads {
		again = append(again, "--plugin-reads", cli.Quoted(path))
	}
	if c.Deadline != 0 && c.Deadline != usualDeadline {
		again = append(again, "--deadline", c.Deadline.String())
	}
	if c.Plugin {
		again = append(again, "--plugin")
	}
	return strings.Join(again, " ")
}

// dumping adds, if refused rounds are to be written, what writes them: each is told with its file and the
// command that runs it alone.
func (c *runCommand) dumping(w *condorsim.Workload, config *negotiator.Config, logger hclog.Logger,
	sinks []negotiator.Sink,
) []negotiator.Sink {
	if c.DumpRefused == "" {
		return sinks
	}
	rounds := condorsim.NewRounds(w, c.DumpRefused)
	config.Refused = rounds.Telling(config.Refused, logger.Error, c.again)
	return append(sinks, rounds)
}
