package slurm

import (
	"strings"
)

// record is one job of an accounting, as a row or an object of it says. It is read again and again into the
// same record, so that a year of jobs needs no memory of its own.
type record struct {
	line int
	id   identity
	step bool // a step of a job, which is no job

	cluster, user, account, name, partition, qos string

	state ending

	// Unix times; 0: unknown.
	submit, eligible, start, end int64
	elapsed                      int64 // seconds; unknown: -1
	limit                        int64 // seconds; 0: unknown, or none
	nodes                        int64 // 0: unknown

	allocated, requested amounts
	memory               memory // as asked for, of which requested.memory is the better one
	gpusOfNode           int64  // GPUs asked for on each node; unknown: -1

	constraints, reservation, licenses bool // whether it asks for any
}

// amounts are what a job has, or asked for, in all.
type amounts struct {
	cpus   int64 // unknown: -1
	memory int64 // MiB; unknown: -1
	gpus   int64 // unknown: -1
	kinds  int64 // GPUs whose kind is named; they are among gpus if that is known
}

// anyGPUs returns the GPUs; unknown: -1.
func (a *amounts) anyGPUs() int64 {
	if a.gpus < 0 && a.kinds > 0 {
		return a.kinds
	}
	return a.gpus
}

// unknownAmounts are of a job of which nothing is said.
var unknownAmounts = amounts{cpus: -1, memory: -1, gpus: -1}

// blank returns a record of which nothing is known.
func blank(line int) record {
	return record{
		line: line, elapsed: -1, allocated: unknownAmounts, requested: unknownAmounts,
		id: identity{task: -1, part: -1, tasks: 1}, gpusOfNode: -1,
	}
}

// identity is which job a record is of.
type identity struct {
	raw   int64 // the number of JobIDRaw, which no other job of the time has; 0: unknown
	job   int64 // the number of the job, or of the array or heterogeneous job that it is of
	task  int64 // of an array; none: -1
	part  int64 // of a heterogeneous job, from 0; none: -1
	tasks int64 // so many tasks that wait share the record; 1 for others
}

// ending is how a job ended, or that it did not.
type ending uint8

// The values of ending.
const (
	noState    ending = iota // the file does not say
	completed                // as it should
	failed                   // after it ran, for whatever reason
	cancelled                // before or after its start
	requeued                 // the job waits again, as another record
	unfinished               // it waits or runs
)

// status returns the number that the Standard Workload Format has for it.
func (e ending) status() int64 {
	switch e {
	case completed:
		return 1
	case failed:
		return 0
	case cancelled:
		return 5
	case requeued:
		return 2
	default:
		return -1
	}
}

// endings are the states of jobs. States that are not among them, such as those of later versions, say nothing.
var endings = map[string]ending{
	"COMPLETED": completed,

	"FAILED": failed, "TIMEOUT": failed, "OUT_OF_MEMORY": failed, "NODE_FAIL": failed, "BOOT_FAIL": failed,
	"DEADLINE": failed, "PREEMPTED": failed, "LAUNCH_FAILED": failed, "RECONFIG_FAIL": failed,

	"CANCELLED": cancelled, "REVOKED": cancelled,

	"REQUEUED": requeued,

	"PENDING": unfinished, "RUNNING": unfinished, "SUSPENDED": unfinished, "COMPLETING": unfinished,
	"CONFIGURING": unfinished, "RESIZING": unfinished, "SIGNALING": unfinished, "STAGE_OUT": unfinished,
	"STOPPED": unfinished, "RESV_DEL_HOLD": unfinished, "POWER_UP_NODE": unfinished, "UPDATE_DB": unfinished,
	"REQUEUE_FED": unfinished, "REQUEUE_HOLD": unfinished, "SPECIAL_EXIT": unfinished,
}

// stateOf reads a state, such as "CANCELLED by 1001".
func stateOf(text string) ending {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return endings[strings.ToUpper(strings.TrimRight(word, "+"))]
}
