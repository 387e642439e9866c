package recorded

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Record is what a record holds. Instants are those of the record: seconds since Start.
type Record struct {
	Name    string // of the file, as given
	Pool    string // of the pool or the workload; "": it has none
	Program string // that wrote it, with its version
	Start   int64  // second 0 as a Unix time; 0: instants are Unix times, or of a clock of their own
	// Slack is added to all estimates and limits, and Unstated is the estimate of jobs that state none; 0: the default.
	Slack, Unstated backfill.Time
	Policy          Policy // that was in charge first
	Policies        int    // how many were in charge, one after the other
	// Until is when another one than the first took charge; 0: none did.
	Until     backfill.Time
	Observing bool // another negotiator decided
	// Description is the pool: each slot as it was first.
	Description *pools.Description
	// Changes are what becomes of the slots, by time, their first coming included; nil: all are there from the
	// beginning, and none changes.
	Changes []SlotChange
	Jobs    []Job // by arrival, then in the order of the queue
	// Foreign counts the jobs that ran and never were in the queue, but for those of the beginning.
	Foreign int
	// Displaced is how often jobs made way for others.
	Displaced int
	Cleaning  workload.Cleaning
	Torn      error // why the record ends before its end; nil: it does not
}

// Policy is who decided.
type Policy struct {
	Name, Fallback string
	Options        map[string]string
	Settings       map[string]string // by their keys in the configuration file
	Guarantees     bool
}

// SlotChange is what becomes of a slot at an instant.
type SlotChange struct {
	At    backfill.Time
	Index int              // of the slot in Description.Slots
	Slot  *negotiator.Slot // as it is from then on; nil: it is gone
}

// Job is a job of a record. Its submit time is its arrival.
type Job struct {
	negotiator.Job
	// Run is how long it runs.
	Run backfill.Time
	// Started says that it was started, at Start, and ended after Run.
	Started bool
	Start   backfill.Time
	// Away is when it is not in the queue after its arrival, unless it runs, by time.
	Away []Absence
	// Places are where it runs from the beginning of the record on; nil: it does not.
	Places       negotiator.Placement
	Cpus, Memory int64 // of all chunks; what depends on the slot counts as nothing
}

// Absence is when a job is not in the queue; To is [backfill.Forever] if it does not come back.
type Absence struct{ From, To backfill.Time }

// Leaves returns when the job leaves the queue for good if it has not started by then; 0: it stays.
func Leaves(away []Absence) backfill.Time {
	if n := len(away); n > 0 && away[n-1].To == backfill.Forever {
		return away[n-1].From
	}
	return 0
}

// Arrival returns when the job came into the queue the last time.
func (j *Job) Arrival() backfill.Time {
	for _, a := range slices.Backward(j.Away) {
		if a.To != backfill.Forever {
			return a.To
		}
	}
	return j.Submit
}
