package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// other is a configuration that differs in everything from the one by default.
func other() Config {
	return Config{
		Policy: "easy", Options: map[string]string{"depth": "2", "a": "b"}, Fallback: "fcfs", Order: "sjf", Placement: "pack",
		Pool: "p", Workload: "w", Speed: "1", Estimates: []string{"E"}, DefaultEstimate: Duration(time.Second),
		Plugins: Plugins{InProcess: true}, LogLevel: "debug",
	}
}

// TestDuring divides the settings into those that change and those that stay.
func TestDuring(t *testing.T) {
	taken, ignored := other().During(Default())
	require.Equal(t, []string{"placement", "pool", "workload", "speed", "estimates", "default_estimate"}, ignored)
	changes := taken.Differences(Default())
	require.Equal(t, []string{
		"policy: ibb → easy", "policy_options: none → a=b depth=2", "fallback: by default → fcfs", "order: fcfs → sjf",
		"log_level: by default → debug", "plugins",
	}, changes)
	require.Equal(t, reflect.TypeFor[Config]().NumField(), len(ignored)+len(changes), "each setting is one or the other")

	back, ignored := Default().During(taken)
	require.Empty(t, ignored)
	require.Equal(t, Default(), back)
	require.Empty(t, Default().Differences(Default()))
}
