package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Merge makes one trace of the jobs of several, such as the mixed workload of the IBB paper. Each
// job is submitted as long after the first one as in its own trace; jobs of one instant are in the
// order of the traces. If the machine has no processors, memory or GPUs, it gets the most that a
// machine of the traces has. Jobs that it cannot hold are dropped and counted.
//
// The jobs are numbered from 1. Users, groups, executables and queues of different traces are
// different: each gets the trace's name as a prefix.
func Merge(name string, machine Machine, traces ...*Trace) *Trace {
	merged := &Trace{Name: name, Header: Header{}, Statuses: map[int64]int{}}
	biggest := Machine{}
	for _, t := range traces {
		biggest.Processors = max(biggest.Processors, t.Machine.Processors)
		biggest.Memory = max(biggest.Memory, t.Machine.Memory)
		biggest.GPUs = max(biggest.GPUs, t.Machine.GPUs)
	}
	merged.Machine = Machine{
		Processors: cmp.Or(machine.Processors, biggest.Processors),
		Memory:     cmp.Or(machine.Memory, biggest.Memory),
		GPUs:       cmp.Or(machine.GPUs, biggest.GPUs),
	}
	names := distinctNames(traces)
	numbers := []int64{0} // 0 stands for a job that is not there
	merged.Header.add("Note", "merged: "+strings.Join(names, ", "))
	merged.waitless = true
	for i, t := range traces {
		if i == 0 || t.Overrun != OverrunKill { // runs are cut if they are in all parts
			merged.Overrun = t.Overrun
		}
		merged.count(t, names[i])
		merged.inNodes = merged.inNodes || t.inNodes
		prefixed := prefixer(names[i])
		predecessors, begin := t.Predecessors(), len(numbers)
		for k, j := range t.Jobs {
			// Until all are sorted, jobs are numbered as they come, and then numbers tells their final numbers.
			j.ID = int64(len(numbers))
			numbers = append(numbers, 0)
			if j.After != nil {
				j.After = &Preceding{ID: int64(begin + predecessors[k]), Think: j.After.Think}
				if predecessors[k] < 0 {
					j.After.ID = 0
				}
			}
			j.move(j.Submit - t.Jobs[0].Submit)
			j.forgetWait() // it was of a machine of its own
			if j.Recorded != nil {
				recorded := *j.Recorded
				recorded.merged, j.Recorded = true, &recorded
			}
			j.User, j.Group, j.Executable, j.Queue = prefixed(j.User), prefixed(j.Group), prefixed(j.Executable),
				prefixed(j.Queue)
			if !merged.neverFits(j) {
				merged.Jobs = append(merged.Jobs, j)
			}
		}
	}
	slices.SortStableFunc(merged.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range merged.Jobs {
		j := &merged.Jobs[i]
		numbers[j.ID], j.ID = int64(i)+1, int64(i)+1
	}
	for i := range merged.Jobs {
		if j := &merged.Jobs[i]; j.After != nil {
			j.After.ID = numbers[j.After.ID]
		}
	}
	merged.countLeft()
	merged.Drops = nil // their numbers are now those of other jobs
	return merged
}

// count adds what was read besides jobs of a trace that is merged under a name.
func (t *Trace) count(part *Trace, name string) {
	t.Cleaning.add(part.Cleaning)
	for status, n := range part.Statuses {
		t.Statuses[status] += n
	}
	for _, line := range part.Comments {
		t.Comments = append(t.Comments, "; ["+name+"] "+strings.TrimLeft(line, " \t;"))
	}
}

// distinctNames returns the names of the traces; repeated names get a number.
func distinctNames(traces []*Trace) []string {
	seen := map[string]int{}
	names := make([]string, len(traces))
	for i, t := range traces {
		seen[t.Name]++
		names[i] = t.Name
		if n := seen[t.Name]; n > 1 {
			names[i] = fmt.Sprintf("%s#%d", t.Name, n)
		}
	}
	return names
}

// prefixer returns a function that puts a trace's name before a label; equal labels get the same
// string. "" stays "".
func prefixer(trace string) func(label string) string {
	known := map[string]string{"": ""}
	return func(label string) string {
		if _, ok := known[label]; !ok {
			known[label] = trace + ":" + label
		}
		return known[label]
	}
}

// add adds the counts of another trace.
func (count *Cleaning) add(c Cleaning) {
	count.Ads = count.Ads || c.Ads
	for _, sum := range []struct {
		to   *int
		more int
	}{
		{&count.Lines, c.Lines},
		{&count.JobsRead, c.JobsRead},
		{&count.Partial, c.Partial},
		{&count.Cancelled, c.Cancelled},
		{&count.NegativeRun, c.NegativeRun},
		{&count.NoRun, c.NoRun},
		{&count.NoRequest, c.NoRequest},
		{&count.NoProcessors, c.NoProcessors},
		{&count.NoSubmit, c.NoSubmit},
		{&count.TooWide, c.TooWide},
		{&count.TooMuchMemory, c.TooMuchMemory},
		{&count.TooManyGPUs, c.TooManyGPUs},
		{&count.HeldBefore, c.HeldBefore},
		{&count.BeyondMax, c.BeyondMax},
		{&count.CutOut, c.CutOut},
		{&count.PrecedingWrong, c.PrecedingWrong},
		{&count.EstimateScaled, c.EstimateScaled},
		{&count.RunCut, c.RunCut},
		{&count.OutOfOrder, c.OutOfOrder},
		{&count.JobsLeft, c.JobsLeft},
	} {
		*sum.to += sum.more
	}
}
