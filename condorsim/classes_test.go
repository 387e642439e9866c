package condorsim_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// onPool makes a workload of jobs of 100 s each, which are submitted together and have one more line in their
// ads, for a pool.
func onPool(t *testing.T, pool *pools.Description, lines ...string) *condorsim.Workload {
	t.Helper()
	var text strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&text, "ClusterId = 1\nProcId = %d\nQDate = 1780300000\nJobStartDate = 1780300000\n"+
			"RemoteWallClockTime = 100\nRequirements = true\n%s\n\n", i, line)
	}
	h, err := history.Read(strings.NewReader(text.String()), "h.ads",
		history.Options{Schema: pool.Schema, Asked: pool.Asked(), WithAds: true, SlotsHave: pool.Has()})
	require.NoError(t, err)
	in, err := h.Trace(workload.Options{CPUs: 1000, Memory: 1000})
	require.NoError(t, err)
	w, err := condorsim.FromHistory(h, in, pool)
	require.NoError(t, err)
	return w
}

// TestJobsTakeAllOfASlot: a job that asks for all that a slot has gets it, however the slots are described, and
// whichever it gets: static ones, and ones of any size.
func TestJobsTakeAllOfASlot(t *testing.T) {
	const ads = "Name = \"s\"\nSlotType = \"Static\"\nCpus = 4\nTotalSlotCpus = 4\nTotalCpus = 4\n\n" +
		"Name = \"p\"\nPartitionableSlot = true\nCpus = 8\nTotalSlotCpus = 8\nTotalCpus = 8\n"
	for _, tt := range []struct{ name, pool string }{
		{"classes of one kind", "classes: [{name: n, cpus: 8}, {name: m, cpus: 16}]"},
		{"static and other classes", "classes: [{name: n, cpus: 4, type: static}, {name: m, cpus: 8}]"},
		{"static and other ads", ads},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, request := range []string{"TARGET.TotalSlotCpus ?: 1", "TARGET.TotalCpus ?: 1", "TARGET.Cpus"} {
				w := onPool(t, describe(t, tt.pool), "RequestCpus = "+request, "RequestCpus = "+request,
					"RequestCpus = "+request, "RequestCpus = 2", "RequestCpus = 2", "RequestCpus = 2", "RequestCpus = 2")
				for _, policy := range []string{"fcfs", "easy", "conservative"} {
					starts := runsUnder(t, w, policy)
					require.EqualValues(t, 0, starts[0], request)
					require.EqualValues(t, 0, starts[1], request)
					require.EqualValues(t, 100, starts[2], request)
					require.NotContains(t, starts, backfill.Time(-1))
				}
			}
		})
	}
}

// TestSlotsThatTakeNoJob: slots that no job can ever use, as their ads are, are counted and named once.
func TestSlotsThatTakeNoJob(t *testing.T) {
	slot := func(name, more string) string {
		return "Name = \"" + name + "\"\nPartitionableSlot = true\nCpus = 8\n" + more + "\n\n"
	}
	const of2 = "1 of 2 slots (8 cpus) take no job, though they count as capacity: "
	for _, tt := range []struct{ name, pool, want string }{
		{"classes", "classes: [{name: n, cpus: 8}, {name: m, cpus: 8, start: 'false'}]", of2 + "START is false"},
		{"Requirements", slot("a", "") + slot("b", "Requirements = false"), of2 + "Requirements is false"},
		{
			"a clause", slot("a", "") + slot("b", "Start = TARGET.X && MY.Level > 3\nLevel = 2\nRequirements = TARGET.Y && START"),
			of2 + "MY.Level > 3 is false",
		},
		{"what is undefined", slot("a", "") + slot("b", "Open = undefined\nRequirements = Open"), of2 + "Open is undefined"},
		{
			"Drained", slot("a", "") + slot("b", "State = \"Drained\"\nRequirements = true"),
			"the State of 1 of 2 slots (8 cpus) is Drained, and jobs start there as far as their Requirements admit them",
		},
		{
			"Drained, and closed", slot("a", "") + slot("b", "State = \"Drained\"\nRequirements = false"),
			of2 + "Requirements is false",
		},
		{"whose job it is", slot("a", "Requirements = TARGET.Owner =?= \"bob\" && Cpus > 9"), ""},
		{"the clock", slot("a", "Requirements = time() < 5"), ""},
		{
			"consumption", slot("a", "ConsumptionCpus = quantize(target.RequestCpus, {2})\nConsumptionPolicy = true"),
			"ConsumptionCpus of 1 slots, by which jobs take other amounts than they request: they are planned with these",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			pool := describe(t, tt.pool)
			require.Equal(t, want, onPool(t, pool, "RequestCpus = 1").Unheeded)
			w, err := condorsim.OnPool(trace(workload.Job{Run: 5, Procs: 1}), pool)
			require.NoError(t, err)
			require.Equal(t, want, w.Unheeded)
		})
	}
}

// TestSlotsWithoutAClock: a slot's clock goes on, whether its ad says when it was made, or nothing at all.
func TestSlotsWithoutAClock(t *testing.T) {
	const at = 996714000 // 2001-08-02 01:00 UTC, a Thursday
	for _, tt := range []struct {
		name, zone, pool string
		want             backfill.Time
	}{
		{"a class", "", "classes: [{name: n, cpus: 8, start: 'ClockMin >= 90'}]", 1800},
		{"a day", "", "classes: [{name: n, cpus: 8, start: 'ClockDay == 5'}]", 23 * 3600},
		{"a zone without summer time", "Asia/Tokyo", "classes: [{name: n, cpus: 8, start: 'ClockMin >= 11*60'}]", 3600},
		{"a zone with summer time", "Europe/Paris", "classes: [{name: n, cpus: 8, start: 'ClockMin >= 4*60'}]", 3600},
		{"a day there", "US/Pacific", "classes: [{name: n, cpus: 8, start: 'ClockDay == 4'}]", 6 * 3600},
		{"an ad that was heard", "", "Name = \"a\"\nCpus = 8\nClockMin = 60\nClockDay = 4\nLastHeardFrom = 996714000\n" +
			"Requirements = ClockMin >= 90\n", 1800},
		{"an ad without a clock", "", "Name = \"a\"\nCpus = 8\nRequirements = MY.ClockMin >= 90\n", 1800},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := trace(workload.Job{Run: 5, Procs: 1})
			in.Header = workload.Header{"UnixStartTime": strconv.Itoa(at), "TimeZoneString": tt.zone}
			w, err := condorsim.OnPool(in, describe(t, tt.pool))
			require.NoError(t, err)
			require.Empty(t, w.Unheeded)
			require.Equal(t, []backfill.Time{tt.want}, runsUnder(t, w, "easy"))
		})
	}
	w := onPool(t, describe(t, "classes: [{name: n, cpus: 8}]"), "RequestCpus = 1\nRequirements = TARGET.ClockMin >= 8*60")
	require.Equal(t, []backfill.Time{800}, runsUnder(t, w, "easy"), "submitted at 7:46:40")
}

// TestLimitsOfAJobThatCannotBeTold: such a job is held with the reason, and the others run; limits that the pool does
// not have are named.
func TestLimitsOfAJobThatCannotBeTold(t *testing.T) {
	w := onPool(t, describe(t, "classes: [{name: n, cpus: 8}]\nlimits: {matlab: 1}"), "ConcurrencyLimits = \"matlab\"",
		"ConcurrencyLimits = strcat(\"a\", TARGET.Machine)", "ConcurrencyLimits = 5", "ConcurrencyLimits = \"matlb, Ansys:2\"",
		"ConcurrencyLimits = \"matlb\"")
	require.Equal(t, []string{"ConcurrencyLimits of jobs name limits that the pool does not have: matlb (2), ansys (1)"},
		w.Unheeded)
	for _, policy := range []string{"easy", "conservative"} {
		result, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil, newModel(t, w))
		require.NoError(t, err)
		require.Contains(t, result.Outcomes[1].Held, "its ConcurrencyLimits depend on the slot")
		require.Contains(t, result.Outcomes[2].Held, "its ConcurrencyLimits are 5")
		for _, i := range []int{0, 3, 4} {
			require.True(t, result.Outcomes[i].Ended, i)
		}
	}
}

// TestOutagesByDate: outages begin at dates, too, and those that begin after all jobs are named.
func TestOutagesByDate(t *testing.T) {
	const first = "1780300000" // 2026-06-01 07:46:40 UTC, when the jobs of onPool are submitted
	for _, tt := range []struct {
		outage string
		at     backfill.Time
		after  bool
	}{
		{"drains: [{at: '2026-06-01 07:48', for: 5}]", 80, false},
		{"failures: [{at: 2026-06-01 07:48, for: 5}]", 80, false},
		{"ends: [{at: 1780300080}]", 80, false},
		{"drains: [{at: " + first + ", for: 1d}]", 0, false},
		{"failures: [{at: 4000d}]", 4000 * 86400, true},
		{"ends: [{at: 2026-07-01}]", 2564000, true},
	} {
		w := onPool(t, describe(t, "classes: [{name: n, cpus: 8}]\n"+tt.outage), "RequestCpus = 1")
		require.Equal(t, tt.at, w.Outages[0].At, tt.outage)
		var warnings []string
		w.Warn(func(text string, details ...any) { warnings = append(warnings, fmt.Sprint(text, details)) })
		if tt.after {
			require.Len(t, warnings, 1, tt.outage)
			require.Contains(t, warnings[0], "all are likely to have ended by", tt.outage)
		} else {
			require.Empty(t, warnings, tt.outage)
		}
	}
	in := trace(workload.Job{Run: 5, Procs: 1})
	for date, want := range map[string]string{"2001-08-01": "before the first job", "2001-13-01": "2001-13-01"} {
		in.Header = workload.Header{"UnixStartTime": "996714000"}
		_, err := condorsim.OnPool(in, describe(t, "classes: [{name: n, cpus: 8}]\ndrains: [{at: "+date+"}]"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "the pool's drain at "+date)
	}
}
