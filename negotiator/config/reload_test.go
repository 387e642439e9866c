package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// another returns a value other than the given one, of the same kind.
func another(value any) any {
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		return value + "x"
	case time.Duration:
		return value + time.Second
	case []string:
		return append([]string{"x"}, value...)
	case map[string]string:
		return map[string]string{"depth": "2", "a": "b"}
	case map[string]Running:
		return map[string]Running{"x": {}}
	case map[string]Checksum:
		return map[string]Checksum{"x": {}}
	case int:
		return value + 1
	case Count:
		return value + 1
	case Size:
		return value + 1
	default:
		panic(fmt.Sprintf("another %T?", value))
	}
}

// other returns a configuration that differs from the default in everything.
func other() Config {
	c := Default()
	for _, s := range Settings() {
		if s.Target != nil {
			s.reset(&c, another(s.Default))
		}
	}
	return c
}

// TestDuring takes up what can change while a negotiator runs, and names the rest.
func TestDuring(t *testing.T) {
	taken, ignored := other().During(Default())
	changes := taken.Differences(Default())
	var restart []string
	reload := 1 // plugins are one
	for _, s := range Settings() {
		switch {
		case s.Restart:
			restart = append(restart, s.Name())
		case s.Target != nil && !strings.HasPrefix(s.Key, pluginKey):
			reload++
		}
	}
	require.Equal(t, restart, ignored)
	require.Subset(t, ignored, []string{
		"history", "pool", "workload", "speed", "placement", "estimate_attributes", "slot_end", "default_estimate",
		"resources", "observe", "state", "http", "start_slack", "token",
	})
	require.Len(t, changes, reload)
	require.Subset(t, changes, []string{
		"policy: ibb → ibbx", "policy_options: none → a=b depth=2", "fallback: by default → x", "order: by default → x",
		"plan_depth: 0 → 1", "reorder: false → true", "estimates: by default → x",
		"estimates_order: as estimates → x", "interval: 1m0s → 1m1s", "BACKFILL_LEASE_TIME: 30s → 31s",
		"NEGOTIATOR_SLOT_CONSTRAINT: none → x", "log_level: by default → x", "plugins",
	})
	back, ignored := Default().During(taken)
	require.Empty(t, ignored)
	require.Equal(t, Default(), back)
	require.Empty(t, Default().Differences(Default()))
}
