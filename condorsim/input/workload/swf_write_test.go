package workload_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// written returns a trace as a file.
func written(tb require.TestingT, trace *workload.Trace) string {
	var b strings.Builder
	require.NoError(tb, trace.WriteSWF(&b))
	return b.String()
}

// back writes a trace and reads it again.
func back(tb require.TestingT, trace *workload.Trace) *workload.Trace {
	again, err := workload.ReadSWF(strings.NewReader(written(tb, trace)), trace.Name+".swf", workload.Options{})
	require.NoError(tb, err)
	return again
}

func TestWriteSWF(t *testing.T) {
	trace := &workload.Trace{
		Name: "t", Machine: workload.Machine{Processors: 16, Memory: 4096},
		Header: workload.Header{"Zebra": "z", "Note": "one\ntwo: three", "Computer": "toy", "MaxProcs": "8"},
		Jobs: []workload.Job{
			{ID: 5, Submit: 3, Run: 10, Estimate: 20, Procs: 4, Memory: 3, User: "alice", Group: "2", Queue: "1"},
			{ID: 6, Submit: 3, Run: 0, Estimate: 1, Procs: 1, User: "1", Group: "02", Executable: "a \"b\"\n"},
			{ID: 2, Submit: 9, Run: 1, Estimate: 1, Procs: 16, Memory: 4096, User: "alice"},
		},
	}
	require.Equal(t, `; Version: 2.2
; Computer: toy
; MaxJobs: 3
; MaxRecords: 3
; MaxProcs: 16
; MachineMemory: 4096
; Zebra: z
; Note: one
; Note: two: three
; UserName: 2 "alice"
; GroupName: 1 "02"
; ExecutableName: 1 "a \"b\"\n"
5 3 -1 10 4 -1 768 4 20 768 1 2 2 -1 1 -1 -1 -1
6 3 -1 0 1 -1 -1 1 1 -1 1 1 1 1 -1 -1 -1 -1
2 9 -1 1 16 -1 262144 16 1 262144 1 2 -1 -1 -1 -1 -1 -1
`, written(t, trace))
	again := back(t, trace)
	require.Equal(t, trace.Jobs, again.Jobs)
	require.Equal(t, trace.Machine, again.Machine)
	require.NotContains(t, again.Header, "UserName")
}

func TestJobsOfOneNumberAreNumberedAnew(t *testing.T) {
	for _, c := range [][2][]int64{
		{{7, 7}, {1, 2}},
		{{3, 9, 3}, {1, 2, 3}},
		{{9, 3, 4, 9}, {1, 2, 3, 4}},
		{{3, 9, 4}, {3, 9, 4}},
		{{5, 6, 8}, {5, 6, 8}},
		{{9, 1}, {9, 1}},
	} {
		trace := &workload.Trace{Name: "t", Machine: workload.Machine{Processors: 1}}
		for _, number := range c[0] {
			trace.Jobs = append(trace.Jobs, workload.Job{ID: number, Run: 1, Estimate: 1, Procs: 1})
		}
		require.Equal(t, c[1], column(back(t, trace), id))
	}
}

// anyTrace draws a trace such as ReadSWF returns.
func anyTrace(t *rapid.T) *workload.Trace {
	label := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[0-9]{1,3}`), rapid.String())
	trace := &workload.Trace{Name: "t", Machine: workload.Machine{
		Processors: rapid.Int64Range(1, 100_000).Draw(t, "processors"),
		Memory:     rapid.Int64Range(0, 1_000_000).Draw(t, "memory"),
		GPUs:       rapid.Int64Range(0, 100).Draw(t, "gpus"),
	}}
	submit := rapid.Int64Range(0, 1e9).Draw(t, "submit")
	for id := range rapid.Int64Range(1, 20).Draw(t, "jobs") {
		run := rapid.Int64Range(0, 1e6).Draw(t, "run")
		submit += rapid.Int64Range(0, 1e4).Draw(t, "gap")
		procs := rapid.Int64Range(1, trace.Machine.Processors).Draw(t, "procs")
		j := workload.Job{
			ID: id * 3, Submit: submit, Run: run,
			Estimate: max(run, 1) + rapid.Int64Range(0, 1e6).Draw(t, "more"), Procs: procs,
			GPUs:      rapid.Int64Range(0, trace.Machine.GPUs).Draw(t, "gpus of the job"),
			HasWaited: rapid.Bool().Draw(t, "a wait is recorded"), User: label.Draw(t, "user"), Group: label.Draw(t, "group"),
			Executable: label.Draw(t, "executable"), Queue: label.Draw(t, "queue"),
		}
		if j.HasWaited {
			j.Waited = rapid.Int64Range(0, 1e5).Draw(t, "wait")
			j.Wait = j.Waited
		}
		if trace.Machine.Memory > 0 {
			kb := rapid.Int64Range(0, trace.Machine.Memory*1024/procs).Draw(t, "memory")
			j.Memory = (kb*procs + 1023) / 1024
		}
		trace.Jobs = append(trace.Jobs, j)
	}
	return trace
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := anyTrace(t)
		again := back(t, trace)
		require.Equal(t, trace.Jobs, again.Jobs)
		require.Equal(t, trace.Machine, again.Machine)
		thrice := back(t, again)
		require.Equal(t, again, thrice, "header and counts too")
		require.Equal(t, written(t, again), written(t, thrice))
	})
}

// TestRoundTripOfTheArchive writes real traces and reads them again, compressed.
func TestRoundTripOfTheArchive(t *testing.T) {
	for _, c := range []struct{ name, packing string }{
		{"KTH-SP2-1996-2.swf", ".gz"}, {"DAS2-fs1-2003-1.swf", ".zst"}, {"lublin_256.swf", ".xz"},
	} {
		name := c.name
		path := "../../../../shared/traces/" + name + ".gz"
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the round trip of %s is not checked: %v", name, err)
		}
		trace, err := workload.Open(path, workload.Options{Memory: 1 << 20})
		require.NoError(t, err)
		for _, end := range []string{"", c.packing} {
			var b bytes.Buffer
			w, err := packed.NewWriter(&b, name+end)
			require.NoError(t, err)
			require.NoError(t, trace.WriteSWF(w))
			require.NoError(t, w.Close())
			again, err := workload.ReadSWF(&b, name+end, workload.Options{Clean: workload.CleanNone})
			require.NoError(t, err)
			require.Equal(t, trace.Name, again.Name)
			require.Equal(t, len(trace.Jobs), len(again.Jobs)) //nolint:testifylint // printing them all helps nobody
			for i, j := range trace.Jobs {
				require.Equal(t, j, again.Jobs[i], "%s, job %d", name, i)
			}
			require.Equal(t, trace.Machine, again.Machine)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteError(t *testing.T) {
	for _, jobs := range []int{1, 5000} {
		trace := read(t, synthetic(jobs), workload.Options{Clean: workload.CleanNone})
		require.EqualError(t, trace.WriteSWF(fullDisk{}), "write trace test: disk full")
	}
	early := &workload.Trace{Name: "early", Machine: workload.Machine{Processors: 1}, Jobs: []workload.Job{{ID: 7, Submit: -1, Procs: 1}}}
	require.EqualError(t, early.WriteSWF(io.Discard),
		"write trace early: job 7 is submitted at -1: in a file a time below 0 is unknown; add to all times")
}
