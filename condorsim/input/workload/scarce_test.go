package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// needing has jobs of a processor or four that run for 100 s and need so many MiB for each processor; 0:
// unknown.
const needing = "; MaxProcs: 8\n" +
	"1 0 -1 100 1 -1 10240 1 100 -1 1 1 1 1 1 1 -1 -1\n" + // 10
	"2 1 -1 100 1 -1 20480 1 100 -1 1 1 1 1 1 1 -1 -1\n" + // 20
	"3 2 -1 100 4 -1 1024 4 100 -1 1 1 1 1 1 1 -1 -1\n" + // 1
	"4 3 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1\n" +
	"5 4 -1 100 8 -1 -1 8 100 -1 1 1 1 1 1 1 -1 -1\n"

func scarce(t *testing.T, text string, x workload.Transform) *workload.Trace {
	t.Helper()
	trace, err := workload.ReadSWF(strings.NewReader(text), "a.swf", workload.Options{Memory: workload.AnyMemory})
	require.NoError(t, err)
	changed, err := trace.Transform(x)
	require.NoError(t, err)
	return changed
}

func memories(t *workload.Trace) (all []int64) {
	for _, j := range t.Jobs {
		all = append(all, j.Memory)
	}
	return all
}

// The mean over work is (10 + 20 + 4) / 6 MiB for each of eight processors, whatever is unknown; half of it is
// 22.7, and one job in a machine of a tenth does not fit.
func TestMemoryShare(t *testing.T) {
	half := scarce(t, needing, workload.Transform{MemoryShare: 0.5})
	require.Equal(t, int64(23), half.Machine.Memory)
	require.Equal(t, []int64{10, 20, 4, 0, 0}, memories(half))
	require.Equal(t, int64(46), scarce(t, needing, workload.Transform{MemoryShare: 1}).Machine.Memory)
	few := scarce(t, needing, workload.Transform{MemoryShare: 0.1})
	require.Equal(t, int64(5), few.Machine.Memory)
	require.Equal(t, 2, few.Cleaning.TooMuchMemory)
	require.Equal(t, 3, few.Cleaning.JobsLeft)
	require.Len(t, few.Drops, 2)
}

// The job of one processor gets 10 or 20 MiB, that of eight 1 for each, as the one of four is the nearest narrower
// one. Who is drawn depends on the seed and the job alone.
func TestMemoryIsDrawn(t *testing.T) {
	sample, err := workload.SampleMemory(scarce(t, needing, workload.Transform{}))
	require.NoError(t, err)
	seen := map[int64]bool{}
	for seed := range uint64(20) {
		x := workload.Transform{MemoryFrom: sample, Seed: seed}
		all := scarce(t, needing, x)
		require.Equal(t, []int64{10, 20, 4}, memories(all)[:3])
		require.Equal(t, int64(8), all.Jobs[4].Memory)
		require.Equal(t, 2, all.Cleaning.MemoryDrawn)
		drawn := all.Jobs[3].Memory
		seen[drawn] = true
		from := int64(3)
		x.From = &from
		require.Equal(t, drawn, scarce(t, needing, x).Jobs[0].Memory, "others are not there")
	}
	require.Equal(t, map[int64]bool{10: true, 20: true}, seen)
	tight := scarce(t, needing, workload.Transform{MemoryFrom: sample, MemoryShare: 0.1})
	require.Equal(t, tight.Machine.Memory, tight.Jobs[len(tight.Jobs)-1].Memory, "what was drawn fits")
}

func TestNoMemoryToShare(t *testing.T) {
	unknown := strings.NewReplacer("10240", "-1", "20480", "-1", "1024", "-1").Replace(needing)
	trace := scarce(t, unknown, workload.Transform{})
	_, err := workload.SampleMemory(trace)
	require.ErrorContains(t, err, "a: no job of it says how much memory it needs")
	_, err = trace.Transform(workload.Transform{MemoryShare: 1})
	require.ErrorContains(t, err, "memory-share: no job of a needs memory while it runs")
	_, err = trace.Transform(workload.Transform{MemoryShare: -1})
	require.ErrorContains(t, err, "memory-share")
	plain, err := workload.ReadSWF(strings.NewReader(needing), "a.swf", workload.Options{})
	require.NoError(t, err)
	sample, err := workload.SampleMemory(scarce(t, needing, workload.Transform{}))
	require.NoError(t, err)
	_, err = plain.Transform(workload.Transform{MemoryFrom: sample})
	require.ErrorContains(t, err, "--memory")
}
