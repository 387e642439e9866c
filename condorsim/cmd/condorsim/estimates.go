package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/past"
	"github.com/condor-backfill/condor-backfill/condorsim/report"
)

// estimateFlags say how long jobs are taken to run.
type estimateFlags struct {
	Estimates         string            `group:"Estimates" placeholder:"SPEC" help:"Run times to plan with: requested (the default), combined and others, see below."`
	EstimatesOrder    string            `group:"Estimates" placeholder:"SPEC" help:"Others for the queue's order."`
	EstimatesBackfill string            `group:"Estimates" placeholder:"SPEC" help:"Others for how long a waiting job is taken to run where it is placed."`
	EstimatesRunning  string            `group:"Estimates" placeholder:"SPEC" help:"Others for when running jobs are taken to end."`
	EstimatesOpt      map[string]string `group:"Estimates" placeholder:"K=V" mapsep:"none" help:"Option of the estimates; may be repeated."`
	History           string            `group:"Estimates" placeholder:"FILE" help:"Trace or job ads to learn from beforehand."`
	HistoryShare      float64           `group:"Estimates" placeholder:"F" help:"Learn from the first F (0 to 1) of the jobs, and do not run these."`
}

func (f *estimateFlags) settings() estimate.Settings {
	return estimate.Settings{All: f.Estimates, Order: f.EstimatesOrder, Backfill: f.EstimatesBackfill, Running: f.EstimatesRunning, Options: f.EstimatesOpt}
}

// check refuses what cannot be meant under any policy.
func (f *estimateFlags) check() error {
	if !(f.HistoryShare >= 0 && f.HistoryShare < 1) { // nor is it not a number
		return fmt.Errorf("--history-share=%v: must be from 0 to less than 1, as something must be left to run", f.HistoryShare)
	}
	if err := f.settings().Validate(false); err != nil {
		return err
	}
	if err := estimate.CheckOptions(f.EstimatesOpt, f.settings()); err != nil {
		return err
	}
	if f.History != "" && !f.settings().Learns() {
		return fmt.Errorf("--history %s: no estimator that was chosen learns: choose %s (--estimates), or leave it out", f.History, estimate.Learners())
	}
	return nil
}

// learn gives the workload what its estimators are to know beforehand.
func (c *runCommand) learn(w *condorsim.Workload) error {
	if c.HistoryShare > 0 && c.Instance != "" {
		return errors.New("--history-share: an instance is taken as it is; give what to learn from with --history")
	}
	w.LearnFrom(c.HistoryShare)
	if c.History == "" {
		return nil
	}
	file, err := openFile(c.History)
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	ended, err := past.Read(file, c.History, past.Options{EstimateAttributes: c.EstimateAttr})
	if err == nil && len(ended) == 0 {
		err = fmt.Errorf("--history %s: no job in it ran to its end, so there is nothing to learn", c.History)
	}
	w.Remember(ended)
	return err
}

// estimators makes what the flags ask for, for a policy that gives guarantees, or not,
// and says it as the summary has it; nil if that is only what jobs request.
func (f *estimateFlags) estimators(w *condorsim.Workload, guarantees bool) (*estimate.Set, *report.Estimates, error) {
	s := f.settings()
	set, err := w.Estimators(s, guarantees, func(name string) (io.ReadCloser, error) { return os.Open(name) })
	if err != nil || set == nil && len(w.History) == 0 {
		return nil, nil, err
	}
	said := &report.Estimates{Options: s.Options, Learned: len(w.History)}
	said.Order, said.Backfill, said.Running, err = s.Uses(guarantees)
	return set, said, err
}

// words are the flags that an instance can be run with again. It tells of no users, so
// what was learned from them comes out otherwise there.
func (f *estimateFlags) words() (words []string) {
	for _, flag := range [][2]string{
		{"--estimates", f.Estimates},
		{"--estimates-order", f.EstimatesOrder},
		{"--estimates-backfill", f.EstimatesBackfill},
		{"--estimates-running", f.EstimatesRunning},
		{"--history", f.History},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], fmt.Sprintf("%q", flag[1]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.EstimatesOpt)) {
		words = append(words, "--estimates-opt", fmt.Sprintf("%s=%q", name, f.EstimatesOpt[name]))
	}
	return words
}
