package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// During is the configuration as it can be taken up by a negotiator that runs
// under another one: what can only be set at the start is as it was, and listed.
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
		{"estimates", c.Estimates, running.Estimates, func() { taken.Estimates = running.Estimates }},
		{"default_estimate", c.DefaultEstimate, running.DefaultEstimate, func() { taken.DefaultEstimate = running.DefaultEstimate }},
	} {
		if !reflect.DeepEqual(s.to, s.from) {
			ignored = append(ignored, s.key)
			s.restore()
		}
	}
	return taken, ignored
}

// Differences says what is otherwise than in another configuration, of what can
// change while a negotiator runs.
func (c Config) Differences(from Config) (all []string) {
	for _, s := range []struct{ key, from, to string }{
		{"policy", from.Policy, c.Policy},
		{"policy_options", options(from.Options), options(c.Options)},
		{"fallback", cmp.Or(from.Fallback, "by default"), cmp.Or(c.Fallback, "by default")},
		{"order", from.Order, c.Order},
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

// options lists options as they are given on the command line.
func options(of map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+"="+of[name])
	}
	return cmp.Or(strings.Join(parts, " "), "none")
}
