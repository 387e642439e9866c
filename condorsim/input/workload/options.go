package workload

import (
	"errors"
	"fmt"
	"slices"
)

// Clean says which jobs that never really ran are dropped. Jobs without a run time or without
// processors are always dropped: they cannot run.
type Clean string

// The values of Clean; "" is CleanPapers.
const (
	CleanPapers    Clean = "papers"    // both rules, as the studies of these traces do
	CleanPartial   Clean = "partial"   // only: drop partial executions (status 2, 3, 4)
	CleanCancelled Clean = "cancelled" // only: drop jobs cancelled before they started (status 5, run time ≤ 0)
	CleanNone      Clean = "none"      // neither rule: keep all that can run
	// CleanStrong goes by no status: it drops jobs with run time 0, and those that requested no time. With
	// [ProcsRequested] and [OverrunKill] that is what studies of predicted run times call the strong filter.
	CleanStrong Clean = "strong"
)

// ProcsField says which field has a job's processors. The other one is used where it is not
// positive.
type ProcsField string

// The values of ProcsField; "" is ProcsAllocated.
const (
	ProcsAllocated ProcsField = "allocated" // field 5
	ProcsRequested ProcsField = "requested" // field 8
)

// Overrun says what happens to a job that ran longer than its estimate.
type Overrun string

// The values of Overrun; "" is OverrunRaise.
const (
	OverrunRaise Overrun = "raise" // the estimate is raised to the run time
	OverrunKill  Overrun = "kill"  // the run time is cut to the estimate
)

// Dependencies says what becomes of the preceding jobs that a trace names.
type Dependencies string

// The values of Dependencies; "" is DependenciesHonour.
const (
	DependenciesHonour Dependencies = "honour" // a job is submitted after the end of its preceding one
	DependenciesIgnore Dependencies = "ignore" // each job is submitted when it was
)

// Options say how to read a trace. The zero value reads it as the studies do.
type Options struct {
	Clean      Clean
	ProcsField ProcsField
	// MemoryModel says which field is read first for a job's memory: requested, or used for any
	// other model, which Transform checks. A field that is asked for by name is an error if the
	// machine has no memory.
	MemoryModel MemoryModel
	Overrun     Overrun
	CPUs        int64 // processors of the machine; 0: as the header says
	// Memory is MiB of the whole machine; 0: memory is no resource, unless the trace was written by
	// [Trace.WriteSWF] for a machine with memory.
	Memory int64
	// GPUs are those of the whole machine; 0: GPUs are no resource, unless the header of a trace says so.
	GPUs int64
	Load float64 // see Transform, which has more such settings
	// Dependencies says whether jobs are submitted after the end of their preceding jobs.
	Dependencies Dependencies
	Max          int
	// Zone is the name of the time zone of the clock by which a file writes dates, such as Europe/Paris; "":
	// UTC. A trace in the Standard Workload Format has no dates.
	Zone string
	// KeepRequests keeps the memory and the GPUs that jobs ask for also if the machine has none, for writing them.
	KeepRequests bool
	// KeepRecorded keeps the lines of the file, and each job's memory as recorded, for a survey and for
	// writing the trace again.
	KeepRecorded bool
}

// Validate returns an error with setting (as on the command line), value and rule of everything
// that is wrong, or nil.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %v: must be %s", field, value, rule))
		}
	}
	check(oneOf(o.Clean, CleanPapers, CleanPartial, CleanCancelled, CleanNone, CleanStrong), "clean",
		quoted(o.Clean), "papers, partial, cancelled, none or strong")
	check(oneOf(o.ProcsField, ProcsAllocated, ProcsRequested), "procs-field",
		quoted(o.ProcsField), "allocated or requested")
	check(oneOf(o.Dependencies, DependenciesHonour, DependenciesIgnore), "dependencies",
		quoted(o.Dependencies), "honour or ignore")
	check(oneOf(o.Overrun, OverrunRaise, OverrunKill), "overrun", quoted(o.Overrun), "raise or kill")
	check(0 <= o.CPUs && o.CPUs <= maxNumber, "cpus", o.CPUs,
		"0 (as the header says) or a number of processors up to 1e12")
	check(0 <= o.Memory && o.Memory <= maxNumber, "memory", o.Memory, "0 (no memory) or a number of MiB up to 1e12")
	check(o.Zone == "" || loadZone(o.Zone) != nil, "zone", quoted(o.Zone), "a name of the IANA, such as Europe/Paris")
	check(0 <= o.GPUs && o.GPUs <= maxNumber, "gpus", o.GPUs, "0 (no GPUs) or a number of GPUs up to 1e12")
	errs = append(errs, Transform{Load: o.Load, Max: o.Max}.Validate())
	return errors.Join(errs...)
}

// oneOf reports whether value is allowed or "", which stands for the default.
func oneOf[T ~string](value T, allowed ...T) bool {
	return value == "" || slices.Contains(allowed, value)
}

func quoted[T ~string](value T) string { return fmt.Sprintf("%q", string(value)) }
