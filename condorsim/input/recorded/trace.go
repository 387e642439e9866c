package recorded

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Trace returns the jobs as a trace of one machine, which has all the cpus and the memory that the slots have. The number
// of each job is its place in the record, from 1. Nothing is cleaned or corrected: the jobs are those that were there.
func (r *Record) Trace() *workload.Trace {
	t := &workload.Trace{
		Name: cmp.Or(r.Pool, r.Name), Cleaning: r.Cleaning, Header: workload.Header{}, Jobs: make([]workload.Job, len(r.Jobs)),
	}
	t.Header.StartAt(r.Start)
	memory := slices.Index(r.Description.Schema.Resources, "memory")
	for _, s := range r.Description.Slots {
		t.Machine.Processors += s.Capacity[0]
		if memory >= 0 {
			t.Machine.Memory += s.Capacity[memory]
		}
	}
	t.Machine.Processors = max(1, t.Machine.Processors)
	for i := range r.Jobs {
		j := &r.Jobs[i]
		t.Machine.Processors = max(t.Machine.Processors, j.Cpus)
		t.Machine.Memory = max(t.Machine.Memory, j.Memory)
		t.Jobs[i] = workload.Job{
			ID: int64(i + 1), Submit: int64(j.Submit), Run: int64(j.Run), Estimate: r.Stated(i), Procs: j.Cpus,
			Memory: j.Memory, User: cmp.Or(j.User, j.Labels["owner"]), Group: j.Labels["group"],
			Executable: j.Labels["executable"], Queue: j.Labels["qos"],
		}
		one := &t.Jobs[i]
		one.Lies = one.Run > one.Estimate
		if j.Started {
			one.HasWaited, one.Waited = true, int64(j.Start-j.Submit)
			one.Wait = one.Waited
		}
		if j.Estimate == 0 {
			t.Cleaning.EstimateDefault++
		}
	}
	t.Cleaning.JobsRead, t.Cleaning.JobsLeft = len(t.Jobs), len(t.Jobs)
	return t
}

// Stated returns the estimate of a job as [Record.Trace] has it: that of jobs which state none if need be.
func (r *Record) Stated(i int) int64 {
	return int64(max(1, cmp.Or(r.Jobs[i].Estimate, r.Unstated, negotiator.DefaultEstimate)))
}

// earliest is the least Unix time that instants of a record can be, in 1973: lesser ones are of a clock of its own.
const earliest = 100_000_000

// Date has a trace whose instants are Unix times, as those of a real pool's record, begin with its first job at second
// 0 and know its date. It is for a trace that is written: [Record.Jobs] keep their instants.
func Date(t *workload.Trace) {
	if t.Header.Start() != 0 || len(t.Jobs) == 0 || t.Jobs[0].Submit < earliest {
		return
	}
	first := t.Jobs[0].Submit
	t.Header.StartAt(first)
	for i := range t.Jobs {
		t.Jobs[i].Submit -= first
	}
}
