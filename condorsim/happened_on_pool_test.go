package condorsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// ranAt is the ad of a job that was submitted at 1000 and ran for 100 s from a start on.
func ranAt(proc, start int, more string) string {
	return fmt.Sprintf("ClusterId = 1; ProcId = %d; Owner = \"a\"; JobStatus = 4; QDate = 1000; JobCurrentStartDate = %d; "+
		"CompletionDate = %d; RemoteWallClockTime = 100; EstimatedRunTime = 100; RequestMemory = 1; %s;;",
		proc, start, start+100, more)
}

// recordedOn makes a workload of ads on slots of ads, both written as for ads.
func recordedOn(t *testing.T, slots, jobs string) *condorsim.Workload {
	t.Helper()
	pool, err := pools.FromAds("test.ads", negotiator.DefaultSchema(), ads(slots))
	require.NoError(t, err)
	w, err := queued(pool, jobs)
	require.NoError(t, err)
	return w
}

const (
	twoStatic = `Name = "a"; Cpus = 8; Memory = 100; Requirements = true;;Name = "b"; Cpus = 8; Memory = 100; ` +
		`Requirements = true;;`
	oneWhole = `Name = "a"; PartitionableSlot = true; Cpus = 8; Memory = 100; Requirements = true;;`
	twoGPUs  = `Name = "a"; PartitionableSlot = true; Cpus = 8; Memory = 100; GPUs = 2; Requirements = true;;`
	uneven   = `Name = "a"; Cpus = 8; Memory = 100; Requirements = true;;Name = "b"; Cpus = 4; Memory = 100; ` +
		`Requirements = true;;`
)

func valueOf(t *testing.T, list metrics.Measures, name string) float64 {
	t.Helper()
	for _, m := range list {
		if m.Name == name {
			return m.Value
		}
	}
	require.Fail(t, "there is no "+name)
	return 0
}

// Beside a run with the same starts what happened has the same use of the pool, whatever jobs hold there: a
// static slot, what they request of a slot, or GPUs.
func TestHistoryHoldsWhatARunHolds(t *testing.T) {
	for name, test := range map[string]struct {
		slots, more string
		starts      []int
		use         map[string]float64
	}{
		"static slots": {
			twoStatic, "RequestCpus = 1",
			[]int{1000, 1000, 1100},
			map[string]float64{"utilisation": 0.75, "utilisation_memory": 0.75, "loss_of_capacity": 0},
		},
		"requests by the slot": {
			oneWhole, "RequestCpus = TARGET.Cpus",
			[]int{1000, 1100},
			map[string]float64{"utilisation": 1, "loss_of_capacity": 0},
		},
		"gpus": {
			twoGPUs, "RequestCpus = 1; RequestGPUs = 1",
			[]int{1000, 1000, 1100},
			map[string]float64{"utilisation": 3.0 / 16, "utilisation_gpus": 0.75},
		},
		"uneven static slots": {
			uneven, "RequestCpus = 1", []int{1000, 1000}, map[string]float64{"utilisation": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for i, start := range test.starts {
				text.WriteString(ranAt(i, start, test.more))
			}
			w := recordedOn(t, test.slots, text.String())
			run, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
			require.NoError(t, err)
			c, err := run.CompareWithHistory()
			require.NoError(t, err)
			require.Empty(t, c.Impossible)
			alone, err := condorsim.Happened(w)
			require.NoError(t, err)
			for measure, want := range test.use {
				require.InDelta(t, want, run.Measures()[measure], 1e-12, measure)
				require.InDelta(t, want, valueOf(t, c.Happened, measure), 1e-12, measure)
				require.InDelta(t, want, valueOf(t, c.Simulated, measure), 1e-12, measure)
				if got := alone.Measures(); test.slots == uneven {
					require.NotContains(t, got, measure, "without a run it is not known which slot was held")
				} else {
					require.InDelta(t, want, got[measure], 1e-12, measure)
				}
			}
		})
	}
}

// What cannot have happened is said of every resource, and of the count of static slots.
func TestNoResourceIsOverused(t *testing.T) {
	for _, test := range []struct {
		slots, more, want string
		jobs              int
	}{
		{twoStatic, "RequestCpus = 1", "3 jobs ran at 0 00:16:40, and its slots take 2 at a time", 3},
		{uneven, "RequestCpus = 1", "3 jobs ran at 0 00:16:40, and its slots take 2 at a time", 3},
		{oneWhole, "RequestCpus = TARGET.Cpus", "16 cpus were in use at 0 00:16:40, and it has 8", 2},
		{oneWhole, "RequestCpus = 1; RequestMemory = 60", "120 MiB of memory were in use at 0 00:16:40, and it has 100", 2},
		{twoGPUs, "RequestCpus = 1; RequestGPUs = 1", "3 gpus were in use at 0 00:16:40, and it has 2", 3},
	} {
		var text strings.Builder
		for i := range test.jobs {
			text.WriteString(ranAt(i, 1000, test.more))
		}
		r, err := condorsim.Happened(recordedOn(t, test.slots, text.String()))
		require.NoError(t, err)
		require.Equal(t, "what really happened cannot have happened on this pool: "+test.want, r.Impossible())
	}
}

// A job that waits for the end of another waits from then, as it does in a run.
func TestHistoryWaitsForPredecessors(t *testing.T) {
	w := recorded(t, "1 0 0 60 8 -1 -1 8 100 -1 1 7 -1 -1 -1 -1 -1 -1\n"+
		"2 5 95 60 8 -1 -1 8 100 -1 1 7 -1 -1 -1 -1 1 30\n"+ // from 90 on
		"3 200 10 60 8 -1 -1 8 100 -1 1 7 -1 -1 -1 -1 1 30\n"+ // submitted later than that
		"4 210 100 10 8 -1 -1 8 100 -1 1 7 -1 -1 -1 -1 3 90\n") // started before 360
	happened, err := condorsim.Happened(w)
	require.NoError(t, err)
	require.InDelta(t, (0+10+10+0)/4.0, happened.Measures()["mean_wait"], 0)
	require.InDelta(t, 320, happened.Measures()["makespan"], 0)

	run, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	c, err := run.CompareWithHistory()
	require.NoError(t, err)
	require.InDelta(t, 5, valueOf(t, c.Happened, "mean_wait"), 0, "a run's submit times are not recorded ones")
	require.InDelta(t, 320, valueOf(t, c.Happened, "makespan"), 0)
}

// A job that ran several times responded at its end; a start before the submission is named.
func TestRestartedJobs(t *testing.T) {
	again := "ClusterId = 2; ProcId = 0; JobStatus = 4; QDate = 1000; JobStartDate = 1100; JobCurrentStartDate = 5000; " +
		"NumJobStarts = 2; CompletionDate = 5600; RemoteWallClockTime = 1600.0; RequestCpus = 8;;"
	wrong := "ClusterId = 3; ProcId = 0; JobStatus = 4; QDate = 2000; JobStartDate = 1500; CompletionDate = 2600; " +
		"RemoteWallClockTime = 600; RequestCpus = 8;;"
	w := recordedOn(t, oneWhole, again+wrong)
	run, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	c, err := run.CompareWithHistory()
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 1, 0}, []int{c.Jobs, c.NoStart, c.Wrong, c.NotRun})
	require.InDelta(t, 4600, valueOf(t, c.Happened, "mean_response"), 0)
	require.InDelta(t, 3000, valueOf(t, c.Happened, "mean_wait"), 0)
	require.InDelta(t, 4600, valueOf(t, c.Happened, "makespan"), 0)

	happened, err := condorsim.Happened(w)
	require.NoError(t, err)
	require.Equal(t, condorsim.WrongStart, happened.Outcomes[1].Held)
}

// Where nothing is known of what happened, a run is left as it is.
func TestOnlyRecordedWithoutAny(t *testing.T) {
	r, err := condorsim.Run(t.Context(), recorded(t, swfNoWait), link(t, "easy", nil), nil)
	require.NoError(t, err)
	want := r.Measures()
	r.OnlyRecorded()
	require.Equal(t, want, r.Measures())
	require.Zero(t, r.Held())
}
