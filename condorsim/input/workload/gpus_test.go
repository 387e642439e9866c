package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func gpusOf(j workload.Job) int64 { return j.GPUs }

const withGPUs = "; MaxProcs: 8\n; MachineGPUs: 4\n" +
	"1 0 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1 2\n" +
	"2 5 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1 -1\n" +
	"3 6 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1\n" +
	"4 7 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1 5\n"

func TestGPUsOfATrace(t *testing.T) {
	trace, err := workload.ReadSWF(strings.NewReader(withGPUs), "t.swf", workload.Options{})
	require.NoError(t, err)
	require.Equal(t, workload.Machine{Processors: 8, GPUs: 4}, trace.Machine)
	require.Equal(t, []int64{2, 0, 0}, column(trace, gpusOf))
	require.Equal(t, 1, trace.Cleaning.TooManyGPUs)
	require.Equal(t, []int64{4}, workload.Dropped(trace.Drops, workload.WhyTooManyGPUs))
	require.Equal(t, []workload.Omission{{Why: "more GPUs than the machine", Jobs: 1}}, trace.Cleaning.Dropped())
	require.Empty(t, trace.Warnings)

	more, err := workload.ReadSWF(strings.NewReader(withGPUs), "t.swf", workload.Options{GPUs: 5})
	require.NoError(t, err)
	require.Equal(t, []int64{2, 0, 0, 5}, column(more, gpusOf))

	_, err = workload.ReadSWF(strings.NewReader(strings.Replace(withGPUs, "-1 2\n", "-1 two\n", 1)), "t.swf", workload.Options{})
	require.EqualError(t, err, `t.swf:3: field 19 (GPUs): "two" is not a number; correct the line (-1: unknown) or delete it`)
}

// Without the header's key the nineteenth field may be anything.
func TestANineteenthFieldWithoutTheKeyIsNotRead(t *testing.T) {
	text := strings.Replace(withGPUs, "; MachineGPUs: 4\n", "", 1)
	trace, err := workload.ReadSWF(strings.NewReader(text), "t.swf", workload.Options{GPUs: 8})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 0, 0}, column(trace, gpusOf))
	require.Equal(t, []string{"the first job line has 19 fields: those behind the eighteenth are not read"}, trace.Warnings)
}

func TestCollectedGPUs(t *testing.T) {
	jobs := []workload.Job{
		{ID: 1, Run: 5, Estimate: 9, Procs: 1, GPUs: 2},
		{ID: 2, Run: 5, Estimate: 9, Procs: 1},
		{ID: 3, Run: 5, Estimate: 9, Procs: 1, GPUs: 9},
	}
	counted := workload.Cleaning{JobsRead: 3, HeldBefore: 1}
	trace, err := workload.Collect("x", jobs, counted, workload.Options{CPUs: 4, GPUs: 8})
	require.NoError(t, err)
	require.Equal(t, []int64{2, 0}, column(trace, gpusOf))
	require.Contains(t, trace.Cleaning.Remarks(), workload.Remark{
		What: "held before they could run: they arrive then", Jobs: 1, Of: 2,
	})
	trace, err = workload.Collect("x", jobs, counted, workload.Options{CPUs: 4})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 0}, column(trace, gpusOf))
	require.Equal(t, []string{"2 of 3 (66.7 %) jobs ask for GPUs, which are not heeded, as there are none: --gpus gives " +
		"the machine some, and a pool has those of its slots"}, trace.Warnings)
}

func TestGPUsAreScaledAndMerged(t *testing.T) {
	trace := kept(t, withGPUs, workload.Options{})
	wide, err := trace.Transform(workload.Transform{Widths: 1.5})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 0, 0}, column(wide, gpusOf))
	require.Contains(t, written(t, wide), "\n1 0 -1 60 3 -1 -1 3 100 -1 1 7 -1 -1 -1 -1 -1 -1 3\n")
	require.Contains(t, wide.Changes(), workload.Change{What: "GPUs, field 19", Lines: 2}) // of 2 it was unknown
	merged := workload.Merge("m", workload.Machine{Processors: 8}, trace, wide)
	require.Equal(t, int64(4), merged.Machine.GPUs)
	require.Equal(t, []int64{2, 3, 0, 0, 0, 0}, column(merged, gpusOf))
}

func TestGPUsOfInstances(t *testing.T) {
	trace, err := workload.ReadSWF(strings.NewReader(withGPUs), "t.swf", workload.Options{})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, trace.WriteInstance(&text))
	again, err := workload.ReadInstance(strings.NewReader(text.String()), "t.json")
	require.NoError(t, err)
	require.Equal(t, trace.Machine, again.Trace.Machine)
	require.Equal(t, []int64{2, 0, 0}, column(again.Trace, gpusOf))
}
