package condorsim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// startsWhere is the description of a pool of one slot with the given START.
func startsWhere(t *testing.T, start string) *pools.Description {
	t.Helper()
	return describe(t, "classes: [{name: n, cpus: 4, memory: 100, start: '"+start+"'}]")
}

// runsUnder reports when each job starts; -1: it is held.
func runsUnder(t *testing.T, w *condorsim.Workload, policy string) (starts []backfill.Time) {
	t.Helper()
	result, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
	require.NoError(t, err)
	for _, o := range result.Outcomes {
		if !o.Started {
			o.Start = -1
		}
		starts = append(starts, o.Start)
	}
	return starts
}

// TestTheClockOfATrace checks that the START of a slot sees the time by the trace's header.
func TestTheClockOfATrace(t *testing.T) {
	const at = "996714000" // 2001-08-02 01:00 UTC
	for _, tt := range []struct {
		name   string
		header workload.Header
		start  string
		opens  bool
	}{
		{"Unix time", workload.Header{"UnixStartTime": at}, "time() == 996714000", true},
		{"CurrentTime", workload.Header{"UnixStartTime": at}, "CurrentTime < 996714000", false},
		{"no start", nil, "time() == 0", true},
		{"UTC", workload.Header{"UnixStartTime": at}, `formatTime(time(), "%H") == "01"`, true},
		{
			"summer time",
			workload.Header{"UnixStartTime": at, "TimeZone": "3600", "TimeZoneString": "Europe/Paris"},
			`formatTime(time(), "%H") == "03"`, true,
		},
		{
			"a link",
			workload.Header{"UnixStartTime": at, "TimeZoneString": "US/Pacific # summer"},
			`formatTime(time(), "%H %d") == "18 01"`, true,
		},
		{
			"the zone changes no seconds",
			workload.Header{"UnixStartTime": at, "TimeZoneString": "US/Pacific"},
			"(time() % 86400) / 3600 == 1", true,
		},
		{
			"an offset",
			workload.Header{"UnixStartTime": at, "TimeZone": "-18000"},
			`formatTime(time(), "%H") == "20"`, true,
		},
		{
			"an unknown zone",
			workload.Header{"UnixStartTime": at, "TimeZone": "-18000", "TimeZoneString": "Local"},
			`formatTime(time(), "%H") == "20"`, true,
		},
		{"whose age counts", workload.Header{"UnixStartTime": at}, "time() - TARGET.QDate == 0", true},
	} {
		in := trace(workload.Job{Submit: 0, Run: 5})
		in.Header = tt.header
		w, err := condorsim.OnPool(in, startsWhere(t, tt.start))
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.name == "an unknown zone", w.UnknownZone != "", tt.name)
		for _, policy := range []string{"easy", "conservative"} {
			require.Equal(t, tt.opens, runsUnder(t, w, policy)[0] == 0, "%s, %s", tt.name, policy)
		}
	}
}

// TestSlotsThatOpenLater checks that jobs start when the clock of the trace opens a slot, and not before.
func TestSlotsThatOpenLater(t *testing.T) {
	for start, at := range map[string]backfill.Time{
		"time() >= 996714007":                                  7,
		"CurrentTime > 996714007":                              8,
		"(time() % 86400) / 3600 >= 20":                        19 * 3600, // 20:00 UTC
		`int(formatTime(time(), "%H")) >= 20`:                  17 * 3600, // in Paris
		"time() - TARGET.QDate > 20":                           21,
		"TARGET.RequestCpus == 1 && time() - TARGET.QDate > 9": 10,
	} {
		in := trace(workload.Job{Submit: 0, Run: 5})
		in.Header = workload.Header{"UnixStartTime": "996714000", "TimeZoneString": "Europe/Paris"}
		w, err := condorsim.OnPool(in, startsWhere(t, start))
		require.NoError(t, err)
		for _, policy := range []string{"easy", "conservative", "fcfs"} {
			require.Equal(t, at, runsUnder(t, w, policy)[0], "%s, %s", start, policy)
		}
	}
}

// TestTheClockOfJobAds checks that job ads see the clock that they were written by, also if the
// simulation counts from the first of them, and changes their load.
func TestTheClockOfJobAds(t *testing.T) {
	text := strings.ReplaceAll(`ClusterId = 1; QDate = 1700000000; Requirements = time() == 1700000000;;`+
		`ClusterId = 2; QDate = 1700000050; Requirements = time() - QDate == 0 && CurrentTime == 1700000000 + AGE;;`,
		";;", "; ProcId = 0; RequestCpus = 1; RequestMemory = 1; RemoteWallClockTime = 9; JobStartDate = 1700000050;;")
	pool := startsWhere(t, "TARGET.QDate <= CurrentTime")
	for load, second := range map[float64]string{0: "50", 2: "25"} {
		in := strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(text, "AGE", second), ";", "\n"))
		h, err := history.Read(in, "h.ads", history.Options{Schema: pool.Schema, Asked: pool.Asked(), WithAds: true})
		require.NoError(t, err)
		require.EqualValues(t, 1_700_000_000, h.Start)
		jobs, err := h.Trace(workload.Options{CPUs: 8, Memory: 1000, Load: load})
		require.NoError(t, err)
		w, err := condorsim.FromHistory(h, jobs, pool)
		require.NoError(t, err)
		require.Equal(t, []backfill.Time{0, w.Jobs[1].Submit}, runsUnder(t, w, "easy"))
		w, err = condorsim.FromHistory(h, jobs, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1_700_000_000, w.UnixStart)
	}

	// Read as they are, their instants are Unix times.
	w, err := queued(pool, strings.ReplaceAll(text, "AGE", "50"))
	require.NoError(t, err)
	require.Equal(t, []backfill.Time{1_700_000_000, 1_700_000_050}, runsUnder(t, w, "easy"))
}

// TestAnOrderSeesTheTracesClock checks that orders see the same clock as ads, in the simulation and in
// the copies in which fair starts are found.
func TestAnOrderSeesTheTracesClock(t *testing.T) {
	in := trace(workload.Job{Run: 10, Procs: 8}, workload.Job{Submit: 1, Run: 3, Procs: 8},
		workload.Job{Submit: 2, Run: 4, Procs: 8}, workload.Job{Submit: 3, Run: 5, Procs: 8})
	in.Header = workload.Header{"UnixStartTime": "996714000"}
	w, err := condorsim.FromTrace(in, nil)
	require.NoError(t, err)
	c := link(t, "easy", nil)
	c.Order, err = negotiator.OrderNamed("expr:CurrentTime > 996714000 && QDate > 996714000 ? EstimatedRunTime : -QDate")
	require.NoError(t, err)
	result, err := condorsim.RunFair(t.Context(), w, c, condorsim.Fair{Strict: true, Workers: 1})
	require.NoError(t, err)
	require.Equal(t, []backfill.Time{0, 19, 15, 10}, []backfill.Time{
		result.Outcomes[0].Start, result.Outcomes[1].Start, result.Outcomes[2].Start, result.Outcomes[3].Start,
	})
	require.Equal(t, []backfill.Time{0, 10, 10, 10}, result.StrictFST)
}
