package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Estimators are the settings of the run-time estimators that jobs are planned with.
type Estimators struct {
	// Estimates is the estimator for all uses that have no setting of their own.
	Estimates         string
	EstimatesOrder    string
	EstimatesBackfill string
	EstimatesRunning  string
	EstimatesOptions  map[string]string
	// EstimateTrust says which of the run times that users state count; see [estimate.Trust].
	EstimateTrust string
	// History is a trace or a file of job ads to learn from at the start; empty means none.
	History string
}

// byEstimates is shown for a use whose estimator is not set, so that the setting estimates counts.
const byEstimates = "as estimates"

var estimating = []Setting{
	set(func(c *Config) *string { return &c.Estimates }, "", Setting{
		Key: "estimates", Knob: "BACKFILL_ESTIMATES", OnReal: requested,
		Check: checkEstimates("estimates"),
		Doc: "How long jobs are taken to run: requested, or as past jobs teach: learned, user, project, combined, " +
			"selective, tsafrir; or file:PATH. By default as requested; on simulated pools, the order as the policy has it.",
		More: "In simulations also accurate or mix:A. Jobs end at what they request all the same. Policies that give " +
			"guarantees plan with what is requested: there it is for the order and for the expected starts alone. If it " +
			"is learned at the start, the executables of jobs (Cmd) are read, too.",
		Example: "combined",
	}),
	set(func(c *Config) *string { return &c.EstimatesOrder }, "", Setting{
		Key: "estimates_order", Knob: "BACKFILL_ESTIMATES_ORDER", Empty: byEstimates,
		Check: checkEstimates("estimates_order"), Example: "combined",
		Doc: "The estimator for the queue's order, if it is another one.",
	}),
	set(func(c *Config) *string { return &c.EstimatesBackfill }, "", Setting{
		Key: "estimates_backfill", Knob: "BACKFILL_ESTIMATES_BACKFILL", Empty: byEstimates,
		Check: checkEstimates("estimates_backfill"), Example: "combined",
		Doc: "The one for how long a waiting job is taken to run; not with a policy that gives guarantees.",
	}),
	set(func(c *Config) *string { return &c.EstimatesRunning }, "", Setting{
		Key: "estimates_running", Knob: "BACKFILL_ESTIMATES_RUNNING", Empty: byEstimates,
		Check: checkEstimates("estimates_running"), Example: requested,
		Doc: "The one for when running jobs are taken to end; not with a policy that gives guarantees.",
	}),
	set(func(c *Config) *map[string]string { return &c.EstimatesOptions }, nil, Setting{
		Key: "estimates_options", Knob: "BACKFILL_ESTIMATES_OPTIONS", Check: checkEstimates("estimates_options"),
		Doc: "Options of the estimators: percentile, threshold, window, max-age, user-key, project-key, " +
			"correct, predict-again, censored.",
		More: "A key is a label such as owner, or any attribute of jobs that was named at the start. An option that no " +
			"estimator named above goes by is refused.",
		Example: map[string]string{"threshold": "20", "user-key": "JobBatchName"},
	}),
	set(func(c *Config) *string { return &c.EstimateTrust }, string(estimate.TrustRecord), Setting{
		Key: "estimate_trust", Knob: "BACKFILL_ESTIMATE_TRUST", Restart: true,
		Doc: "Which stated run times count: enforced, those at which HTCondor ends the job; record, the others as far " +
			"as the user's last twenty jobs bear them out; or all.",
		More: "Enforced are allowed_execute_duration, allowed_job_duration and a periodic_remove that bounds the run " +
			"time. A time that does not count is stretched, after repeated lies to the default estimate at least.",
		Check: func(c *Config) error {
			_, err := estimate.ParseTrust(c.EstimateTrust)
			return err
		},
	}),
	set(func(c *Config) *string { return &c.History }, "", Setting{
		Key: "history", Knob: "BACKFILL_HISTORY", Restart: true, Example: "/var/lib/condor/past-jobs.ads",
		Doc: "A trace or job ads to learn run times from beforehand.",
	}),
}

// EstimateSettings returns the settings in the form of package estimate.
func (e Estimators) EstimateSettings() estimate.Settings {
	return estimate.Settings{
		All: e.Estimates, Order: e.EstimatesOrder, Backfill: e.EstimatesBackfill, Running: e.EstimatesRunning,
		Options: e.EstimatesOptions,
	}
}

// EstimatesUnder returns the settings under a policy and the order that is in force: on a simulated pool,
// with the policy's own estimator for that order unless one is chosen. On a real pool the administrator
// decides from what users are judged, so no policy does.
func (c Config) EstimatesUnder(policy backfill.PolicySpec, order string) estimate.Settings {
	if c.OnRealPool() {
		return c.EstimateSettings()
	}
	return c.EstimateSettings().Under(policy, order)
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

// checkEstimates returns the check of one of the settings.
func checkEstimates(key string) func(c *Config) error {
	return func(c *Config) error {
		for _, p := range c.parts() {
			if err := p.Validate(false); p.key == key && err != nil {
				return p.bare(err)
			}
		}
		return nil
	}
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
