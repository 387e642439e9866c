package condorsim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

func TestMeasures(t *testing.T) {
	w := newWorkload(t,
		workload.Job{Submit: 0, Run: 5, Estimate: 10, Procs: 6, User: "1"},
		workload.Job{Submit: 1, Run: 4, Procs: 8, User: "2"},
		workload.Job{Submit: 2, Run: 3, Procs: 2, User: "1"},
		workload.Job{Submit: 3, Run: 3, Procs: 9},
	)
	result, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
	require.NoError(t, err)
	got := result.Measures()
	for name, value := range map[string]float64{
		"started_backfill": 1, "started_head": 2, "started_queue": 0,
		"guarantees_given": 3, "guarantees_kept": 3, "guarantees_broken": 0,
		"mean_slack": 5.0 / 3, "median_slack": 0, "p90_slack": 5, "p99_slack": 5,
		"users": 2, "cycles": float64(result.Cycles), "reserved_idle": result.ReservedIdle,
		"loss_of_capacity": 2.0 / (8 * 9), // job 2 waits from 1 on; from 2 on nothing is idle
	} {
		require.Contains(t, got, name)
		require.InDelta(t, value, got[name], 1e-12, name)
	}
	require.Equal(t, []metrics.User{
		{Name: "1", Jobs: 2, CPUSeconds: 36, MeanBoundedSlowdown: 1},
		{Name: "2", Jobs: 1, CPUSeconds: 32, MeanWait: 4, MeanBoundedSlowdown: 1},
	}, result.Users())
	result.Bound = 1
	require.InDelta(t, 2, result.Users()[1].MeanBoundedSlowdown, 0)
	require.InDelta(t, (1+2+1)/3.0, result.Measures()["mean_bounded_slowdown"], 1e-12)
	names := map[string]bool{}
	for _, m := range result.Measured() {
		require.False(t, names[m.Name], "%s is there twice", m.Name)
		names[m.Name] = true
	}
	require.Len(t, result.Measures(), len(names))

	result, err = condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.NotContains(t, result.Measures(), "guarantees_given", "easy promises nothing")
}

// The slack is measured against the first promise, also if it was broken.
func TestBrokenGuaranteesInTheMeasures(t *testing.T) {
	w := fromAds(t, slots(t),
		`ClusterId = 1; ProcId = 0; QDate = 0; RemoteWallClockTime = 100; EstimatedRunTime = 10; RequestCpus = 3; `+
			`RequestGPUs = 0; Requirements = TARGET.Name == "b";;`+
			`ClusterId = 1; ProcId = 1; QDate = 1; RemoteWallClockTime = 5; EstimatedRunTime = 10; RequestCpus = 3; `+
			`Requirements = TARGET.Name == "b"`)
	result, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
	require.NoError(t, err)
	require.EqualValues(t, 10, result.Outcomes[1].Guarantee)
	got := result.Measures()
	require.InDelta(t, 2, got["guarantees_given"], 0)
	require.InDelta(t, 1, got["guarantees_kept"], 0)
	require.InDelta(t, 1, got["guarantees_broken"], 0)
	require.InDelta(t, result.Broken, got["guarantees_broken_times"], 0)
	require.Greater(t, result.Broken, 1, "the later promises were broken as well")
	require.InDelta(t, -45, got["mean_slack"], 0)
	require.InDelta(t, -90, got["median_slack"], 0)
}

// TestShares has a job that waits for all of b, one that starts past it on a, and one that starts
// past it on b, in time. Without reservations nothing counts as backfilled, and without overtaking
// all jobs start from the top.
func TestShares(t *testing.T) {
	job := func(id, submit, run, cpus int, slot string) string {
		return fmt.Sprintf(`ClusterId = %d; ProcId = 0; QDate = %d; RemoteWallClockTime = %d; EstimatedRunTime = %d; `+
			`RequestCpus = %d; Requirements = TARGET.Name == "%s";;`, id, submit, run, run, cpus, slot)
	}
	for policy, want := range map[string][3]float64{ // from the top, not from the top, backfilled
		"easy": {0.5, 0.25, 0.25}, "conservative": {0.5, 0.25, 0.25}, "first-fit": {0.5, 0.5, 0}, "fcfs": {1, 0, 0},
	} {
		t.Run(policy, func(t *testing.T) {
			w := fromAds(t, slots(t), job(1, 0, 10, 2, "b")+job(2, 1, 10, 3, "b")+job(3, 2, 50, 1, "a")+job(4, 3, 5, 1, "b"))
			result, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
			require.NoError(t, err)
			got := result.Measures()
			require.Equal(t, want, [3]float64{
				got["share_from_top"], got["share_not_from_top"],
				got["share_backfilled"],
			})
			require.InDelta(t, 4*(want[1]+want[2]), got["started_backfill"], 0)
		})
	}
}

// Resources other than cpus and memory have their utilisation measured, too.
func TestOtherResources(t *testing.T) {
	pool := slotsOf(t, `Name = "a"; Cpus = 4; Memory = 100; GPUs = 2; Requirements = true`)
	w := fromAds(t, pool,
		`ClusterId = 1; ProcId = 0; QDate = 0; RemoteWallClockTime = 10; EstimatedRunTime = 10; RequestCpus = 1; `+
			`RequestGPUs = 2; Requirements = true;;`+
			`ClusterId = 1; ProcId = 1; QDate = 0; RemoteWallClockTime = 30; EstimatedRunTime = 30; RequestCpus = 1; `+
			`RequestGPUs = 1; Requirements = true`)
	result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	got := result.Measures()
	require.InDelta(t, (2*10+1*30)/(2.0*40), got["utilisation_gpus"], 1e-12)
	require.NotContains(t, got, "utilisation_disk", "there is none")
}
