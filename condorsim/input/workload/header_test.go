package workload_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func TestHeader(t *testing.T) {
	text := `;       Version: 2.2
; TimeZoneString: Europe/Amsterdam  # CET (Central European Time)
; MaxNodes: 338 (batch partition; 512 total)
; MaxProcs: -1
; UnixStartTime: 1041377305
; Queue: 1 - All jobs submitted to same queue
; Queue:  2  express
; Queue: no number
; UserName: 7 "alice"
; UserName: seven
; GroupName: 3 unquoted
; Zoo: x
; http://www.example.org/
; Note: n
`
	trace := read(t, text+line(1, 0, 1, 1, 1, 9, 1), workload.Options{})
	h := trace.Header
	require.Equal(t, "2.2", h.Text("Version"))
	require.Equal(t, "Europe/Amsterdam", h.Text("TimeZoneString"))
	require.Equal(t, int64(338), h.Number("MaxNodes"))
	require.Equal(t, int64(1041377305), h.Number("UnixStartTime"))
	require.Zero(t, h.Number("MaxProcs"))
	require.Zero(t, h.Number("none"))
	require.Equal(t, map[int64]string{1: "All jobs submitted to same queue", 2: "express"}, h.Names("Queue"))
	require.Empty(t, h.Names("Partition"))
	require.Equal(t, []string{
		"Version", "UnixStartTime", "TimeZoneString", "MaxNodes", "MaxProcs", "Queue",
		"GroupName", "UserName", "Zoo", "Note",
	}, h.Keys())
	require.Equal(t, int64(338), trace.Machine.Processors)
	require.Equal(t, "alice", trace.Jobs[0].User, "number 7")
	require.Equal(t, "seven", h["UserName"], "what is no name stays in the header")
	require.Equal(t, map[int64]int{1: 1}, trace.Statuses)

	endless := read(t, header+strings.Repeat("; Note: again and again\n", 100_000)+line(1, 0, 1, 1, 1, 9, 1),
		workload.Options{})
	require.Len(t, endless.Header["Note"], 64<<10-1, "no more is kept")
	longKey := read(t, "; "+strings.Repeat("k", 2000)+": v\n"+header+line(1, 0, 1, 1, 1, 9, 1), workload.Options{})
	require.NotContains(t, longKey.Header.Keys(), strings.Repeat("k", 2000))
}

// A small compressed file may have names without end.
func TestNamesAreBounded(t *testing.T) {
	const says = "the header has more than 1000000 names, or more than 64 MiB of them; leave out those that no job has"
	job := line(1, 0, 1, 1, 1, 9, 1)
	large := strings.Repeat(`; UserName: 7 "`+strings.Repeat("a", 60<<10)+"\"\n", 1100)
	many := strings.Repeat("; QueueName: 7 \"a\"\n", 1_000_001)
	for name, text := range map[string]string{"large": large, "many": many} {
		_, err := workload.ReadSWF(strings.NewReader(text+job), name, workload.Options{})
		require.ErrorContains(t, err, says, name)
	}
	trace := read(t, header+large[:len(large)/2]+job, workload.Options{})
	require.Len(t, trace.Jobs[0].User, 60<<10)
}

// The digits of a number may be parted into thousands, and a remark may follow; half a number is none.
func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{
		"1,024": 1024, "1,048,576 cores": 1048576, "1'024": 1024, "1_024": 1024, "64, 128": 64, "4 (8 threads)": 4,
		"70  (dual)": 70, "338(batch)": 338, "4\n8": 4, "4 # 8": 4, "-4": 0, "": 0, ",024": 0, "N/A": 0,
		"4 cores": 4, "4; 8 with threads": 4, "4.": 4, "184  ( 6,  171,   7)": 184, "4 - all": 4,
	} {
		require.Equal(t, want, workload.Header{"MaxProcs": text}.Number("MaxProcs"), text)
		trace := read(t, "; MaxProcs: "+strings.ReplaceAll(text, "\n", "\n; MaxProcs: ")+"\n; MaxNodes: 9\n"+
			line(1, 0, 1, 1, 1, 9, 1), workload.Options{})
		require.Equal(t, cmp.Or(want, 9), trace.Machine.Processors, text)
	}
	job := line(1, 0, 1, 1, 1, 9, 1)
	for _, text := range []string{
		"12,34", "1024,5", "1,0245", "1.5", "4 000", "4.000", "4k", "1,02,4", "1e9", "100,000,000,000,000", "0x10", "4 1/2",
		"338-512", "338 - 512", "338 -512",
	} {
		require.Zero(t, workload.Header{"MaxProcs": text}.Number("MaxProcs"), text)
		for _, key := range []string{"MaxProcs", "MaxNodes", "UnixStartTime", "MachineMemory"} {
			file := "; Version: 2.2\n; " + key + ": " + text + "\n" + job
			_, err := workload.ReadSWF(strings.NewReader(file), "t.swf", workload.Options{})
			require.EqualError(t, err, "t.swf:2: "+key+": "+strconv.Quote(text)+
				" is no whole number; write it with digits alone, such as 1024, or delete the line")
		}
		trace := read(t, "; MaxProcs: "+text+"\n; MaxQueues: "+text+"\n"+job, workload.Options{CPUs: 7})
		require.Equal(t, int64(7), trace.Machine.Processors, "the header does not count")
	}
}

// What a header says and what is not heeded is told.
func TestHeaderDoubts(t *testing.T) {
	job := line(1, 0, 1, 1, 1, 9, 1)
	for text, want := range map[string][]string{
		"; MaxProcs: unknown\n; MaxNodes: 9\n": {`MaxProcs: "unknown" in the header is no number, and not heeded`},
		"; MaxProcs: -1\n; MaxNodes: 9\n":      nil,
		"; MaxProcs: 4\n; MaxNodes: many\n":    nil,
		"; MaxProcs: 4\n; MaxProcs: 8\n":       {"the header has more than one MaxProcs, 4 and 8: the first counts"},
		"; MaxProcs: 4\n; MaxProcs: 4\n":       nil,
		"; MaxProcs: 4\n; UnixStartTime: Mon Sep 23\n": {
			`UnixStartTime: "Mon Sep 23" in the header is no number, and not heeded`,
		},
		"; MaxProcs: 4\n;2;0;-1;60" + strings.Repeat(";1", 14) + "\n": {
			"1 lines look like jobs behind a semicolon, the first is line 2: they are comments",
		},
	} {
		require.Equal(t, want, read(t, text+job, workload.Options{}).Misreadings(), text)
	}
	require.Empty(t, read(t, "; MaxProcs: unknown\n"+job, workload.Options{CPUs: 4}).Misreadings())
	for text, want := range map[string]string{
		"; MaxProcs: 0\n": "x: the header says MaxProcs: 0, which is no number of processors; give the machine's processors " +
			"with --cpus",
		"; MaxProcs: -1\n; MaxNodes: a\n": "x: the header says MaxProcs: -1 and MaxNodes: a, which is no number of " +
			"processors; give the machine's processors with --cpus",
		"": "x: the header has neither MaxProcs nor MaxNodes; give the machine's processors with --cpus",
	} {
		_, err := workload.ReadSWF(strings.NewReader(text+job), "x", workload.Options{})
		require.EqualError(t, err, want)
	}
	_, err := workload.ReadSWF(strings.NewReader("; MaxProcs: 4\n;1;0;-1;60"+strings.Repeat(";1", 14)), "x", workload.Options{})
	require.EqualError(t, err, "x:2: the job line begins with a semicolon, which makes a comment of it; delete the semicolons "+
		"at the beginning of job lines: sed 's/^;//'")
}

// A job whose submit time is unknown is left out, and counted.
func TestNoSubmitTime(t *testing.T) {
	trace := read(t, "; MaxProcs: 4\n"+line(1, -1, 1, 1, 1, 9, 1)+line(2, -10, 1, 1, 1, 9, 1)+line(3, 1_000_000, 1, 1, 1, 9, 1),
		workload.Options{})
	require.Len(t, trace.Jobs, 1)
	require.Equal(t, 2, trace.Cleaning.NoSubmit)
	require.Equal(t, "left out: 2 submit time unknown", trace.Cleaning.LeftOut())
}

// Keys of the archive are found however people write them.
func TestKeyForms(t *testing.T) {
	for _, head := range []string{"MaxProcs : 4", "maxprocs: 4", "MaxProcs = 4", "MAXPROCS=4", ";;MaxProcs\t:4"} {
		trace := read(t, "; "+head+"\n; Note: MaxProcs = 8\n; the time = 3: MaxProcs: 9\n; http://x/\n"+
			line(1, 0, 1, 1, 1, 9, 1), workload.Options{})
		require.Equal(t, int64(4), trace.Machine.Processors, head)
		require.Equal(t, []string{"MaxProcs", "Note"}, trace.Header.Keys())
	}
}
