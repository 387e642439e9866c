package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Estimators say with which run times jobs are planned.
type Estimators struct {
	// Estimates is the estimator for all uses that are not named by themselves.
	Estimates         string            `yaml:"estimates"`
	EstimatesOrder    string            `yaml:"estimates_order"`
	EstimatesBackfill string            `yaml:"estimates_backfill"`
	EstimatesRunning  string            `yaml:"estimates_running"`
	EstimatesOptions  map[string]string `yaml:"estimates_options"`
	// History is a trace or job ads to learn from beforehand; "": none.
	History string `yaml:"history"`
}

// EstimateSettings are the estimators' own.
func (e Estimators) EstimateSettings() estimate.Settings {
	return estimate.Settings{
		All: e.Estimates, Order: e.EstimatesOrder, Backfill: e.EstimatesBackfill, Running: e.EstimatesRunning, Options: e.EstimatesOptions,
	}
}

// requested is the estimator where nothing is said.
const requested = "requested"

// parts are the settings one by one, each under its key.
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

// flag is how estimators call the setting where they say what is wrong.
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

// bare is what is wrong without the name of the setting.
func (p part) bare(err error) error {
	text := strings.TrimPrefix(err.Error(), p.flag()+": ")
	if option, missing := strings.CutPrefix(text, p.flag()+" has no option"); missing {
		text = "there is no option" + option
	}
	return errors.New(text)
}

// BlameEstimates is the key of the setting that an error of the estimators comes of, and what is
// wrong with it.
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

// labels are the job attributes that the estimators' keys name.
func (e Estimators) labels() []string {
	var names []string
	for _, option := range []string{"user-key", "project-key"} {
		names = append(names, strings.FieldsFunc(e.EstimatesOptions[option], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UnreadLabels are the labels of the keys that are not among those read of jobs.
func (e Estimators) UnreadLabels(read []string) []string {
	return slices.DeleteFunc(e.labels(), func(name string) bool { return slices.Contains(read, name) })
}
