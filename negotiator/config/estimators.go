package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Estimators are the settings of the run-time estimators that jobs are planned with.
type Estimators struct {
	// Estimates is the estimator for all uses that have no setting of their own.
	Estimates         string            `yaml:"estimates"`
	EstimatesOrder    string            `yaml:"estimates_order"`
	EstimatesBackfill string            `yaml:"estimates_backfill"`
	EstimatesRunning  string            `yaml:"estimates_running"`
	EstimatesOptions  map[string]string `yaml:"estimates_options"`
	// History is a trace or a file of job ads to learn from at the start; empty means none.
	History string `yaml:"history"`
}

// EstimateSettings returns the settings in the form of package estimate.
func (e Estimators) EstimateSettings() estimate.Settings {
	return estimate.Settings{
		All: e.Estimates, Order: e.EstimatesOrder, Backfill: e.EstimatesBackfill, Running: e.EstimatesRunning,
		Options: e.EstimatesOptions,
	}
}

// requested is the default estimator.
const requested = "requested"

// parts returns the settings one by one, each with its key.
func (e Estimators) parts() []part {
	return []part{
		{"estimates", estimate.Settings{All: e.Estimates}},
		{"estimates_order", estimate.Settings{Order: e.EstimatesOrder}},
		{"estimates_backfill", estimate.Settings{Backfill: e.EstimatesBackfill}},
		{"estimates_running", estimate.Settings{Running: e.EstimatesRunning}},
		{"estimates_options", estimate.Settings{Options: e.EstimatesOptions}},
	}
}

type part struct {
	key string
	estimate.Settings
}

// flag returns the name that the estimators' errors use for the setting.
func (p part) flag() string {
	if p.Options != nil {
		return "estimates-opt"
	}
	return strings.ReplaceAll(p.key, "_", "-")
}

func (e Estimators) faults() (all []fault) {
	for _, p := range e.parts() {
		if err := p.Validate(false); err != nil {
			all = append(all, fault{[]string{p.key}, p.bare(err)})
		}
	}
	return all
}

// bare returns an error about the setting without the setting's name.
func (p part) bare(err error) error {
	text := strings.TrimPrefix(err.Error(), p.flag()+": ")
	if option, missing := strings.CutPrefix(text, p.flag()+" has no option"); missing {
		text = "there is no option" + option
	}
	return errors.New(text)
}

// BlameEstimates returns the key of the setting that caused an error of the estimators, and the
// error without the setting's name. If the error names no setting, the key is that of one that
// reads a file, else estimates.
func (e Estimators) BlameEstimates(err error) (key string, wrong error) {
	for _, p := range e.parts() {
		if strings.HasPrefix(err.Error(), p.flag()+": ") {
			return p.key, p.bare(err)
		}
	}
	for _, p := range e.parts() {
		if strings.Contains(p.All+p.Order+p.Backfill+p.Running, "file:") {
			return p.key, err
		}
	}
	return "estimates", err
}

// labels returns the names in the estimators' options user-key and project-key: labels or job
// attributes.
func (e Estimators) labels() []string {
	var names []string
	for _, option := range []string{"user-key", "project-key"} {
		names = append(names, strings.FieldsFunc(e.EstimatesOptions[option],
			func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UnreadLabels returns the names in the estimators' options user-key and project-key that are not
// among the labels read from jobs.
func (e Estimators) UnreadLabels(read []string) []string {
	return slices.DeleteFunc(e.labels(), func(name string) bool { return slices.Contains(read, name) })
}
