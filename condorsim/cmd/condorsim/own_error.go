package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// errNoRecord says that there is no own error.
var errNoRecord = errors.New("--own-error: only a record of a negotiator, which --record writes, says what its policy " +
	"decided; FILE is none")

// ownError simulates a record under its own policy, and returns how far the starts are from those of the record.
func ownError(ctx context.Context, w *condorsim.Workload, dirs []string, logger hclog.Logger,
) (*condorsim.SimulatorError, error) {
	c, err := asRecorded(w)
	if err != nil {
		return nil, cli.Bad(fmt.Errorf("--own-error: %w", err))
	}
	c.PluginDir = dirs
	if c.Order == negotiator.FairShare {
		if w, err = c.account(w, logger); err != nil {
			return nil, cli.Bad(fmt.Errorf("--own-error: %w", err))
		}
	}
	config, closePolicy, err := c.config(ctx, w, nil, logger)
	if err != nil {
		return nil, cli.Bad(fmt.Errorf("--own-error: the policy of the record: %w", err))
	}
	defer closePolicy()
	policy, settings := config.Policy.Spec(), c.settings()
	if strings.HasPrefix(w.Recorded.Program, "condorsim ") { // on a real pool no policy chooses estimators
		settings = settings.Under(policy, policy.OrderUnless(c.Order))
	}
	if config.Estimates, _, err = estimatorsOf(settings, w, policy.Guarantees); err != nil {
		return nil, cli.Bad(fmt.Errorf("--own-error: the estimates of the record: %w", err))
	}
	r, err := condorsim.Run(ctx, w, config, nil)
	if err != nil {
		return nil, err
	}
	e, err := r.SimulatorError()
	if err != nil {
		return nil, cli.Bad(fmt.Errorf("--own-error: %w", err))
	}
	return e, nil
}

// asRecorded returns the command that runs the policy of a record with its settings.
func asRecorded(w *condorsim.Workload) (*runCommand, error) {
	p := &w.Recorded.Policy
	c := &runCommand{Policy: p.Name, PolicyOpt: p.Options, Placement: "rank", Deadline: host.NoDeadline}
	c.EstimateTrust = "record"
	if p.Name == auto.Name {
		return nil, errors.New("the pool of the record chose its own policies")
	}
	for key, text := range map[string]*string{
		"placement": &c.Placement, "order": &c.Order, "estimates": &c.Estimates, "estimates_order": &c.EstimatesOrder,
		"estimates_backfill": &c.EstimatesBackfill, "estimates_running": &c.EstimatesRunning,
	} {
		if value := p.Settings[key]; value != "" {
			*text = value
		}
	}
	c.EstimatesOpt = listed(p.Settings["estimates_options"])
	var errs []error
	number := func(key string) int64 {
		text := p.Settings[key]
		if text == "" {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("the record's %s is %q: %w", key, text, err))
		}
		return n
	}
	c.PlanDepth, c.PlanHorizon = int(number("plan_depth")), number("plan_horizon")
	c.Reorder = p.Settings["reorder"] == "true"
	if c.Order == negotiator.FairShare && strings.HasPrefix(w.Recorded.Program, "condorsim ") {
		c.PriorityHalflife = time.Duration(number("priority_halflife")) * time.Second
		for user, text := range listed(p.Settings["priority_factors"]) {
			factor, err := strconv.ParseFloat(text, 64)
			if err != nil {
				errs = append(errs, fmt.Errorf("the record's priority_factors: %w", err))
			}
			if c.PriorityFactor == nil {
				c.PriorityFactor = map[string]float64{}
			}
			c.PriorityFactor[user] = factor
		}
	}
	return c, errors.Join(errs...)
}

// listed reads a text such as "a=1 b=2,3" as a map; nil: it has nothing.
func listed(text string) (values map[string]string) {
	last := ""
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		if values == nil {
			values = map[string]string{}
		}
		name, value, named := strings.Cut(word, "=")
		if !named && last != "" { // more of a value that has commas
			values[last] += "," + word
			continue
		}
		last, values[name] = name, value
	}
	return values
}

// ofOwnError returns an error if flags ask for the own error of what is not the record as it is.
func (c *runCommand) ofOwnError() error {
	if c.OwnError && (c.Pool != "" || c.Load != 0 || c.Jobs != 0 || c.changes() || c.HistoryShare != 0) {
		return errors.New("--own-error is that of the record as it is, on its own pool: leave out --pool, --load, --jobs, " +
			"--history-share and flags that change its jobs")
	}
	return nil
}

// extras returns what is printed on request only, but for the timing.
func (c *runCommand) extras(ctx context.Context, w *condorsim.Workload, result *condorsim.Result, logger hclog.Logger,
) (extras *report.Extras, err error) {
	extras = &report.Extras{Users: c.PerUser}
	if c.CompareWithHistory {
		if extras.History, err = result.CompareWithHistory(); err != nil {
			return nil, cli.Bad(fmt.Errorf("--compare-with-history: %w", err))
		}
	}
	if c.OwnError {
		extras.Own, err = ownError(ctx, w, c.PluginDir, logger)
	}
	return extras, err
}
