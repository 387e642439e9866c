package settle_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/settle"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// records have one job for each rule by which jobs are dropped, beside two that are not.
func records() []settle.Record {
	const at = 1_700_000_000
	return []settle.Record{
		{Number: 1, Submit: at + 5, Start: at + 7, Run: 60, Status: settle.Completed, Allocated: 4, Asked: 2, Estimate: 90, Held: true},
		{Number: 2, Submit: at, Start: at, Run: 30, Status: settle.Failed, Asked: 8, Estimate: 10, Used: 3, Requested: 5},
		{Number: 3, Submit: at, Start: -1, Run: -1, Status: settle.Cancelled, Asked: 1},
		{Number: 4, Submit: at, Start: at, Run: 9, Status: 3, Asked: 1, Estimate: 9},
		{Number: 5, Submit: at, Start: at, Run: -1, End: settle.Unfinished, Status: settle.Unknown, Asked: 1, Estimate: 7},
		{Number: 6, Submit: at, Start: at, Run: 8, End: settle.Removed, Status: settle.Unknown, Asked: 1, Estimate: 9},
		{Number: 7, Submit: at, Start: at, Run: 0, Status: settle.Completed, Asked: 1, Estimate: 9},
		{Number: 8, Submit: at, Start: at, Run: 8, Status: settle.Completed, Asked: 1},
		{Number: 9, Submit: at, Start: at, Run: 8, Status: settle.Completed, Estimate: 9},
		{Number: 10, Submit: -1, Start: -1, Run: 8, Status: settle.Completed, Asked: 1, Estimate: 9},
		{Number: 11, Submit: at, Start: at, Run: -2, Status: settle.Completed, Asked: 1, Estimate: 9},
	}
}

func TestTrace(t *testing.T) {
	for clean, want := range map[workload.Clean][]int64{
		workload.CleanPapers:    {2, 7, 8, 1},
		"":                      {2, 7, 8, 1},
		workload.CleanPartial:   {2, 6, 7, 8, 1},
		workload.CleanCancelled: {2, 4, 5, 7, 8, 1},
		workload.CleanNone:      {2, 4, 5, 6, 7, 8, 1},
		workload.CleanStrong:    {2, 4, 5, 6, 1},
	} {
		file := settle.File{Name: "folder/june.log.gz", Lines: 70, Dated: true, Warnings: []string{"odd"}}
		trace, err := settle.Trace(file, records(), workload.Options{Clean: clean, Memory: 100})
		require.NoError(t, err)
		var ids []int64
		for _, j := range trace.Jobs {
			ids = append(ids, j.ID)
		}
		require.Equal(t, want, ids, clean)
		dropped := 0
		for _, o := range trace.Cleaning.Dropped() {
			dropped += o.Jobs
		}
		require.Equal(t, 11, dropped+trace.Cleaning.JobsLeft)
		require.Equal(t, 1, trace.Cleaning.HeldBefore)
		require.Equal(t, "june", trace.Name)
		require.Equal(t, []string{"odd"}, trace.Warnings)
		require.EqualValues(t, 1_700_000_000, trace.Header.Start())
		require.EqualValues(t, 5, trace.Jobs[0].Memory)
		require.Equal(t, 1, trace.Cleaning.EstimateRaised)
	}
}

func TestMachine(t *testing.T) {
	trace, err := settle.Trace(settle.File{Name: "a"}, records(), workload.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 15, trace.Machine.Processors, "jobs 1, 2, 4, 6 and 8 at one time")
	trace, err = settle.Trace(settle.File{Name: "a", Processors: 6}, records(), workload.Options{ProcsField: workload.ProcsRequested})
	require.NoError(t, err)
	require.EqualValues(t, 6, trace.Machine.Processors)
	require.Equal(t, []int64{2}, workload.Dropped(trace.Drops, workload.WhyTooWide))
	require.EqualValues(t, 2, trace.Jobs[len(trace.Jobs)-1].Procs)
}

// Jobs with equal numbers are numbered anew, by number and part, or by their places in the file.
func TestNumbers(t *testing.T) {
	list := []settle.Record{
		{Number: 9, Part: 2, Line: 1, Run: 1, Asked: 1},
		{Number: 9, Part: 1, Line: 2, Run: 2, Asked: 1},
		{Number: 8, Line: 3, Run: 3, Asked: 1},
	}
	for inOrder, want := range map[bool][]int64{false: {3, 2, 1}, true: {1, 2, 3}} {
		again := append([]settle.Record(nil), list...)
		trace, err := settle.Trace(settle.File{Name: "a", InOrder: inOrder}, again, workload.Options{})
		require.NoError(t, err)
		for i, j := range trace.Jobs {
			require.EqualValues(t, i+1, j.ID)
			require.Equal(t, want[i], j.Run)
		}
		require.Empty(t, trace.Drops)
	}
}

func TestFaults(t *testing.T) {
	_, err := settle.Trace(settle.File{Name: "a", Nothing: "give more"}, nil, workload.Options{})
	require.EqualError(t, err, "a: there is no job in it; give more")
	_, err = settle.Trace(settle.File{Name: "a"}, records(), workload.Options{Load: -1})
	require.ErrorContains(t, err, "load")
	err = settle.Fault("a", 3, "size", strings.Repeat("x", 100), "is none", "correct it")
	require.EqualError(t, err, `a:3: size: "`+strings.Repeat("x", 60)+`…" is none; correct it`)
}

func TestLines(t *testing.T) {
	var got []settle.Line
	for line, err := range settle.Lines(strings.NewReader("a\r\n\nb"), "x") {
		require.NoError(t, err)
		got = append(got, line)
	}
	require.Equal(t, []settle.Line{{1, "a"}, {2, ""}, {3, "b"}}, got)
	broken := io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(errors.New("lost")))
	var last error
	for _, err := range settle.Lines(broken, "x") {
		last = err
	}
	require.EqualError(t, last, "x:2: lost")
}
