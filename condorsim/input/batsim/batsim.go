// Package batsim reads and writes the workloads of the simulator Batsim: JSON with jobs, and profiles that
// say what each of them does (https://batsim.readthedocs.io, "Workload").
//
// [Read] takes jobs whose profiles are delays, which say how long a job runs; others depend on Batsim's
// model of machines and networks, and are refused by name. [Write] writes such jobs. What Batsim has no field
// for is in extra_data of the job, a text that Batsim hands to schedulers as it is, and [Read] finds it there
// again.
//
//   - read.go reads a file, settle.go makes jobs of what it says.
//   - write.go writes one.
//   - README.md of condorsim/input/workload says what becomes of each field.
package batsim

// keyTrace is a key of this project beside jobs and profiles: what the trace says of its machine.
const keyTrace = "condorsim"

// shortest is how long a job runs by Batsim, in seconds, that has no run time: a delay must be above 0.
const shortest = "0.001"

// machine is what a trace says besides its jobs and processors.
type machine struct {
	Memory int64 `json:"memory,omitempty"` // MiB
	GPUs   int64 `json:"gpus,omitempty"`
	// Filled says that the jobs that fill the pool are among these.
	Filled bool `json:"filled,omitempty"`
	// Header has the lines that a trace in SWF begins with.
	Header map[string]string `json:"header,omitempty"`
}

// extra is the JSON in extra_data of a job.
type extra struct {
	User       string `json:"user,omitempty"`
	Group      string `json:"group,omitempty"`
	Executable string `json:"executable,omitempty"`
	Queue      string `json:"queue,omitempty"`
	Memory     int64  `json:"memory,omitempty"` // MiB in total
	GPUs       int64  `json:"gpus,omitempty"`   // in total
	// Run is the run time where the profile cannot say it: 0.
	Run *int64 `json:"run,omitempty"`
	// Stated is what the user stated, if it was less than the run time, which then is the walltime.
	Stated int64 `json:"stated,omitempty"`
	// Wait is how long the job really waited, in seconds; nil: nobody knows.
	Wait *int64 `json:"wait,omitempty"`
	// WrongStart says that the file records a start before the submission.
	WrongStart bool  `json:"wrong_start,omitempty"`
	Release    int64 `json:"release,omitempty"` // the earliest start
	// After is the job that it is submitted after, and Think how long after the end of that one.
	After     *int64 `json:"after,omitempty"`
	Think     *int64 `json:"think,omitempty"`
	Scavenger bool   `json:"scavenger,omitempty"`
}
