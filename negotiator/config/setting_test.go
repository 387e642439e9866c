package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestTable walks the table: each entry is whole, each field of a configuration has one, and each is
// either taken up by a reload or reported as needing a restart.
func TestTable(t *testing.T) {
	keys, knobs, fields := map[string]bool{}, map[string]bool{}, map[uintptr]string{}
	c := Default()
	for _, s := range Settings() {
		require.NotEmpty(t, s.Name())
		require.NotEmpty(t, s.Kind, s.Name())
		require.Regexp(t, `^[^\n]+\.$`, s.Doc, s.Name())
		require.False(t, s.Key != "" && keys[s.Key] || s.Knob != "" && knobs[s.Knob], "%s: twice", s.Name())
		require.Equal(t, s.Key == "", Named(s.Key) == nil)
		keys[s.Key], knobs[s.Knob] = true, true
		if s.Target == nil {
			continue
		}
		at := reflect.ValueOf(s.Target(&c)).Pointer()
		require.Empty(t, fields[at], "%s: the field has two entries", s.Name())
		fields[at] = s.Name()
		require.Equal(t, s.Default, reflect.ValueOf(s.Target(&c)).Elem().Interface())
		require.True(t, s.OnReal == nil || reflect.TypeOf(s.OnReal) == reflect.TypeOf(s.Default), s.Name())

		changed := Default()
		s.reset(&changed, another(s.Default))
		if strings.HasPrefix(s.Key, pluginKey) {
			continue // they are reported together
		}
		taken, ignored := changed.During(Default())
		if s.Restart {
			require.Equal(t, []string{s.Name()}, ignored)
			require.Equal(t, Default(), taken)
			continue
		}
		require.Empty(t, ignored, s.Name())
		require.Len(t, changed.Differences(Default()), 1, s.Name())
	}
	for at, name := range leaves(reflect.ValueOf(&c).Elem(), "") {
		require.NotEmpty(t, fields[at], "%s has no entry in the table", name)
	}
}

// leaves returns the fields of a struct and of the structs in it by their addresses.
func leaves(v reflect.Value, name string) map[uintptr]string {
	if v.Kind() != reflect.Struct {
		return map[uintptr]string{v.Addr().Pointer(): name}
	}
	all := map[uintptr]string{}
	for i := range v.NumField() {
		maps.Copy(all, leaves(v.Field(i), name+"."+v.Type().Field(i).Name))
	}
	return all
}

// TestDefaultsFromTheFile reads each default and each example as the file would have it.
func TestDefaultsFromTheFile(t *testing.T) {
	for _, s := range Settings() {
		parent, key, nested := strings.Cut(s.Key, ".")
		for _, value := range []any{s.Default, s.Example} {
			if s.Key == "" || value == nil || s.Absent && reflect.DeepEqual(value, s.Default) {
				continue
			}
			text := fmt.Sprintf("%s: %s\n", cmp.Or(key, parent), YAMLText(value))
			if nested {
				text = parent + ":\n  " + text
			}
			c, err := load(t, text)
			require.NoError(t, err, text)
			if reflect.DeepEqual(value, s.Default) && !reflect.ValueOf(value).IsZero() {
				require.Empty(t, c.Differences(Default()), text)
			}
		}
	}
}

// TestAliases reads what a file says twice with anchors.
func TestAliases(t *testing.T) {
	c, err := load(t, "estimates_order: &one combined\nestimates_running: *one\ninterval: &time 2s\ncycle_delay: *time\n"+
		"plugins:\n  each:\n    a: &a {deadline: 2s, restarts: 1}\n    b: {<<: *a, restarts: 2}\n    c: *a\n")
	require.NoError(t, err)
	require.Equal(t, "combined", c.EstimatesRunning)
	require.Equal(t, c.Interval, c.CycleDelay)
	require.Equal(t, c.Plugins.Each["a"], c.Plugins.Each["c"])
	require.Equal(t, c.Interval, c.Plugins.Each["b"].Deadline)
	require.EqualValues(t, 2, c.Plugins.Each["b"].Restarts)
	_, err = load(t, "plugins: &p\n  each:\n    a: {<<: {order: sjf}}\n")
	require.ErrorContains(t, err, `[3:14] unknown field "order"`)
}

// The text on the options of estimators names each of them.
func TestOptionsOfEstimatorsAreNamed(t *testing.T) {
	for _, s := range Settings() {
		if s.Key == "estimates_options" {
			for _, o := range estimate.Options() {
				require.Contains(t, s.Doc, o.Name)
			}
			return
		}
	}
	t.Fatal("no setting estimates_options")
}
