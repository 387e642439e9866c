package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// During returns the part of this configuration that a running negotiator can take over: settings
// that count only at the start keep the values that they have in running; those that differ are
// listed in ignored.
func (c Config) During(running Config) (taken Config, ignored []string) {
	taken = c
	for _, s := range []struct {
		key      string
		to, from any
		restore  func()
	}{
		{"placement", c.Placement, running.Placement, func() { taken.Placement = running.Placement }},
		{"pool", c.Pool, running.Pool, func() { taken.Pool = running.Pool }},
		{"workload", c.Workload, running.Workload, func() { taken.Workload = running.Workload }},
		{"speed", c.Speed, running.Speed, func() { taken.Speed = running.Speed }},
		{"estimate_attributes", c.EstimateAttributes, running.EstimateAttributes, func() {
			taken.EstimateAttributes = running.EstimateAttributes
		}},
		{"history", c.History, running.History, func() { taken.History = running.History }},
		{"default_estimate", c.DefaultEstimate, running.DefaultEstimate, func() {
			taken.DefaultEstimate = running.DefaultEstimate
		}},
		{"resources", c.Resources, running.Resources, func() { taken.Resources = running.Resources }},
		{"start_slack", c.StartSlack, running.StartSlack, func() { taken.StartSlack = running.StartSlack }},
		{"state", c.State, running.State, func() { taken.State = running.State }},
		{"http", c.HTTP, running.HTTP, func() { taken.HTTP = running.HTTP }},
		{"token", c.Token, running.Token, func() { taken.Token = running.Token }},
		{"observe", c.Observe, running.Observe, func() { taken.Observe = running.Observe }},
	} {
		if !reflect.DeepEqual(s.to, s.from) {
			ignored = append(ignored, s.key)
			s.restore()
		}
	}
	return taken, ignored
}

// Differences lists the changes from another configuration to this one, among the settings that can
// change while a negotiator runs: as KEY: OLD → NEW, but those of plugins as the word plugins.
func (c Config) Differences(from Config) (all []string) {
	for _, s := range []struct{ key, from, to string }{
		{"policy", from.Policy, c.Policy},
		{"policy_options", options(from.Options), options(c.Options)},
		{"fallback", cmp.Or(from.Fallback, "by default"), cmp.Or(c.Fallback, "by default")},
		{"order", cmp.Or(from.Order, "by default"), cmp.Or(c.Order, "by default")},
		{"plan_depth", strconv.Itoa(from.PlanDepth), strconv.Itoa(c.PlanDepth)},
		{"reorder", strconv.FormatBool(from.Reorder), strconv.FormatBool(c.Reorder)},
		{"estimates", cmp.Or(from.Estimates, requested), cmp.Or(c.Estimates, requested)},
		{"estimates_order", cmp.Or(from.EstimatesOrder, byEstimates), cmp.Or(c.EstimatesOrder, byEstimates)},
		{"estimates_backfill", cmp.Or(from.EstimatesBackfill, byEstimates), cmp.Or(c.EstimatesBackfill, byEstimates)},
		{"estimates_running", cmp.Or(from.EstimatesRunning, byEstimates), cmp.Or(c.EstimatesRunning, byEstimates)},
		{"estimates_options", options(from.EstimatesOptions), options(c.EstimatesOptions)},
		{"interval", from.Interval.String(), c.Interval.String()},
		{"cycle_delay", from.CycleDelay.String(), c.CycleDelay.String()},
		{"futures", strconv.Itoa(from.Futures), strconv.Itoa(c.Futures)},
		{"reasons", strconv.FormatBool(from.Reasons), strconv.FormatBool(c.Reasons)},
		{"log_level", cmp.Or(from.LogLevel, "by default"), cmp.Or(c.LogLevel, "by default")},
	} {
		if s.from != s.to {
			all = append(all, fmt.Sprintf("%s: %s → %s", s.key, s.from, s.to))
		}
	}
	if !reflect.DeepEqual(from.Plugins, c.Plugins) {
		all = append(all, "plugins")
	}
	return all
}

// byEstimates is shown for a use whose estimator is not set, so that the setting estimates counts.
const byEstimates = "as estimates"

// options formats options as on the command line.
func options(of map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+"="+of[name])
	}
	return cmp.Or(strings.Join(parts, " "), "none")
}
