package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// other returns a configuration that differs from the default in everything.
func other() Config {
	return Config{
		Policy: "easy", Options: map[string]string{"depth": "2", "a": "b"}, Fallback: "fcfs", Order: "sjf",
		Placement: "pack", PlanDepth: 5, Reorder: true, Futures: 1,
		Pool: "p", Workload: "w", Speed: "1", EstimateAttributes: []string{"E"},
		DefaultEstimate: Duration(time.Second),
		Plugins:         Plugins{InProcess: true}, LogLevel: "debug", Resources: []string{"cpus"},
		Estimators: Estimators{
			Estimates: "user", EstimatesOrder: "project", EstimatesBackfill: "combined", EstimatesRunning: "tsafrir",
			EstimatesOptions: map[string]string{"threshold": "5"}, History: "h",
		},
		Real: Real{
			Observe: true, State: "s", HTTP: ":1", Interval: Duration(time.Second),
			CycleDelay: Duration(time.Minute), StartSlack: 0, Reasons: false, Token: "t",
		},
	}
}

// TestDuring checks for each setting whether it can change while a negotiator runs.
func TestDuring(t *testing.T) {
	taken, ignored := other().During(Default())
	require.Equal(t, []string{
		"placement", "pool", "workload", "speed", "estimate_attributes", "history", "default_estimate",
		"resources", "start_slack", "state", "http", "token", "observe",
	}, ignored)
	changes := taken.Differences(Default())
	require.Equal(t, []string{
		"policy: ibb → easy", "policy_options: none → a=b depth=2", "fallback: by default → fcfs", "order: by default → sjf",
		"plan_depth: 0 → 5", "reorder: false → true",
		"estimates: requested → user", "estimates_order: as estimates → project",
		"estimates_backfill: as estimates → combined",
		"estimates_running: as estimates → tsafrir", "estimates_options: none → threshold=5",
		"interval: 1m0s → 1s", "cycle_delay: 1s → 1m0s", "futures: 32 → 1", "reasons: true → false",
		"log_level: by default → debug", "plugins",
	}, changes)
	require.Equal(t, reflect.TypeFor[Config]().NumField()+reflect.TypeFor[Real]().NumField()+
		reflect.TypeFor[Estimators]().NumField(), 2+len(ignored)+len(changes), "each setting is one or the other")

	back, ignored := Default().During(taken)
	require.Empty(t, ignored)
	require.Equal(t, Default(), back)
	require.Empty(t, Default().Differences(Default()))
}
