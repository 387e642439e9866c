package formats_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

const endedTrace = `; a trace without a size
1 0 100 50 4 -1 -1 4 200 -1 1 7 2 3 1 -1 -1 -1
2 10 -1 20 1 -1 -1 1 30 -1 1 8 -1 -1 -1 -1 -1 -1
3 20 0 500 1 -1 -1 1 400 -1 0 8 -1 -1 -1 -1 -1 -1
4 30 5 -1 1 -1 -1 1 400 -1 5 8 -1 -1 -1 -1 -1 -1
5 30 5 7 1 -1 -1 1 400 -1 3 8 -1 -1 -1 -1 -1 -1
6 40 50 60 9 -1 -1 9 -1 -1 1 -1 -1 -1 -1 -1 -1 -1
`

// In words: which jobs ended when, whose they were, and how much of their request they used.
func TestEndedInTraces(t *testing.T) {
	owner := func(name string) map[string]string { return map[string]string{"owner": name} }
	want := []estimate.Ended{
		{Job: estimate.Job{Name: "2", Requested: 30, Cpus: 1, Labels: owner("8")}, Ran: 20, At: 30},
		{Job: estimate.Job{
			Name: "1", Requested: 200, Cpus: 4,
			Labels: map[string]string{"owner": "7", "group": "2", "executable": "3", "qos": "1"},
		}, Ran: 50, At: 150},
		{Job: estimate.Job{Name: "6", Requested: 60, Cpus: 9}, Ran: 60, At: 150},
		{Job: estimate.Job{Name: "3", Requested: 500, Cpus: 1, Labels: owner("8")}, Ran: 500, At: 520},
	}
	got, err := formats.ReadEnded(strings.NewReader(endedTrace), "a.swf", formats.EndedOptions{Until: 520})
	require.NoError(t, err)
	require.Equal(t, want, got)

	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write([]byte(endedTrace))
	require.NoError(t, writer.Close())
	got, err = formats.ReadEnded(&packed, "a.swf.gz", formats.EndedOptions{Until: 20})
	require.NoError(t, err)
	for i := range want {
		want[i].At -= 500
	}
	require.Equal(t, want, got)
}

const endedAds = `
ClusterId = 1
ProcId = 0
QDate = 1000
JobStatus = 4
EnteredCurrentStatus = 1500
RemoteWallClockTime = 60.0
EstimatedRunTime = 100
Owner = "ann"
ProjectName = "physics"

ClusterId = 2
ProcId = 0
QDate = 1100
JobStatus = 4
JobCurrentStartDate = 1200
RemoteWallClockTime = 70.0
MaxRuntime = 80
Owner = "bob"

ClusterId = 3
ProcId = 0
QDate = 1100
JobStatus = 3
EnteredCurrentStatus = 1500
RemoteWallClockTime = 70.0
Owner = "bob"
`

func TestEndedInAds(t *testing.T) {
	ann, bob := map[string]string{"owner": "ann", "project": "physics"}, map[string]string{"owner": "bob"}
	got, err := formats.ReadEnded(strings.NewReader(endedAds), "a.ads", formats.EndedOptions{Until: 500})
	require.NoError(t, err)
	require.Equal(t, []estimate.Ended{
		{
			Job: estimate.Job{Name: "2.0", Requested: negotiator.DefaultEstimate, Unestimated: true, Cpus: 1, Labels: bob},
			Ran: 70, At: 270,
		},
		{Job: estimate.Job{Name: "1.0", Requested: 100, Cpus: 1, Labels: ann}, Ran: 60, At: 500},
	}, got)
	for ad, err := range classad.ReadAds(strings.NewReader(endedAds), "a.ads") {
		require.NoError(t, err)
		require.Equal(t, got[1].Labels, negotiator.LabelsOf(ad, nil))
		break
	}

	got, err = formats.ReadEnded(strings.NewReader(endedAds), "a.ads",
		formats.EndedOptions{EstimateAttributes: []string{"MaxRuntime"}, DefaultEstimate: 7})
	require.NoError(t, err)
	require.Equal(t, []estimate.Ended{
		{Job: estimate.Job{Name: "2.0", Requested: 80, Cpus: 1, Labels: bob}, Ran: 70, At: -230},
		{Job: estimate.Job{Name: "1.0", Requested: 7, Unestimated: true, Cpus: 1, Labels: ann}, Ran: 60},
	}, got)
}

func TestEndedInWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "past: has no job line",
		"1 2 3\n":                "past:1: ",
		"ClusterId = ":           "past:1",
		"; MaxProcs: 4\n":        "past: has no job line",
		"\x1f\x8b\x08 truncated": "past: ",
	} {
		_, err := formats.ReadEnded(strings.NewReader(text), "past", formats.EndedOptions{})
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// TestEndedOnBlueHorizon learns from a year of SDSC's Blue Horizon, as its own simulation would.
func TestEndedOnBlueHorizon(t *testing.T) {
	const name = "../../../../shared/traces/SDSC-BLUE-2000-4.2-cln.swf.gz"
	file, err := os.Open(name)
	if err != nil {
		t.Skipf("the trace is not there: %v", err)
	}
	defer file.Close() //nolint:errcheck // only read
	ended, err := formats.ReadEnded(file, name, formats.EndedOptions{})
	require.NoError(t, err)
	read, err := formats.ReadFile(name, formats.Options{})
	require.NoError(t, err)
	simulated, err := condorsim.FromTrace(read.Trace, nil)
	require.NoError(t, err)
	require.Len(t, ended, len(simulated.Jobs))
	byName := map[string]*estimate.Ended{}
	for i := range ended {
		byName[ended[i].Name] = &ended[i]
	}
	for _, j := range simulated.Jobs {
		e := byName[j.Name]
		require.Equal(t, j.Labels, e.Labels)
		require.Equal(t, []backfill.Time{j.Estimate, j.Run}, []backfill.Time{e.Requested, e.Ran})
	}
	require.True(t, slices.IsSortedFunc(ended, func(a, b estimate.Ended) int { return int(a.At - b.At) }))
	require.Zero(t, ended[len(ended)-1].At)

	set, err := estimate.New(estimate.Settings{All: "user", Options: map[string]string{"max-age": "90:00:00:00"}},
		nil, false, false, nil)
	require.NoError(t, err)
	users, used := map[string]bool{}, [4]int{}
	for _, e := range ended {
		users[e.Labels["owner"]] = true
		used[min(4*e.Ran/e.Requested, 3)]++
		set.Learn(e)
	}
	adjusted, recently := 0, map[string]int{}
	for _, e := range ended {
		if e.At >= -90*86400 {
			recently[e.Labels["owner"]]++
		}
	}
	for user := range users {
		uses := set.Estimate(&estimate.Job{Requested: 36000, Labels: map[string]string{"owner": user}}, 0)
		if uses.Order < 36000 {
			adjusted++
			require.GreaterOrEqual(t, recently[user], 50)
		}
	}
	require.Equal(t, []int{232_540, 468, 46}, []int{len(ended), len(users), adjusted},
		"jobs, users, users of the last 90 days who are adjusted")
	require.Equal(t, [4]int{141_222, 28_136, 20_386, 42_796}, used, "jobs by quarters of R")
}
