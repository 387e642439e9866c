package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func TestMerge(t *testing.T) {
	late := &workload.Trace{
		Name: "late", Machine: workload.Machine{Processors: 40},
		Cleaning: workload.Cleaning{JobsRead: 5, Partial: 3, JobsLeft: 2},
		Statuses: map[int64]int{1: 2, 3: 3},
		Jobs: []workload.Job{
			{ID: 1, Submit: 1000, Run: 1, Estimate: 2, Procs: 40, User: "7", Queue: "q"},
			{ID: 2, Submit: 1012, Run: 3, Estimate: 4, Procs: 2},
		},
	}
	mixed := workload.Merge("mixed", workload.Machine{}, toy(), late, toy(), &workload.Trace{Name: "empty"})
	require.Equal(t, "mixed", mixed.Name)
	require.Equal(t, workload.Machine{Processors: 40, Memory: 100}, mixed.Machine)
	require.Equal(t, []int64{0, 0, 0, 10, 10, 10, 10, 12, 25, 25}, column(mixed, submit))
	require.Equal(t, []int64{1, 40, 1, 5, 10, 5, 10, 2, 3, 3}, column(mixed, procs))
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, column(mixed, id))
	require.Equal(t, workload.Job{ID: 2, Run: 1, Estimate: 2, Procs: 40, User: "late:7", Queue: "late:q"},
		mixed.Jobs[1])
	require.Equal(t, workload.Cleaning{JobsRead: 13, Partial: 3, JobsLeft: 10}, mixed.Cleaning)
	require.Equal(t, map[int64]int{1: 2, 3: 3}, mixed.Statuses)
	require.Equal(t, "merged: toy, late, toy#2, empty", mixed.Header["Note"])
	require.Equal(t, mixed.Jobs, back(t, mixed).Jobs)

	small := workload.Merge("small", workload.Machine{Processors: 9, Memory: 50}, toy(), late)
	require.Equal(t, workload.Machine{Processors: 9, Memory: 50}, small.Machine)
	require.Equal(t, 2, small.Cleaning.TooWide)
	require.Equal(t, 1, small.Cleaning.TooMuchMemory)
	require.Empty(t, small.Drops, "its jobs have other numbers")
	require.Len(t, small.Jobs, 3)
	require.Empty(t, workload.Merge("nothing", workload.Machine{}).Jobs)
}
