package workload_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func readInstance(t *testing.T, text string) (*workload.Instance, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "i.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return workload.OpenInstance(path)
}

func TestReadInstance(t *testing.T) {
	instance, err := readInstance(t, `{"name": "two", "processors": 4, "memory": 100, "jobs": [
		{"id": 7, "submit": 5, "run": 0, "estimate": 1, "procs": 9, "memory": 60},
		{"id": 3, "submit": 2, "run": 3, "estimate": 4, "procs": 1, "memory": 0}],
		"expected": {"easy": {"start": [5, 2], "strict_fst": [6, 3], "relaxed_fst": [7, 4],
			"metrics": {"mean_wait": 0}}}}`)
	require.NoError(t, err)
	require.Equal(t, "two", instance.Trace.Name)
	require.Equal(t, workload.Machine{Processors: 4, Memory: 100}, instance.Trace.Machine)
	require.Equal(t, []workload.Job{
		{ID: 3, Submit: 2, Run: 3, Estimate: 4, Procs: 1},
		{ID: 7, Submit: 5, Run: 0, Estimate: 1, Procs: 9, Memory: 60},
	}, instance.Trace.Jobs, "in order of jobs, and wide ones stay")
	require.Equal(t, workload.Cleaning{JobsRead: 2, OutOfOrder: 1, JobsLeft: 2}, instance.Trace.Cleaning)
	require.Equal(t, map[string]workload.Expected{"easy": {
		Start: []int64{2, 5}, StrictFST: []int64{3, 6}, RelaxedFST: []int64{4, 7},
		Metrics: map[string]float64{"mean_wait": 0},
	}}, instance.Expected, "in the order of the jobs")
}

func TestReadInstanceWithoutMemory(t *testing.T) {
	instance, err := readInstance(t, `{"processors": 4, "jobs": [{"estimate": 1, "procs": 1, "memory": 60}]}`)
	require.NoError(t, err)
	require.Zero(t, instance.Trace.Jobs[0].Memory)
	require.Empty(t, instance.Expected)
}

func TestReadInstanceErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", ``, "i.json:1:1: there is nothing in it"},
		{"truncated", "{\n\"processors\": 4,\n\"jobs\": [", "i.json:3:10: it ends too early"},
		{"syntax", "{\n\"processors\": 4,\n\"jobs\": }", "i.json:3:9: '}' where a value is expected; condorsim workload formats describes instances\n\"jobs\": }\n        ^"},
		{"unknown key", "{\n\"processors\": 4,\n\"jbos\": []}", `i.json:3:1: unknown field "jbos"`},
		{"kind", "{\n\"processors\": \"4\"}", "i.json:2:18: processors: a string is given where a whole number is expected"},
		{
			"fraction", "{\"processors\": 4, \"jobs\": [\n{\"run\": 1.5}]}",
			"i.json:2:12: jobs.run: 1.5 is given where a whole number is expected",
		},
		{"more", "{\"processors\": 4}\n{}", "there is more behind the end"},
		{"processors", `{"processors": 0}`, "processors: 0: must be from 1 to 1e12"},
		{"memory", `{"processors": 1, "memory": -1}`, "memory: -1: must be 0"},
		{
			"procs", `{"processors": 1, "jobs": [{"id": 4, "estimate": 1}]}`,
			"jobs[0] (id 4): procs: 0: must be at least 1",
		},
		{
			"run", `{"processors": 1, "jobs": [{"id": 4, "run": -1, "estimate": 1, "procs": 1}]}`,
			"run: -1: must be at least 0",
		},
		{"estimate", `{"processors": 1, "jobs": [{"id": 4, "procs": 1}]}`, "estimate: 0: must be at least 1"},
		{
			"overrun", `{"processors": 1, "jobs": [{"id": 4, "run": 3, "estimate": 2, "procs": 1}]}`,
			"estimate: 2: must be at least run, 3",
		},
		{
			"release", `{"processors": 1, "jobs": [{"id": 4, "estimate": 2, "procs": 1, "release": -1}]}`,
			"release: -1: must be at least 0, which is any time",
		},
		{
			"huge", `{"processors": 1, "jobs": [{"submit": 2000000000000, "estimate": 2, "procs": 1}]}`,
			"submit: 2000000000000: must be at most 1e12",
		},
		{"id", `{"processors": 1, "jobs": [{"id": 4, "estimate": 1, "procs": 1}, {"id": 5, "estimate": 1, "procs": ` +
			`1}, {"id": 4, "estimate": 1, "procs": 1}]}`, "jobs[2] (id 4): jobs[0] has the same id"},
		{
			"entries", `{"processors": 1, "expected": {"easy": {"start": [1]}}}`,
			"expected.easy: a list of 1 entries for 0 jobs",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readInstance(t, c.text)
			require.ErrorContains(t, err, c.want)
			var fault *workload.Error
			require.ErrorAs(t, err, &fault)
		})
	}
	_, err := workload.OpenInstance(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadAllExamples(t *testing.T) {
	paths, err := filepath.Glob("../../../../shared/sim-examples/*.json")
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the example instances are not read: ../../../shared/sim-examples is not there")
	}
	require.Len(t, paths, 15)
	for _, path := range paths {
		instance, err := workload.OpenInstance(path)
		require.NoError(t, err)
		require.Zero(t, instance.Trace.Cleaning.OutOfOrder)
		require.Len(t, instance.Expected, 17, path)
		for policy, e := range instance.Expected {
			require.Len(t, e.Start, len(instance.Trace.Jobs), policy)
		}
	}
}

func TestWriteInstance(t *testing.T) {
	trace := toy()
	trace.Jobs[1].Release, trace.Filled = 70, true
	trace.Jobs[2].User, trace.Jobs[2].Group, trace.Jobs[2].Queue = `ann "a"`, "lab", "2"
	trace.Scavengers = map[int64]bool{3: true}
	var b strings.Builder
	require.NoError(t, trace.WriteInstance(&b))
	again, err := readInstance(t, b.String())
	require.NoError(t, err)
	require.Equal(t, trace.Jobs, again.Trace.Jobs)
	require.Equal(t, trace.Machine, again.Trace.Machine)
	require.True(t, again.Trace.Filled)
	require.Equal(t, trace.Scavengers, again.Trace.Scavengers)
	require.Equal(t, "toy", again.Trace.Name)
	packed, err := readInstance(t, string(compressed(t, ".xz", b.String())))
	require.NoError(t, err)
	require.Equal(t, again, packed)
	_, err = readInstance(t, string(compressed(t, ".xz", b.String())[:50]))
	require.ErrorContains(t, err, "i.json: the xz file is truncated; fetch it again")
	require.EqualError(t, trace.WriteInstance(fullDisk{}), "write instance toy: disk full")
}

func FuzzReadInstance(f *testing.F) {
	var b strings.Builder
	require.NoError(f, toy().WriteInstance(&b))
	for _, seed := range []string{
		"", "{", b.String(), strings.ReplaceAll(b.String(), "10", "-1"), b.String() + "x",
		strings.ReplaceAll(b.String(), "5", "1e99"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		instance, err := readInstance(t, text)
		if err != nil {
			require.Nil(t, instance)
			return
		}
		var b strings.Builder
		require.NoError(t, instance.Trace.WriteInstance(&b))
		again, err := readInstance(t, b.String())
		require.NoError(t, err)
		require.Equal(t, instance.Trace.Jobs, again.Trace.Jobs)
		require.Equal(t, instance.Trace.Machine, again.Trace.Machine)
	})
}

// A small file that decompresses to a large one is not read to its end.
func TestInstanceThatIsTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bomb.json.gz")
	file, err := os.Create(path)
	require.NoError(t, err)
	unpacked := gzip.NewWriter(file)
	blanks := bytes.Repeat([]byte{' '}, 1<<20)
	for range 65 {
		_, err = unpacked.Write(blanks)
		require.NoError(t, err)
	}
	require.NoError(t, unpacked.Close())
	require.NoError(t, file.Close())
	_, err = workload.OpenInstance(path)
	require.EqualError(t, err, path+": the instance is longer than 64 MiB; give it as a trace in SWF")
}
