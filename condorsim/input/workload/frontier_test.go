package workload_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func frontier(t *testing.T, o workload.Options, replace ...string) *workload.Trace {
	t.Helper()
	text, err := os.ReadFile("testdata/frontier.swf")
	require.NoError(t, err)
	o.KeepRecorded = true
	trace, err := workload.ReadSWF(strings.NewReader(strings.NewReplacer(replace...).Replace(string(text))), "frontier.swf", o)
	require.NoError(t, err)
	return trace
}

func TestFrontier(t *testing.T) {
	head, err := os.ReadFile("testdata/frontier.swf")
	require.NoError(t, err)
	require.True(t, workload.IsSWF(head))
	trace := frontier(t, workload.Options{GPUs: 128, Memory: 1 << 20})
	require.Equal(t, workload.Machine{Processors: 16, GPUs: 128, Memory: 1 << 20}, trace.Machine)
	require.Equal(t, []int64{8, 4, 16, 1, 2}, column(trace, procs))
	require.Equal(t, []int64{64, 32, 0, 1, 0}, column(trace, gpusOf))
	require.Equal(t, int64(7*1024), trace.Jobs[3].Memory, "field 7 counts with field 5")
	require.Equal(t, []string{
		"the jobs are as wide as the last field says, in nodes, and the machine has as many as MaxNodes or --cpus says",
		"1 of 5 (20.0 %) jobs have no such last field, and are as wide as field 5 says",
		"1 of 5 (20.0 %) jobs shared nodes, and have them whole here",
	}, trace.Warnings)

	without := frontier(t, workload.Options{})
	require.Contains(t, without.Warnings[3], "3 of 5 (60.0 %) jobs ask for GPUs, which are not heeded")
	require.Equal(t, int64(1792), frontier(t, workload.Options{}, "; MaxNodes: 16\n", "").Machine.Processors)
	require.Contains(t, frontier(t, workload.Options{}, "; MaxNodes: 16\n", "").Warnings,
		"the header has no MaxNodes: MaxProcs is taken for nodes, which --cpus corrects")
	require.Equal(t, int64(20), frontier(t, workload.Options{CPUs: 20}).Machine.Processors)
}

// A trace that is written again is still one of nodes, also if its widths or its machine are others.
func TestFrontierWrittenAgain(t *testing.T) {
	text, err := os.ReadFile("testdata/frontier.swf")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		o    workload.Options
		x    workload.Transform
		line string // the second one
	}{
		"as it is": {line: "2 60 -1 1800 448 -1 -1 448 3600 -1 1 102 12 1 1 1 -1 -1 32 -1 frontier:excl:4x112"},
		"narrower": {
			x:    workload.Transform{Widths: 0.5},
			line: "2 60 -1 1800 2 -1 -1 2 3600 -1 1 102 12 1 1 1 -1 -1 16 -1 frontier:excl:2x112",
		},
		"a larger machine": {
			o: workload.Options{CPUs: 40}, line: "2 60 -1 1800 448 -1 -1 448 3600 -1 1 102 12 1 1 1 -1 -1 32 -1 frontier:excl:4x112",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.GPUs = 128
			trace, err := frontier(t, c.o).Transform(c.x)
			require.NoError(t, err)
			again := written(t, trace)
			require.Contains(t, again, "\n"+c.line+"\n")
			if name == "as it is" {
				require.Equal(t, strings.Replace(string(text), "; MaxProcs: 1792", "; MaxProcs: 16\n; MachineGPUs: 128", 1), again)
			}
			read, err := workload.ReadSWF(strings.NewReader(again), "frontier.swf", workload.Options{KeepRecorded: true})
			require.NoError(t, err)
			require.Equal(t, trace.Machine, read.Machine)
			require.Equal(t, withoutLines(trace), withoutLines(read))
		})
	}
}

func TestFrontierMerged(t *testing.T) {
	plain := kept(t, "; MaxProcs: 4\n1 0 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1\n", workload.Options{})
	for _, parts := range [][]*workload.Trace{
		{plain, frontier(t, workload.Options{GPUs: 128})}, {frontier(t, workload.Options{GPUs: 128}), plain},
	} {
		merged := workload.Merge("m", workload.Machine{}, parts...)
		again := kept(t, written(t, merged), workload.Options{})
		require.Equal(t, merged.Machine, again.Machine)
		require.Equal(t, withoutLines(merged), withoutLines(again))
	}
}
