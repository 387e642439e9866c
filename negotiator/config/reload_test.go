package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// other returns a configuration that differs from the default in everything.
func other() Config {
	return Config{
		Policy: "easy", Options: map[string]string{"depth": "2", "a": "b"}, Fallback: "fcfs", Order: "sjf",
		Placement: "pack", PlanDepth: 5, Reorder: true,
		Pool: "p", Workload: "w", Speed: "1", EstimateAttributes: []string{"E"},
		DefaultEstimate: time.Second,
		Plugins:         Plugins{InProcess: true}, LogLevel: "debug", Resources: []string{"cpus"},
		Estimators: Estimators{
			Estimates: "user", EstimatesOrder: "project", EstimatesBackfill: "combined", EstimatesRunning: "tsafrir",
			EstimatesOptions: map[string]string{"threshold": "5"}, History: "h",
		},
		Real: Real{Observe: true, State: "s", HTTP: ":1", StartSlack: 0, Token: "t"},
		Tuning: Tuning{
			Look: Look{
				SlotConstraint: "a", JobConstraint: "b", SubmitterConstraint: "c",
				Ranks: Ranks{PreJobRank: "d", PostJobRank: "e"}, ShutdownThreshold: time.Second, Interval: time.Second,
			},
			Handover: Handover{MatchExprs: "f", Lease: time.Second},
			Pace:     Pace{CycleDelay: time.Minute},
			Telling:  Telling{Reasons: false, Futures: 1, UpdateEvery: time.Second, OtherSlotConstraint: "g"},
		},
	}
}

// TestDuring checks for each setting whether it can change while a negotiator runs.
func TestDuring(t *testing.T) {
	taken, ignored := other().During(Default())
	require.Equal(t, []string{
		"history", "pool", "workload", "speed", "placement", "estimate_attributes", "default_estimate",
		"resources", "observe", "state", "http", "start_slack", "token",
	}, ignored)
	changes := taken.Differences(Default())
	require.Equal(t, []string{
		"policy: ibb → easy", "policy_options: none → a=b depth=2", "fallback: by default → fcfs", "order: by default → sjf",
		"plan_depth: 0 → 5", "reorder: false → true", "futures: 32 → 1",
		"estimates: requested → user", "estimates_order: as estimates → project",
		"estimates_backfill: as estimates → combined",
		"estimates_running: as estimates → tsafrir", "estimates_options: none → threshold=5",
		"interval: 1m0s → 1s", "cycle_delay: 1s → 1m0s", "BACKFILL_LEASE_TIME: 20m0s → 1s", "reasons: true → false",
		"BACKFILL_OTHER_SLOT_CONSTRAINT: none → g", "NEGOTIATOR_SLOT_CONSTRAINT: none → a",
		"NEGOTIATOR_JOB_CONSTRAINT: none → b", "NEGOTIATOR_SUBMITTER_CONSTRAINT: none → c",
		"NEGOTIATOR_PRE_JOB_RANK: none → d", "NEGOTIATOR_POST_JOB_RANK: none → e",
		"NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD: 0s → 1s", "NEGOTIATOR_MATCH_EXPRS: none → f",
		"NEGOTIATOR_UPDATE_INTERVAL: 5m0s → 1s", "log_level: by default → debug", "plugins",
	}, changes)
	back, ignored := Default().During(taken)
	require.Empty(t, ignored)
	require.Equal(t, Default(), back)
	require.Empty(t, Default().Differences(Default()))
}
