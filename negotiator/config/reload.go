package config

import (
	"reflect"
	"strings"
)

// During returns the part of this configuration that a running negotiator can take over: settings
// that count only at the start keep the values that they have in running; those that differ are
// listed in ignored.
func (c Config) During(running Config) (taken Config, ignored []string) {
	taken = c
	for _, s := range settings() {
		if s.Restart && s.Target != nil && !s.same(&c, &running) {
			ignored = append(ignored, s.Name())
			s.copy(&taken, &running)
		}
	}
	return taken, ignored
}

// Differences lists the changes from another configuration to this one, among the settings that can
// change while a negotiator runs: as KEY: OLD → NEW, but those of plugins as the word plugins.
func (c Config) Differences(from Config) (all []string) {
	for _, s := range settings() {
		if s.Restart || s.Target == nil || strings.HasPrefix(s.Key, pluginKey) {
			continue
		}
		if old, now := s.text(&from), s.text(&c); old != now {
			all = append(all, s.Name()+": "+old+" → "+now)
		}
	}
	if !reflect.DeepEqual(from.Plugins, c.Plugins) {
		all = append(all, "plugins")
	}
	return all
}
