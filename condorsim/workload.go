package condorsim

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Workload is a pool and the jobs submitted to it.
type Workload struct {
	Name   string
	Schema negotiator.Schema
	Slots  []*negotiator.Slot
	// Bundles are the partitions of a partitioned machine; each job takes one of them whole.
	// Without bundles jobs take parts of slots.
	Bundles []*negotiator.Bundle
	Jobs    []Job // by submit time; the ID of each is its index
	// History is the jobs that ended before the simulation begins, by their ends. Estimators learn
	// from it.
	History []estimate.Ended
	// Cleaning counts the jobs of a trace that were left out. Drops names those whose names are
	// numbers.
	Cleaning workload.Cleaning
	Drops    []workload.Drop

	// Outages are the failures and drains of slots, and Seed determines the random ones. A job that
	// loses its slot more often than GiveUpAfter (if 0, [pools.DefaultGiveUpAfter]) is held.
	Outages     []pools.Outage
	GiveUpAfter int
	Seed        uint64
	// UnixStart is the Unix time of second 0 of the trace; 0 if unknown.
	UnixStart int64
}

// Job is a job of the negotiator, with what only the simulation uses, such as its actual run time.
type Job struct {
	*negotiator.Job
	// Run is the actual run time.
	Run backfill.Time
	// Cpus and Memory are the job's totals.
	Cpus, Memory int64
	// Lies says that its user is one of those who state less than their jobs run.
	Lies bool
}

// runs returns how long the job runs: until its end or its limit.
func (j Job) runs() backfill.Time {
	if j.Limit > 0 {
		return min(j.Run, j.Limit)
	}
	return j.Run
}

// Capacity returns the sum of the slots' capacities.
func (w *Workload) Capacity() backfill.Vector {
	sum := make(backfill.Vector, len(w.Schema.Resources))
	for _, s := range w.Slots {
		sum.AddScaled(s.Capacity, 1)
	}
	return sum
}

// CheckChunks returns an error if a job has several chunks on a partitioned machine.
func (w *Workload) CheckChunks() error {
	i := slices.IndexFunc(w.Jobs, func(j Job) bool { return j.Nodes != 1 })
	if len(w.Bundles) == 0 || i < 0 {
		return nil
	}
	return fmt.Errorf("job %s: %d chunks: on a partitioned machine a job has one, and asks it for all that it needs",
		w.Jobs[i].Name, w.Jobs[i].Nodes)
}

// Memory returns the slots' memory in MiB; 0 if memory is no resource.
func (w *Workload) Memory() int64 {
	if i := slices.Index(w.Schema.Resources, "memory"); i >= 0 {
		return w.Capacity()[i]
	}
	return 0
}
