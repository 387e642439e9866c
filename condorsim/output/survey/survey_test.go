package survey_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/survey"
)

// update rewrites the golden files.
var update = flag.Bool("update", false, "write golden files anew")

// small is a trace with one of everything.
const small = `; Version: 2.2
; Computer: toy
; UnixStartTime: 843480031
; TimeZone: 3600
; MaxProcs: 12
; Queue: 2 express
; Note: made up
1 0 -1 100 1 -1 1024 1 100 -1 1 7 -1 -1 2 -1 -1 -1
2 3600 -1 50 2 -1 -1 2 100 -1 1 8 -1 -1 2 -1 -1 -1
3 7200 -1 0 12 -1 4096 12 100 -1 0 7 -1 -1 3 -1 -1 -1
4 7300 -1 90000 8 -1 4096 8 100 -1 1 -1 -1 -1 -1 -1 -1 -1
5 7200 -1 10 3 -1 -1 3 -1 -1 1 7 -1 -1 -1 -1 -1 -1
6 7400 -1 10 3 -1 -1 3 -1 -1 3 7 -1 -1 -1 -1 -1 -1
7 7400 -1 0 3 -1 -1 3 -1 -1 5 7 -1 -1 -1 -1 -1 -1
8 7400 -1 10 13 -1 -1 13 -1 -1 1 7 -1 -1 -1 -1 -1 -1
`

func read(t *testing.T, text string) *workload.Trace {
	t.Helper()
	trace, err := workload.ReadSWF(strings.NewReader(text), "small.swf", workload.Options{Memory: 100, KeepRecorded: true})
	require.NoError(t, err)
	return trace
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run the test with -update if this is as it should be")
}

func TestGolden(t *testing.T) {
	found := survey.Of(read(t, small))
	var table bytes.Buffer
	require.NoError(t, found.Table(&table))
	golden(t, "small.txt", table.Bytes())
	text, err := json.MarshalIndent(found, "", " ")
	require.NoError(t, err)
	golden(t, "small.json", append(text, '\n'))
}

func TestNumbers(t *testing.T) {
	s := survey.Of(read(t, small))
	require.Equal(t, 5, s.Jobs)
	require.Equal(t, int64(7300), s.Span)
	require.InDelta(t, 100+100+0+8*90000+30, s.Work, 0)
	require.InDelta(t, s.Work/12/7300, s.Load, 1e-12)
	require.Equal(t, "1996-09-23T12:00:31Z", s.Starts)
	require.Equal(t, 1, s.Arrivals[13].Jobs, "the first at 13:00:31, summer or not")
	require.Equal(t, 3, s.Arrivals[15].Jobs)
	require.True(t, s.LocalTime)
	require.Equal(t, 1, s.Estimates.Unknown)
	require.Equal(t, 2, s.Estimates.Exact, "of those that are known")
	require.Equal(t, []survey.Popular{{Seconds: 100, Jobs: 3}, {Seconds: 90000, Jobs: 1}}, s.Estimates.Popular)
	require.Equal(t, 3, s.Memory.Jobs)
	require.Equal(t, 2, s.Users.Known)
	require.Equal(t, "7", s.Users.Top[0].Name)
	require.Equal(t, "express", s.Queues[0].Says)
}

// The hours are those of the zone that the header names, summer and winter.
func TestHoursOfAZone(t *testing.T) {
	for text, want := range map[string]string{
		"; UnixStartTime: 1751367600\n; TimeZoneString: Europe/Paris\n":                   "13 Europe/Paris", // in July
		"; UnixStartTime: 1751367600\n; TimeZone: 3600\n; TimeZoneString: Europe/Paris\n": "13 Europe/Paris",
		"; UnixStartTime: 1751367600\n; TimeZone: 3600\n":                                 "12 +0100",
		"; UnixStartTime: 1751367600\n; TimeZoneString: Nowhere\n":                        "11 UTC",
		"; TimeZoneString: Europe/Paris\n":                                                "0 from the start of the trace",
	} {
		trace, err := workload.ReadSWF(strings.NewReader("; MaxProcs: 4\n"+text+"1 0 -1 60 1"+strings.Repeat(" -1", 13)), "t",
			workload.Options{})
		require.NoError(t, err)
		s := survey.Of(trace)
		hour := slices.IndexFunc(s.Arrivals, func(b survey.Bin) bool { return b.Jobs > 0 })
		at, zone, _ := strings.Cut(want, " ")
		require.Equal(t, at, strconv.Itoa(hour), text)
		var table strings.Builder
		require.NoError(t, s.Table(&table))
		require.Contains(t, table.String(), zone, text)
	}
}

// What a trace records of memory is told also if the machine has none.
func TestRecordedMemory(t *testing.T) {
	text := strings.Replace(small, "12 100 -1 0 7", "12 100 8192 0 7", 1)
	trace, err := workload.ReadSWF(strings.NewReader(text), "small.swf", workload.Options{KeepRecorded: true})
	require.NoError(t, err)
	s := survey.Of(trace)
	require.Zero(t, s.Memory.Jobs)
	require.Equal(t, 3, s.Memory.Used.Jobs)
	require.Equal(t, 1, s.Memory.Requested.Jobs)
	require.InDelta(t, 8, s.Memory.Requested.PerCPU.Median, 0)
	var table strings.Builder
	require.NoError(t, s.Table(&table))
	require.Contains(t, table.String(), "not given (--memory), so memory does not count")
	require.Regexp(t, `jobs with requested memory +│ +1, 20\.0 % `, table.String())
}

// TestBins requires that each job is once in each distribution.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := &workload.Trace{
			Cleaning: workload.Cleaning{JobsRead: 1},
			Machine:  workload.Machine{Processors: rapid.Int64Range(1, 3000).Draw(t, "processors"), Memory: 1 << 40},
		}
		n := rapid.IntRange(0, 30).Draw(t, "jobs")
		for range n {
			run := rapid.Int64Range(0, 1e7).Draw(t, "run")
			trace.Jobs = append(trace.Jobs, workload.Job{
				Submit: rapid.Int64Range(-1e6, 1e6).Draw(t, "submit"), Run: run,
				Estimate: max(run, 1) + rapid.Int64Range(0, 1e6).Draw(t, "more"),
				Procs:    rapid.Int64Range(1, trace.Machine.Processors).Draw(t, "procs"),
				Memory:   rapid.Int64Range(1, 1<<40).Draw(t, "memory"),
			})
		}
		s := survey.Of(trace)
		for _, bins := range [][]survey.Bin{
			s.Widths.Bins, s.RunTimes.Bins, s.Estimates.R.Bins,
			s.Memory.PerCPU.Bins, s.Arrivals,
		} {
			jobs, work := 0, 0.0
			for _, b := range bins {
				jobs, work = jobs+b.Jobs, work+b.Work
			}
			require.Equal(t, n, jobs)
			require.InEpsilon(t, s.Work+1, work+1, 1e-9)
		}
		require.NoError(t, s.Table(io.Discard))
	})
}

func TestPlots(t *testing.T) {
	s := survey.Of(read(t, small))
	folder := filepath.Join(t.TempDir(), "deep", "charts")
	files, err := s.Plots(folder)
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		require.NoError(t, readErr)
		require.NoError(t, xml.Unmarshal(text, new(struct{ XMLName xml.Name })))
		require.Contains(t, string(text), "small: ")
		again := filepath.Join(t.TempDir(), "again")
		_, readErr = s.Plots(again)
		require.NoError(t, readErr)
		same, readErr := os.ReadFile(filepath.Join(again, filepath.Base(file)))
		require.NoError(t, readErr)
		require.Equal(t, text, same)
	}
	empty := survey.Of(&workload.Trace{Name: "none", Machine: workload.Machine{Processors: 1}})
	files, err = empty.Plots(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, files)
	require.NoError(t, empty.Table(io.Discard))

	files, err = survey.Of(read(t,
		"; MaxProcs: 4\n1 0 -1 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")).Plots(t.TempDir())
	require.NoError(t, err)
	require.Len(t, files, 3, "neither estimates nor memory")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = s.Plots(file)
	require.ErrorContains(t, err, "draw the survey: ")
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestPrintError(t *testing.T) {
	require.EqualError(t, survey.Of(read(t, small)).Table(fullDisk{}), "print the survey: disk full")
}
