package negotiator

import (
	"context"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Pool is where jobs run: a simulated pool in virtual or scaled time, or a real
// one. It is asynchronous and may fail in parts: a match is a wish, and what
// came of it shows in a later delta.
type Pool interface {
	// Fetch waits until something happens, but not beyond wake, and returns what
	// changed since the last call. It returns io.EOF when nothing can happen any
	// more.
	Fetch(ctx context.Context, wake backfill.Time) (Delta, error)
	// Act carries out the matches of a cycle, in their order.
	Act(ctx context.Context, matches []Match) error
}

// Delta is what changed in a pool between two cycles. It holds until the next is
// fetched.
type Delta struct {
	// Now is the instant of the cycle, in the pool's seconds.
	Now backfill.Time
	// SlotsUp are slots that are new, or came back; SlotsDown are the names of
	// those that are gone.
	SlotsUp   []*Slot
	SlotsDown []string
	// Submitted are the jobs that arrived.
	Submitted []*Job
	// Completed jobs ran to their end; Removed ones were taken away, waiting or
	// running; of StartFailed ones the pool could not do what Act asked.
	Completed, Removed, StartFailed []backfill.JobID
}

// Match is a job to be started on slots now.
type Match struct {
	Job       *Job
	Placement Placement
}

// Placement says how many of a job's chunks go to which slots.
type Placement []Place

// Place is a number of a job's chunks on one slot.
type Place struct {
	Slot   *Slot
	Chunks int
}

// String lists a placement as name×chunks, separated by blanks.
func (p Placement) String() string {
	parts := make([]string, len(p))
	for i, at := range p {
		parts[i] = at.Slot.Name + "×" + strconv.Itoa(at.Chunks)
	}
	return strings.Join(parts, " ")
}

// Slot is a slot as the pool advertises it.
type Slot struct {
	// Name is unique in the pool.
	Name string
	// Capacity is what the slot has in all, in the order of the configured
	// resources.
	Capacity backfill.Vector
	// Ad holds the slot's Requirements and what jobs may ask about. It is not
	// changed after it was handed over.
	Ad *classad.ClassAd
}

// Job is a job as the pool advertises it.
type Job struct {
	ID     backfill.JobID
	Name   string // as users know it, such as 7.0
	Submit backfill.Time
	Place  backfill.Place
	// Nodes is the number of chunks.
	Nodes int
	// Estimate is the planned run time; 0: the job brings none.
	Estimate backfill.Time
	// Limit is the run time at which the pool ends the job; 0: it has none.
	Limit backfill.Time
	// Labels are the job's owner and the like; shared.
	Labels map[string]string
	// Ad holds what each chunk requests, Requirements and Rank. Jobs of one
	// cluster share it, as HTCondor's proc ads share their cluster ad; it is not
	// changed after it was handed over.
	Ad *classad.ClassAd
}
