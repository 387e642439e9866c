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
	// Bundles are new ones, of slots that are known or among SlotsUp. A pool's first
	// come before its first job.
	Bundles []*Bundle
	// Submitted are the jobs that arrived.
	Submitted []*Job
	// Changed are jobs that were edited: each replaces the waiting or held one of its
	// ID, and is matched and placed anew.
	Changed []*Job
	// Completed jobs ran to their end; Removed ones were taken away, waiting or
	// running; StartFailed ones do not run although they were started: the pool could
	// not do what Act asked, or evicted them. They are back in the queue.
	Completed, Removed, StartFailed []backfill.JobID
	// Ran is how long completed jobs ran, where the pool knows better than from their
	// start to Now. Below 0: the job did not come to its end, and teaches estimators
	// nothing.
	Ran map[backfill.JobID]backfill.Time
	// Found are jobs that run without having been started by the negotiator, or
	// elsewhere than it thinks.
	Found []Running
	// Ends are running jobs that are expected to end at another time.
	Ends []End
}

// Running is a job that runs, known before or not. It replaces the one of its ID.
type Running struct {
	Job *Job
	// Placement is where each of its chunks runs, on slots that are up. It may be more
	// than they have: amounts were rounded, or another job is about to end.
	Placement Placement
	// Start is since when. End is when it is expected to end; 0: as long after Start as
	// the job is taken to run.
	// One that has passed is put off as that of any job which outlives its estimate.
	Start, End backfill.Time
}

// End is a running job's new expected end, by what it requests.
type End struct {
	Job backfill.JobID
	At  backfill.Time
}

// Match is a job to be started on slots now.
type Match struct {
	Job       *Job
	Placement Placement
}

// Placement says how many of a job's chunks go to which slots, or to which bundle.
type Placement []Place

// Place is a number of a job's chunks on one slot; or one, and all of a bundle.
type Place struct {
	Slot   *Slot
	Chunks int
	Bundle *Bundle // instead of Slot
}

// Name is that of the slot or the bundle.
func (p Place) Name() string {
	if p.Bundle != nil {
		return p.Bundle.Name
	}
	return p.Slot.Name
}

// Slots are the names of the slots of which it takes some, or all.
func (p Place) Slots() []string {
	if p.Bundle != nil {
		return p.Bundle.Slots
	}
	return []string{p.Slot.Name}
}

// String lists a placement as name×chunks, separated by blanks.
func (p Placement) String() string {
	parts := make([]string, len(p))
	for i, at := range p {
		parts[i] = at.Name() + "×" + strconv.Itoa(at.Chunks)
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
