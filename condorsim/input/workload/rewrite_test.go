package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// kept reads a trace with its lines.
func kept(t require.TestingT, text string, opts workload.Options) *workload.Trace {
	opts.KeepRecorded = true
	trace, err := workload.ReadSWF(strings.NewReader(text), "test.swf", opts)
	require.NoError(t, err)
	return trace
}

const noted = `; Version: 2.2
; Computer: IBM SP2
; Acknowledge: Toy Town  
;              and its people
; Copyright: this notice must be preserved
;   in all copies
; MaxJobs: 6
; MaxRecords: 6
; UnixStartTime: 843325200
; EndTime: Tue Jan 02
; MaxProcs: 8
# a remark
; UserName: 3 "alice"
; Note: as it was
`

func TestALineStaysAsItWas(t *testing.T) {
	lines := []string{
		"1  100 -1 90.5 2 50.5 2048 4 60 4096 0 3 3 5 2 1 -1 -1",
		"2 110 7 90 2 50 -1 -1 -1 -1 1 4 3 5 2 1 1 30 19",
		"\t3 120 -1 10 1 -1 -1 1 60 -1 3 8 -1 -1 -1 -1 -1 -1",
		"4 130 0 0 0 -1 -1 4 100 -1 5 8 -1 -1 -1 -1 -1 -1",
		"5 140 9 10 4 -1 -1 4 100 -1 1 8 -1 -1 -1 -1 4 0",
		"6 150 9 10 4 -1 -1 4 100 -1 1 8 -1 -1 -1 -1 6 0",
	}
	text := noted + strings.Join(lines, "\n") + "\n"
	for _, c := range []struct {
		name    string
		opts    workload.Options
		x       workload.Transform
		without []string // parts of the text that go
		instead []string // and what takes the place of each
		changes []string
	}{
		{name: "nothing", opts: workload.Options{Clean: workload.CleanNone}},
		{
			name:    "dropped",
			without: []string{lines[2] + "\n", lines[3] + "\n", "MaxJobs: 6", "MaxRecords: 6"},
			instead: []string{"", "", "MaxJobs: 4", "MaxRecords: 4"},
			changes: []string{"MaxJobs 0 4", "MaxRecords 0 4"},
		},
		{
			name: "another machine", opts: workload.Options{Clean: workload.CleanNone, CPUs: 9, Memory: 100},
			without: []string{"MaxProcs: 8", "as it was\n"},
			instead: []string{"MaxProcs: 9", "as it was\n; MachineMemory: 100\n"},
			changes: []string{"MaxProcs 0 9", "MachineMemory 0 100"},
		},
		{
			name: "killed", opts: workload.Options{Clean: workload.CleanNone, Overrun: workload.OverrunKill},
			without: []string{"90.5"}, instead: []string{"60"}, changes: []string{"run time 1 "},
		},
		{
			name: "on their own", opts: workload.Options{Clean: workload.CleanNone, Dependencies: workload.DependenciesIgnore},
			without: []string{"1 1 30 19", "4 0\n6", "6 0\n"}, instead: []string{"1 -1 -1 19", "-1 -1\n6", "-1 -1\n"},
			changes: []string{"preceding job 3 ", "think time 3 "},
		},
		{
			name: "load", opts: workload.Options{Clean: workload.CleanNone}, x: workload.Transform{Load: 10},
			without: []string{
				"2 110 7", "3 120", "4 130 0", "5 140 9", "6 150 9", "; EndTime: Tue Jan 02\n", "as it was\n",
			},
			instead: []string{
				"2 101 -1", "3 102", "4 103 -1", "5 104 -1", "6 105 -1", "", "as it was\n; Note: transformed: load × 10\n",
			},
			changes: []string{"submit time 5 ", "wait time 4 ", "EndTime 0 "},
		},
		{
			name: "estimates", opts: workload.Options{Clean: workload.CleanNone}, x: workload.Transform{EstimateScale: 2},
			without: []string{"4 60 4096", "1 60 -1", "4 100", "4 100", "4 100", "as it was\n"},
			instead: []string{
				"4 120 4096", "1 120 -1", "4 200", "4 200", "4 200", "as it was\n; Note: transformed: estimates × 2\n",
			},
			changes: []string{"requested time 5 "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed, err := kept(t, text, c.opts).Transform(c.x)
			require.NoError(t, err)
			want := text
			for i, part := range c.without {
				require.Contains(t, want, part)
				want = strings.Replace(want, part, c.instead[i], 1)
			}
			require.Equal(t, want, written(t, changed))
			var changes []string
			for _, change := range changed.Changes() {
				changes = append(changes, fmt.Sprintf("%s %d %s", change.What, change.Lines, change.Now))
			}
			require.Equal(t, c.changes, changes)
		})
	}
}

func TestMovedLinesAreCounted(t *testing.T) {
	trace := kept(t, "; MaxProcs: 8\n1 9 -1 90 2 5 2 4 100 4 1 3 3 5 2 1 -1 -1\n2 1 -1 90 2 -1 -1 4 100 -1 0 4 3 5 2 1 -1 -1\n"+
		"3 5 -1 90 2 -1 -1 4 100 -1 0 4 3 5 2 1 -1 -1\n", workload.Options{})
	require.Equal(t, []workload.Change{{What: "place of the line, by submit time", Lines: 1}}, trace.Changes())
}

func TestNoticesOfMergedTraces(t *testing.T) {
	text := noted + "1 100 7 90 2 50.5 2048 4 60 4096 0 3 3 5 2 1 -1 -1\n2 100 -1 90 2 -1 -1 4 60 -1 0 3 3 5 2 1 1 -1\n"
	merged := workload.Merge("m", workload.Machine{}, kept(t, text, workload.Options{}), kept(t, text, workload.Options{}))
	again := written(t, merged)
	require.Contains(t, again, "; [test] Copyright: this notice must be preserved\n; [test] in all copies\n")
	require.Contains(t, again, "; [test#2] UserName: 3 \"alice\"\n")
	require.Contains(t, again, "; UserName: 1 \"test:alice\"\n; UserName: 2 \"test#2:alice\"\n")
	require.Contains(t, again, "\n3 0 -1 90 2 50.5 2048 4 60 4096 0 2 2 2 2 1 -1 -1\n"+
		"4 0 -1 90 2 -1 -1 4 60 -1 0 2 2 2 2 1 3 -1\n")
	require.Equal(t, withoutLines(merged), withoutLines(kept(t, again, workload.Options{})))
}

func TestLiesAreNotWritten(t *testing.T) {
	lines := "; MaxProcs: 8\n1 1 7 90 2 5 2 4 100 4 1 3 3 5 2 1 -1 -1\n2 1 -1 90 2 -1 -1 4 100 -1 0 4 3 5 2 1 1 -1\n"
	lying, err := kept(t, lines, workload.Options{}).Transform(workload.Transform{Estimates: "liars:1:3"})
	require.NoError(t, err)
	require.ErrorIs(t, lying.WriteSWF(&strings.Builder{}), workload.ErrLies)
}

// withoutLines returns the jobs without their lines, and without preceding jobs that are left out.
func withoutLines(t *workload.Trace) (jobs []workload.Job) {
	predecessors := t.Predecessors()
	for i, j := range t.Jobs {
		j.Recorded = nil
		switch {
		case j.After == nil:
		case predecessors[i] < 0:
			j.After = nil
		default: // what happened to the other one may be forgotten
			j.After = &workload.Preceding{ID: j.After.ID, Think: j.After.Think}
		}
		if j.Ran() > j.Run { // a file has one run time
			j.Beside, j.Wait, j.Waited, j.HasWaited = 0, 0, 0, false
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// anyLines draws a trace as archives have it.
func anyLines(t *rapid.T) string {
	number := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
	var text strings.Builder
	fmt.Fprintf(&text, "; MaxProcs: %d\n; UnixStartTime: 800000000\n; EndTime: never\n", number("machine", 1, 32))
	gpus := number("gpus of the machine", -1, 2) > 0
	if gpus {
		text.WriteString("; MachineGPUs: 6\n")
	}
	submit := int64(0)
	alone := rapid.Bool().Draw(t, "no job follows another")
	for id := range number("jobs", 2, 12) {
		submit = max(0, submit+number("gap", 0, 50))
		after := int64(-1)
		if alone {
			submit = max(0, submit-number("back", 0, 20)) // not in order
		} else {
			after = number("after", -1, 12)
		}
		fraction := rapid.SampledFrom([]string{"", ".0", ".5"})
		fmt.Fprintf(&text, "%d %d%s %d %d%s %d %d.25 %d %d %d%s %d %d %d %d %d %d %d %d %d", id+1, submit,
			fraction.Draw(t, "of submit"), number("wait", -1, 9), number("run", -1, 90), fraction.Draw(t, "of run"),
			number("allocated", -1, 16), number("cpu", -1, 9), number("used", -1, 9000), number("requested", -1, 16),
			number("time", -1, 120), fraction.Draw(t, "of time"), number("asked", -1, 9000), number("status", 0, 5),
			number("user", -1, 3),
			number("group", -1, 3), number("program", -1, 3), number("queue", 0, 3), number("partition", -1, 3), after,
			number("think", -1, 60))
		if gpus {
			fmt.Fprintf(&text, " %d", number("gpus", -1, 8))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// TestAWrittenTraceRunsAsTheOriginal requires that a reader of a written trace has the same jobs as whoever
// reads the original and changes it likewise, whatever is asked for, so that they run alike.
func TestAWrittenTraceRunsAsTheOriginal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyLines(t)
		memory := rapid.SampledFrom([]int64{0, 100, 1000})
		model := rapid.SampledFrom([]workload.MemoryModel{"", "used", "requested", "per-cpu:3", "lognormal:4:1"})
		opts := workload.Options{
			Clean:        rapid.SampledFrom([]workload.Clean{"papers", "partial", "cancelled", "none"}).Draw(t, "clean"),
			ProcsField:   rapid.SampledFrom([]workload.ProcsField{"allocated", "requested"}).Draw(t, "procs-field"),
			Overrun:      rapid.SampledFrom([]workload.Overrun{"raise", "kill"}).Draw(t, "overrun"),
			Dependencies: rapid.SampledFrom([]workload.Dependencies{"honour", "ignore"}).Draw(t, "dependencies"),
			CPUs:         rapid.SampledFrom([]int64{0, 0, 8, 64}).Draw(t, "cpus"), Memory: memory.Draw(t, "memory"),
			GPUs: rapid.SampledFrom([]int64{0, 0, 4}).Draw(t, "gpus"),
		}
		x := workload.Transform{
			From:          rapid.SampledFrom([]*int64{nil, nil, new(int64(30))}).Draw(t, "from"),
			Until:         rapid.SampledFrom([]*int64{nil, nil, new(int64(200))}).Draw(t, "until"),
			Max:           rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "jobs"),
			Widths:        rapid.SampledFrom([]float64{0, 0.3, 2}).Draw(t, "widths"),
			Estimates:     rapid.SampledFrom([]workload.EstimateModel{"", "accurate", "f:2", "tsafrir"}).Draw(t, "estimates"),
			EstimateScale: rapid.SampledFrom([]float64{0, 0.3, 2}).Draw(t, "scale-estimates"),
			Load:          rapid.SampledFrom([]float64{0, 0.3, 7}).Draw(t, "load"), Seed: 3,
		}
		if opts.Memory > 0 {
			x.Memory = model.Draw(t, "memory model")
			opts.MemoryModel = x.Memory
		}
		changed, err := kept(t, text, opts).Transform(x)
		if err != nil || len(changed.Jobs) == 0 {
			return
		}
		again := kept(t, written(t, changed), workload.Options{Clean: opts.Clean})
		require.Equal(t, changed.Machine, again.Machine)
		require.Equal(t, withoutLines(changed), withoutLines(again), text)
		require.Equal(t, written(t, changed), written(t, again), "it stays as it is")
	})
}
