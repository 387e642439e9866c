package workload_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// line returns one job line; fields that are not given are unknown.
func line(id, submit, run, allocated, requested, estimate, status int) string {
	return fmt.Sprintf("%d %d -1 %d %d -1 -1 %d %d -1 %d 7 -1 3 -1 -1 -1 -1\n",
		id, submit, run, allocated, requested, estimate, status)
}

func read(t *testing.T, text string, opts workload.Options) *workload.Trace {
	t.Helper()
	trace, err := workload.ReadSWF(strings.NewReader(text), "dir/test.swf.gz", opts)
	require.NoError(t, err)
	return trace
}

const header = "; MaxProcs: 64\n"

func TestReadSWF(t *testing.T) {
	text := "; Version: 2.2\n; MaxNodes: 8 (quad)\n; MaxProcs: 32 (all of them)\n; Note: one\n; Note: two: three\n" +
		";   no key here: x\n;\n\n" +
		"  1   0 -1 10 4 9.50 -1 4 20 -1 1 7 2 3 0 -1 -1 -1 more {1,2} fields\r\n" +
		"2\t5 -1 0 -1 -1 -1 8 -1 -1 1 -1 -1 -1 -1 -1 -1 -1" // no newline at the end
	trace := read(t, text, workload.Options{})
	require.Equal(t, "test", trace.Name)
	require.Equal(t, workload.Machine{Processors: 32}, trace.Machine)
	require.Equal(t, workload.Header{
		"Version": "2.2", "MaxNodes": "8 (quad)", "MaxProcs": "32 (all of them)", "Note": "one\ntwo: three",
	}, trace.Header)
	require.Equal(t, []workload.Job{
		{ID: 1, Submit: 0, Run: 10, Estimate: 20, Procs: 4, User: "7", Group: "2", Executable: "3", Queue: "0"},
		{ID: 2, Submit: 5, Run: 0, Estimate: 1, Origin: workload.Assumed, Procs: 8},
	}, trace.Jobs)
	require.Equal(t, workload.Cleaning{Lines: 10, JobsRead: 2, EstimateUnknown: 1, JobsLeft: 2}, trace.Cleaning)
}

// TestRules reads one job line per case, and compares the job and the count.
func TestRules(t *testing.T) {
	none, strong := workload.Options{Clean: workload.CleanNone}, workload.Options{Clean: workload.CleanStrong}
	type count = workload.Cleaning
	for _, c := range []struct {
		name  string
		line  string
		opts  workload.Options
		want  *workload.Job // run, estimate, processors, memory; nil: dropped
		tally count
	}{
		{
			"kept", line(1, 0, 9, 4, 8, 10, 1),
			workload.Options{},
			&workload.Job{Run: 9, Estimate: 10, Procs: 4},
			count{},
		},
		{"partial 2", line(1, 0, 9, 4, 8, 10, 2), workload.Options{}, nil, count{Partial: 1}},
		{"partial 3", line(1, 0, 9, 4, 8, 10, 3), workload.Options{}, nil, count{Partial: 1}},
		{"partial 4", line(1, 0, -1, 4, 8, 10, 4), workload.Options{}, nil, count{Partial: 1}},
		{"partial kept", line(1, 0, 9, 4, 8, 10, 3), none, &workload.Job{Run: 9, Estimate: 10, Procs: 4}, count{}},
		{
			"partial kept by another rule", line(1, 0, 9, 4, 8, 10, 3),
			workload.Options{Clean: workload.CleanCancelled},
			&workload.Job{Run: 9, Estimate: 10, Procs: 4},
			count{},
		},
		{
			"only partial", line(1, 0, 9, 4, 8, 10, 3),
			workload.Options{Clean: workload.CleanPartial},
			nil,
			count{Partial: 1},
		},
		{"cancelled", line(1, 0, 0, 4, 8, 10, 5), workload.Options{}, nil, count{Cancelled: 1}},
		{"cancelled, unknown run", line(1, 0, -1, 4, 8, 10, 5), workload.Options{}, nil, count{Cancelled: 1}},
		{
			"cancelled while running", line(1, 0, 1, 4, 8, 10, 5),
			workload.Options{},
			&workload.Job{Run: 1, Estimate: 10, Procs: 4},
			count{},
		},
		{"cancelled kept", line(1, 0, 0, 4, 8, 10, 5), none, &workload.Job{Run: 0, Estimate: 10, Procs: 4}, count{}},
		{"run unknown", line(1, 0, -1, 4, 8, 10, 1), workload.Options{}, nil, count{NegativeRun: 1}},
		{"run unknown cannot be kept", line(1, 0, -1, 4, 8, 10, 5), none, nil, count{NegativeRun: 1}},
		{"strong", line(1, 0, 9, 4, 8, 10, 3), strong, &workload.Job{Run: 9, Estimate: 10, Procs: 4}, count{}},
		{"strong, cancelled", line(1, 0, 0, 4, 8, 10, 5), strong, nil, count{NoRun: 1}},
		{"strong, no run time", line(1, 0, 0, 4, 8, 10, 1), strong, nil, count{NoRun: 1}},
		{"strong, unknown run", line(1, 0, -1, 4, 8, 10, 1), strong, nil, count{NegativeRun: 1}},
		{"strong, nothing requested", line(1, 0, 9, 4, 8, -1, 1), strong, nil, count{NoRequest: 1}},
		{
			"requested stand in", line(1, 0, 9, 0, 8, 10, 1),
			workload.Options{},
			&workload.Job{Run: 9, Estimate: 10, Procs: 8},
			count{},
		},
		{
			"requested first", line(1, 0, 9, 4, 8, 10, 1),
			workload.Options{ProcsField: workload.ProcsRequested},
			&workload.Job{Run: 9, Estimate: 10, Procs: 8},
			count{},
		},
		{
			"allocated stand in", line(1, 0, 9, 4, -1, 10, 1),
			workload.Options{ProcsField: workload.ProcsRequested},
			&workload.Job{Run: 9, Estimate: 10, Procs: 4},
			count{},
		},
		{"no processors", line(1, 0, 9, -1, 0, 10, 1), none, nil, count{NoProcessors: 1}},
		{
			"no estimate", line(1, 0, 9, 4, 8, -1, 1),
			workload.Options{},
			&workload.Job{Run: 9, Estimate: 9, Procs: 4, Origin: workload.Assumed},
			count{EstimateUnknown: 1},
		},
		{
			"estimate at least 1", line(1, 0, 0, 4, 8, 0, 1),
			workload.Options{},
			&workload.Job{Run: 0, Estimate: 1, Procs: 4, Origin: workload.Assumed},
			count{EstimateUnknown: 1},
		},
		{
			"raised", line(1, 0, 30, 4, 8, 10, 1),
			workload.Options{},
			&workload.Job{Run: 30, Estimate: 30, Procs: 4, Origin: workload.Raised, Beside: 10},
			count{EstimateRaised: 1},
		},
		{
			"killed", line(1, 0, 30, 4, 8, 10, 1),
			workload.Options{Overrun: workload.OverrunKill},
			&workload.Job{Run: 10, Beside: 20, Estimate: 10, Procs: 4},
			count{RunCut: 1},
		},
		{
			"as wide as the machine", line(1, 0, 9, 64, 8, 10, 1),
			workload.Options{},
			&workload.Job{Run: 9, Estimate: 10, Procs: 64},
			count{},
		},
		{"too wide", line(1, 0, 9, 65, 8, 10, 1), workload.Options{}, nil, count{TooWide: 1}},
		{
			"wider machine", line(1, 0, 9, 65, 8, 10, 1),
			workload.Options{CPUs: 65},
			&workload.Job{Run: 9, Estimate: 10, Procs: 65},
			count{},
		},
		{
			"decimals", "1 0 -1 9.99 4 -1 -1 8 10.5 -1 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{},
			&workload.Job{Run: 10, Estimate: 11, Procs: 4},
			count{},
		},
		{
			"a negative decimal stays negative", "1 0 -1 -0.5 4 -1 -1 8 10.5 -1 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{},
			nil,
			count{NegativeRun: 1},
		},
		{
			"memory is no resource", "1 0 -1 9 3 -1 1000 8 10 5000 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{},
			&workload.Job{Run: 9, Estimate: 10, Procs: 3},
			count{},
		},
		{
			"used memory, rounded up", "1 0 -1 9 3 -1 1000 8 10 5000 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{Memory: 3},
			&workload.Job{Run: 9, Estimate: 10, Procs: 3, Memory: 3},
			count{},
		},
		{
			"requested memory stands in", "1 0 -1 9 2 -1 -1 8 10 1024 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{Memory: 3},
			&workload.Job{Run: 9, Estimate: 10, Procs: 2, Memory: 2},
			count{},
		},
		{
			"unknown memory", line(1, 0, 9, 4, 8, 10, 1),
			workload.Options{Memory: 3},
			&workload.Job{Run: 9, Estimate: 10, Procs: 4},
			count{},
		},
		{
			"too much memory", "1 0 -1 9 3 -1 1025 8 10 5000 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{Memory: 3},
			nil,
			count{TooMuchMemory: 1},
		},
		{
			"memory beyond counting", "1 0 -1 9 60000 -1 1000000000000 8 10 5000 1 7 -1 3 -1 -1 -1 -1\n",
			workload.Options{Memory: 3, CPUs: 60000},
			nil,
			count{TooMuchMemory: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := read(t, header+c.line, c.opts)
			c.tally.Lines, c.tally.JobsRead = 2, 1
			if c.want == nil {
				require.Empty(t, trace.Jobs)
			} else {
				c.tally.JobsLeft = 1
				c.want.ID, c.want.User, c.want.Executable = 1, "7", "3"
				require.Equal(t, []workload.Job{*c.want}, trace.Jobs)
			}
			require.Equal(t, c.tally, trace.Cleaning)
			if c.want == nil {
				why := trace.Cleaning.Dropped()
				require.Len(t, why, 1)
				require.Equal(t, []workload.Drop{{ID: 1, Why: why[0].Why}}, trace.Drops)
			} else {
				require.Empty(t, trace.Drops)
			}
		})
	}
}

func TestSortMaxLoad(t *testing.T) {
	text := header +
		line(1, 100, 1, 1, 1, 9, 1) + line(2, 50, 2, 1, 1, 9, 1) + line(3, 100, 3, 1, 1, 9, 1) +
		line(4, 60, 4, 1, 1, 9, 3) + line(5, 175, 5, 1, 1, 9, 1)
	submits := func(trace *workload.Trace) (list [][2]int64) {
		for _, j := range trace.Jobs {
			list = append(list, [2]int64{j.ID, j.Submit})
		}
		return list
	}
	trace := read(t, text, workload.Options{})
	require.Equal(t, [][2]int64{{2, 50}, {1, 100}, {3, 100}, {5, 175}}, submits(trace))
	require.Equal(t, 2, trace.Cleaning.OutOfOrder, "jobs 2 and 4, each below a later one")

	trace = read(t, text, workload.Options{Max: 3, Load: 1})
	require.Equal(t, [][2]int64{{2, 50}, {1, 100}, {3, 100}}, submits(trace))
	require.Equal(t, 1, trace.Cleaning.BeyondMax)
	require.Equal(t, 3, trace.Cleaning.JobsLeft)

	trace = read(t, text, workload.Options{Load: 2})
	require.Equal(t, [][2]int64{{2, 50}, {1, 75}, {3, 75}, {5, 112}}, submits(trace))
	trace = read(t, text, workload.Options{Load: 0.5})
	require.Equal(t, [][2]int64{{2, 50}, {1, 150}, {3, 150}, {5, 300}}, submits(trace))
}

func TestMachine(t *testing.T) {
	job := line(1, 0, 1, 1, 1, 9, 1)
	for _, c := range []struct {
		header string
		cpus   int64
		want   int64
	}{
		{"; MaxNodes: 8\n; MaxProcs: 16\n", 0, 16},
		{"; MaxNodes: 8\n; MaxProcs: -1\n", 0, 8},
		{"; MaxNodes: 8\n", 0, 8},
		{"; MaxNodes: 8\n; MaxProcs: 16\n", 4, 4},
		{"", 4, 4},
	} {
		require.Equal(t, c.want, read(t, c.header+job, workload.Options{CPUs: c.cpus}).Machine.Processors, c.header)
	}
}

// The parts in which a job ran are lines with the number of the job.
func TestPartsShareANumber(t *testing.T) {
	trace := read(t, header+line(1, 0, 9, 4, 4, 10, 1)+line(1, 0, 3, 4, 4, 10, 2)+line(1, 5, 6, 4, 4, 10, 3)+line(2,
		6, 1, 4, 4, 10, 1), workload.Options{Clean: workload.CleanNone})
	require.Len(t, trace.Jobs, 4)
}

func gzipped(tb testing.TB, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// compressed returns a text as a file whose name has this end.
func compressed(tb testing.TB, end, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := packed.NewWriter(&b, end)
	require.NoError(tb, err)
	_, err = io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

func TestErrors(t *testing.T) {
	good := header + line(1, 0, 1, 1, 1, 9, 1)
	var long strings.Builder
	for id := range 1000 {
		long.WriteString(line(id, 0, 1, 1, 1, 9, 1))
	}
	gz := gzipped(t, header+long.String())
	xz, zst := compressed(t, ".xz", header+long.String()), compressed(t, ".zst", header+long.String())
	damaged := bytes.Clone(gz)
	damaged[len(damaged)-5] ^= 1 // in the length at the end
	for _, c := range []struct {
		name, text string
		want       string
		at         workload.Error
	}{
		{
			"not a number", good + "2 0 -1 abc 1 -1 -1 1 9 -1 1 7 -1 3 -1 -1 -1 -1\n",
			`trace.swf:3: field 4 (run time): "abc" is not a number; correct the line (-1: unknown) or delete it`,
			workload.Error{Line: 3, Field: 4, Text: "abc"},
		},
		{
			"only a sign", good + "-", `trace.swf:3: field 1 (job number): "-" is not a number`,
			workload.Error{Line: 3, Field: 1, Text: "-"},
		},
		{
			"only a point", good + "1 .", `trace.swf:3: field 2 (submit time): "." is not a number`,
			workload.Error{Line: 3, Field: 2, Text: "."},
		},
		{
			"two points", good + "1 1.2.3", `field 2 (submit time): "1.2.3" is not a number`,
			workload.Error{Line: 3, Field: 2, Text: "1.2.3"},
		},
		{
			"exponent", good + "1 1e5", `field 2 (submit time): "1e5" is not a number`,
			workload.Error{Line: 3, Field: 2, Text: "1e5"},
		},
		{
			"huge", good + "1 99999999999999999999",
			`field 2 (submit time): "99999999999999999999" is not a number up to 1e12`,
			workload.Error{Line: 3, Field: 2, Text: "99999999999999999999"},
		},
		{
			"few fields", good + "\n2 0 -1 1",
			"trace.swf:4: field 5 (allocated processors): is missing, the line has 4 of 18 fields; " +
				"complete the line",
			workload.Error{Line: 4, Field: 5},
		},
		{
			"one number twice", good + line(3, 0, 1, 1, 1, 9, 1) + line(2, 0, 1, 1, 1, 9, 1) + line(3, 0,
				1, 1, 1, 9, 1),
			"trace.swf:5: field 1 (job number): 3 is the number of a job above; give each job a number of its own",
			workload.Error{Line: 5, Field: 1, Text: "3"},
		},
		{
			"one number twice in a row", good + line(1, 0, 1, 1, 1, 9, 1),
			"trace.swf:3: field 1 (job number): 1 is the number of a job above",
			workload.Error{Line: 3, Field: 1, Text: "1"},
		},
		{"empty", "", "trace.swf: has no job line; give a trace, or ads of jobs that ended: condorsim workload formats describes what is read", workload.Error{}},
		{"one byte", "\n", "trace.swf: has no job line", workload.Error{}},
		{"only comments", header, "trace.swf: has no job line", workload.Error{}},
		{
			"no machine", line(1, 0, 1, 1, 1, 9, 1),
			"trace.swf: the header has neither MaxProcs nor MaxNodes; give the machine's processors with --cpus",
			workload.Error{},
		},
		{
			"long line", good + strings.Repeat("1", 2<<20),
			"trace.swf:3: the line has more than 1048576 bytes; this is no SWF file",
			workload.Error{Line: 3},
		},
		{
			"truncated gzip", string(gz[:len(gz)-20]), "the gzip file is truncated; fetch it again",
			workload.Error{Line: -1},
		},
		{"truncated xz", string(xz[:len(xz)-20]), "the xz file is truncated; fetch it again", workload.Error{Line: -1}},
		{
			"truncated zstd", string(zst[:len(zst)-20]), "the zstd file is truncated; fetch it again",
			workload.Error{Line: -1},
		},
		{
			"only the xz header", string(xz[:12]), "trace.swf:1: the xz file is truncated; fetch it again",
			workload.Error{Line: -1},
		},
		{
			"only the zstd magic", string(zst[:6]), "trace.swf:1: the zstd file is truncated; fetch it again",
			workload.Error{Line: -1},
		},
		{
			"only the gzip header", string(gz[:4]), "trace.swf: the gzip file is truncated; fetch it again",
			workload.Error{},
		},
		{
			"damaged gzip", string(damaged),
			"the gzip file is damaged; fetch it again",
			workload.Error{Line: -1},
		},
		{"not really gzip", "\x1f\x8bxyz12345678", "trace.swf: the gzip file is damaged; fetch it again", workload.Error{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace, err := workload.ReadSWF(strings.NewReader(c.text), "trace.swf", workload.Options{})
			require.Nil(t, trace)
			require.ErrorContains(t, err, c.want)
			var fault *workload.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, "trace.swf", fault.File)
			require.Equal(t, c.at.Field, fault.Field)
			require.Equal(t, c.at.Text, fault.Text)
			if c.at.Line >= 0 {
				require.Equal(t, c.at.Line, fault.Line)
			} else {
				require.Positive(t, fault.Line)
			}
		})
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

func TestReadErrorIsNotTheFilesFault(t *testing.T) {
	disk := errors.New("disk on fire")
	text := io.MultiReader(strings.NewReader(header+"1 2 3"), brokenReader{disk})
	_, err := workload.ReadSWF(text, "trace.swf", workload.Options{})
	require.ErrorIs(t, err, disk)
	require.ErrorContains(t, err, "trace.swf:2: cannot be read: disk on fire")
	_, err = workload.ReadSWF(brokenReader{disk}, "trace.swf", workload.Options{})
	require.ErrorIs(t, err, disk)
}

func TestOptions(t *testing.T) {
	require.NoError(t, workload.Options{}.Validate())
	for _, c := range []struct {
		opts workload.Options
		want string
	}{
		{workload.Options{Clean: "some"}, `clean: "some": must be papers, partial, cancelled, none or strong`},
		{workload.Options{ProcsField: "x"}, `procs-field: "x": must be allocated or requested`},
		{workload.Options{Overrun: "x"}, `overrun: "x": must be raise or kill`},
		{workload.Options{CPUs: -1}, `cpus: -1: must be 0 (as the header says)`},
		{workload.Options{Memory: -1}, `memory: -1: must be 0 (no memory)`},
		{workload.Options{Load: -0.5}, `load: -0.5: must be 0 (as it is) or from 0.001 to 1000`},
		{workload.Options{Max: -1}, `jobs: -1: must be 0 (all jobs)`},
	} {
		_, err := workload.ReadSWF(strings.NewReader(""), "trace.swf", c.opts)
		require.ErrorContains(t, err, c.want)
	}
	_, err := workload.ReadSWF(strings.NewReader(synthetic(1)), "trace.swf",
		workload.Options{MemoryModel: workload.MemoryRequested})
	require.ErrorContains(t, err, `memory model "requested": the machine of trace.swf has no memory`)
	err = workload.Options{Max: -1, CPUs: -2}.Validate()
	require.ErrorContains(t, err, "jobs: -1")
	require.ErrorContains(t, err, "cpus: -2")
}

func TestOpen(t *testing.T) {
	text := synthetic(2000)
	for name, content := range map[string][]byte{
		"plain.swf": []byte(text), "packed.swf.gz": gzipped(t, text), "odd.swf": gzipped(t, text),
		"packed.swf.xz": compressed(t, ".xz", text), "packed.swf.zst": compressed(t, ".zst", text),
		"odd.swf.gz": compressed(t, ".zst", text),
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		trace, err := workload.Open(path, workload.Options{})
		require.NoError(t, err)
		require.Len(t, trace.Jobs, 2000)
	}
	_, err := workload.Open(filepath.Join(t.TempDir(), "none.swf"), workload.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = workload.Open(t.TempDir(), workload.Options{})
	require.ErrorContains(t, err, "is a directory")
}

// TestArchive compares the number of remaining jobs with those in the studies.
func TestArchive(t *testing.T) {
	for _, c := range []struct {
		name       string
		left       int
		processors int64
		outOfOrder int
	}{
		{"KTH-SP2-1996-2", 28489, 100, 0},
		{"CTC-SP2-1996-3.1-cln", 77222, 338, 0},
		{"DAS2-fs1-2003-1", 39348, 64, 0},
		{"HPC2N-2002-2.1-cln", 202876, 240, 0},
		{"LANL-CM5-1994-4.1-cln", 122057, 1024, 0},
		{"LLNL-Thunder-2007-1.1-cln", 118754, 4008, 808},
		{"LPC-EGEE-2004-1.2-cln", 220679, 140, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := "../../../../shared/traces/" + c.name + ".swf.gz"
			if _, err := os.Stat(path); err != nil {
				t.Skipf("the count of jobs left of %s is not checked: %v", c.name, err)
			}
			trace, err := workload.Open(path, workload.Options{})
			require.NoError(t, err)
			require.Equal(t, c.name, trace.Name)
			require.Len(t, trace.Jobs, c.left)
			require.Equal(t, c.processors, trace.Machine.Processors)
			count := trace.Cleaning
			require.Equal(t, c.outOfOrder, count.OutOfOrder)
			require.Equal(t, count.JobsRead, count.JobsLeft+count.Partial+count.Cancelled+count.NegativeRun+
				count.NoProcessors+count.TooWide+count.TooMuchMemory+count.BeyondMax, "every job is counted once")
		})
	}
}

func FuzzReadSWF(f *testing.F) {
	good := header + line(1, 5, 1, 1, 1, 9, 1) + line(2, 0, -1, 1, 99, 9, 5)
	for _, seed := range []string{
		"", ";", header, good, good + "3 0 -1 abc", good + "1.5 -0.5 .", strings.ReplaceAll(good, "\n", "\r\n"),
		strings.ReplaceAll(good, "9", "999999999999999"), "\x1f\x8b", string(gzipped(f, good)),
		strings.ReplaceAll(good, " ", ";"), strings.ReplaceAll(good, " ", ","), "a" + strings.Repeat(" b", 17) + "\n" + good, "#\n;;,",
	} {
		f.Add(seed, 3.0)
	}
	for _, end := range []string{".xz", ".zst"} {
		file := string(compressed(f, end, good))
		f.Add(file, 0.0)
		f.Add(file[:len(file)-3], 0.0)
	}
	f.Fuzz(func(t *testing.T, text string, load float64) {
		opts := workload.Options{CPUs: 64, Memory: 1000, Load: load}
		trace, err := workload.ReadSWF(strings.NewReader(text), "f", opts)
		if err != nil {
			require.Nil(t, trace)
			return
		}
		require.Len(t, trace.Jobs, trace.Cleaning.JobsLeft)
		require.Len(t, trace.Drops, trace.Cleaning.JobsRead-trace.Cleaning.JobsLeft)
		for i, j := range trace.Jobs {
			require.True(t, 1 <= j.Procs && j.Procs <= 64 && 0 <= j.Memory && j.Memory <= 1000, "%+v", j)
			require.True(t, j.Run >= 0 && j.Estimate >= 1 && j.Estimate >= j.Run, "%+v", j)
			require.True(t, i == 0 || trace.Jobs[i-1].Submit <= j.Submit, "%+v", j)
			if j.Submit > 1e12 || j.Submit < -1e12 {
				return // scaled beyond what readers accept
			}
		}
		if len(trace.Jobs) > 0 {
			again := back(t, trace)
			require.Equal(t, trace.Jobs, again.Jobs)
			require.Equal(t, trace.Machine, again.Machine)
		}
	})
}

// synthetic returns a trace of n jobs.
func synthetic(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "%6d %8d %6d %6d %4d %8.2f %6d %4d %6d %6d 1 %3d %2d %3d 1 -1 -1 -1\n", i+1,
			i*30+random.IntN(30), random.IntN(9999),
			random.IntN(9999), 1+random.IntN(64), random.Float64()*1000, random.IntN(99999), 1+random.IntN(64),
			1+random.IntN(20000), -1,
			random.IntN(200), random.IntN(20), random.IntN(300))
	}
	return b.String()
}

func BenchmarkReadSWF(b *testing.B) {
	text := synthetic(100_000)
	for name, content := range map[string]string{
		"plain": text, "gzip": string(gzipped(b, text)), "xz": string(compressed(b, ".xz", text)),
		"zstd": string(compressed(b, ".zst", text)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := workload.ReadSWF(strings.NewReader(content), "b.swf", workload.Options{Memory: 1 << 20})
				require.NoError(b, err)
			}
			b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// TestDamagedGzip requires that the file is blamed, not the line, if the text is wrong because the
// file is damaged.
func TestDamagedGzip(t *testing.T) {
	var text, packed bytes.Buffer
	text.WriteString("; MaxProcs: 4\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "%d %d -1 10 2 -1 -1 2 20 -1 1 1 -1 -1 -1 -1 -1 -1\n", i, i*7919%1000)
	}
	text.WriteString("1 0 -1 soon 2\n")
	pack := gzip.NewWriter(&packed)
	_, err := pack.Write(text.Bytes())
	require.NoError(t, err)
	require.NoError(t, pack.Close())
	_, err = workload.ReadSWF(bytes.NewReader(packed.Bytes()), "t.swf.gz", workload.Options{})
	require.ErrorContains(t, err, "t.swf.gz:2002: ")
	require.ErrorContains(t, err, "correct the line")
	damaged := packed.Bytes()
	damaged[len(damaged)-6] ^= 0xff // the checksum
	_, err = workload.ReadSWF(bytes.NewReader(damaged), "t.swf.gz", workload.Options{})
	require.ErrorContains(t, err, "t.swf.gz:2002: the gzip file is damaged")
	require.ErrorContains(t, err, "fetch it again")
}

// TestWhatAJobCosts bounds the memory of a trace to 500 bytes a job, including room for more jobs.
func TestWhatAJobCosts(t *testing.T) {
	const jobs = 25_000
	file := compressed(t, ".gz", synthetic(jobs))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	trace, err := workload.ReadSWF(bytes.NewReader(file), "t.swf.gz", workload.Options{Memory: 1 << 20})
	require.NoError(t, err)
	cost := float64(int64(heap())-int64(before)) / jobs
	t.Logf("%.0f bytes a job", cost)
	require.Less(t, cost, 500.0)
	require.Positive(t, cost)
	runtime.KeepAlive(trace)
	runtime.KeepAlive(file)
}

// A header of any length takes a bounded amount of memory.
func TestHeaderWithManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("; MaxProcs: 4\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "; Key%d: value\n", i)
	}
	b.WriteString("1 0 -1 10 2 -1 -1 2 20 -1 1 1 -1 -1 -1 -1 -1 -1\n")
	trace, err := workload.ReadSWF(strings.NewReader(b.String()), "t.swf", workload.Options{})
	require.NoError(t, err)
	require.Len(t, trace.Header, 1000)
	require.Equal(t, "4", trace.Header["MaxProcs"])
}
