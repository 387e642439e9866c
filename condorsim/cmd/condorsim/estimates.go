package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// estimateFlags say which run times jobs are planned with.
type estimateFlags struct {
	Estimates         string            `group:"Estimates" placeholder:"SPEC" help:"${estimates_all}"`
	EstimatesOrder    string            `group:"Estimates" placeholder:"SPEC" help:"Others for the queue's order."`
	EstimatesBackfill string            `group:"Estimates" placeholder:"SPEC" help:"${estimates_backfill}"`
	EstimatesRunning  string            `group:"Estimates" placeholder:"SPEC" help:"${estimates_running}"`
	EstimatesOpt      map[string]string `group:"Estimates" placeholder:"K=V" mapsep:"none" help:"${estimates_opt}"`
	EstimateTrust     string            `group:"Estimates" enum:"enforced,record,all" default:"record" help:"${estimate_trust}"`
	History           string            `group:"Estimates" placeholder:"FILE" help:"${estimates_history}"`
	HistoryShare      float64           `group:"Estimates" placeholder:"F" help:"${estimates_history_share}"`
}

func (f *estimateFlags) settings() estimate.Settings {
	return estimate.Settings{
		All: f.Estimates, Order: f.EstimatesOrder, Backfill: f.EstimatesBackfill,
		Running: f.EstimatesRunning, Options: f.EstimatesOpt,
	}
}

// check returns an error for settings that are wrong under any policy. The parameter told says that
// jobs are told their starts, which rest on what is known of past run times whatever estimators are
// chosen.
func (f *estimateFlags) check(told bool) error {
	if !(f.HistoryShare >= 0 && f.HistoryShare < 1) { // also refuses NaN
		return fmt.Errorf("--history-share=%v: must be from 0 to less than 1, as something must be left to run",
			f.HistoryShare)
	}
	if err := f.settings().Validate(false); err != nil {
		return err
	}
	if f.Estimates != "" || f.EstimatesOrder != "" { // else the policy may name one
		return f.checkUse(f.settings(), told)
	}
	return nil
}

// checkUse returns an error for options by which none of the estimators goes, and for a history from which
// none learns.
func (f *estimateFlags) checkUse(s estimate.Settings, told bool) error {
	if err := estimate.CheckOptions(f.EstimatesOpt, s); err != nil {
		return err
	}
	if f.History != "" && !told && !s.Learns() {
		return fmt.Errorf("--history %s: no estimator that was chosen learns: choose %s (--estimates), or leave it out",
			f.History, estimate.Learners())
	}
	return nil
}

// learn gives the workload the history that its estimators learn from.
func (c *runCommand) learn(p *process, w *condorsim.Workload) error {
	if c.HistoryShare > 0 && c.Instance != "" {
		return errors.New("--history-share: an instance is taken as it is; give what to learn from with --history")
	}
	w.LearnFrom(c.HistoryShare)
	if c.History == "" {
		return nil
	}
	file, err := p.files.Open(c.History)
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	ended, err := formats.ReadEnded(file, c.History, formats.EndedOptions{EstimateAttributes: c.EstimateAttr})
	if err == nil && len(ended) == 0 {
		err = fmt.Errorf("--history %s: no job in it ran to its end, so there is nothing to learn", c.History)
	}
	w.Remember(ended)
	return err
}

// under returns the estimators of the flags under a policy, and the order that the queue has. The policy's
// own is left out, with a warning, if fair start times are wanted and cannot be found with it.
func (c *runCommand) under(policy backfill.PolicySpec, order string, logger hclog.Logger) estimate.Settings {
	s := c.settings().Under(policy, order)
	if policy.Name == auto.Name {
		s = auto.Under(c.settings())
	}
	if c.Fst != (fstFlag{}) && s.PredictsAgain() {
		logger.Warn("the order goes by what jobs request: with --fst, run times cannot be predicted anew",
			"policy", policy.Name, "instead of", s.Order)
		return c.settings()
	}
	return s
}

// estimatorsOf returns the estimators of the settings, for a policy with or without guarantees, and
// their description for the summary; nil if jobs are planned with their requested times.
func estimatorsOf(s estimate.Settings, w *condorsim.Workload, guarantees bool,
) (*estimate.Set, *report.Estimates, error) {
	set, err := w.Estimators(s, guarantees, func(name string) (io.ReadCloser, error) { return os.Open(name) })
	if err != nil || set == nil && len(w.History) == 0 {
		return nil, nil, err
	}
	said := &report.Estimates{Options: s.Options, Learned: len(w.History)}
	said.Order, said.Backfill, said.Running, err = s.Uses(guarantees)
	return set, said, err
}

// words returns these flags as words of a command line, to run a saved instance (a small JSON
// workload) again with the same estimators. Instances have no users, so estimators that learn from
// users give other results there.
func (f *estimateFlags) words() (words []string) {
	for _, flag := range [][2]string{
		{"--estimates", f.Estimates},
		{"--estimates-order", f.EstimatesOrder},
		{"--estimates-backfill", f.EstimatesBackfill},
		{"--estimates-running", f.EstimatesRunning},
		{"--history", f.History},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], cli.Quoted(flag[1]))
		}
	}
	if f.EstimateTrust != "" && f.EstimateTrust != string(estimate.TrustRecord) {
		words = append(words, "--estimate-trust", f.EstimateTrust)
	}
	for _, name := range slices.Sorted(maps.Keys(f.EstimatesOpt)) {
		words = append(words, "--estimates-opt", cli.Quoted(name+"="+f.EstimatesOpt[name]))
	}
	return words
}

// warnUnmatched warns of what files of estimates and the workload do not have in common; it returns an error
// if that is everything.
func warnUnmatched(w *condorsim.Workload, estimates *estimate.Set, logger hclog.Logger) error {
	unmatched, err := w.Matches(estimates)
	for _, text := range unmatched {
		logger.Warn(text)
	}
	return err
}
