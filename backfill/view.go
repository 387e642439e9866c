package backfill

import (
	"cmp"
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// View is the read-only view of a state. The caller must not change what its methods return.
type View struct {
	resources  []string
	rule       profile.Rule
	now        Time
	revision   uint64
	policy     string // the active one; "" before the first
	guarantees bool   // whether the active policy gives guarantees
	planning   Planning

	slots      []Slot // by SlotID, up or not; see SlotUp
	bundles    []Bundle
	rows       []Row
	widest     []int64 // by row, no less than any job takes of it
	candidates []*Candidates
	profile    *profile.Profile
	use        Vector // by running jobs
	capacity   Vector // of the slots that are up
	wakes      []Time // ascending

	// The jobs by ID, and six sorted indexes of them. All are copied on write.
	jobs    *table
	queue   *queue    // waiting, by the queue's order
	planned *calendar // waiting with a place, by planned start
	running *jobList  // by expected end
	held    *jobList  // out of the queue, by their former position in it
	early   *jobList  // waiting and may not start yet, by the earliest start
	beyond  *jobList  // see Fast.Beyond; empty unless the active policy gives guarantees
	shares  *shares   // of the users in the plan; nil unless it has a horizon

	freed freedLog // what jobs gave back recently
}

// Now returns the instant of the last cycle.
func (v *View) Now() Time { return v.now }

// Revision returns how many decisions led to this state.
func (v *View) Revision() uint64 { return v.revision }

// Resources returns the names of the pool's resources, cpus first.
func (v *View) Resources() []string { return v.resources }

// Slots returns all slots that the pool ever had, by SlotID.
func (v *View) Slots() []Slot { return v.slots }

// SlotUp reports whether the slot is in the pool now.
func (v *View) SlotUp(id SlotID) bool { return v.profile.Up(id) }

// Use returns how much of each resource the running jobs use. The result must not be changed.
func (v *View) Use() Vector { return v.use }

// Capacity returns the summed capacity of the slots that are up. The result must not be changed.
func (v *View) Capacity() Vector { return v.capacity }

// Waiting returns the number of jobs in the queue.
func (v *View) Waiting() int { return v.queue.Len() }

// RunningJob is a job that runs.
type RunningJob struct {
	Job        *Job
	Start, End Time // End is expected; Start is still to come if the job is Pinned
	Placement  Placement
	Pinned     bool // it starts once others have made way
	Yields     bool // it runs until it has made way for another
}

// Running iterates over the running jobs by expected end, then submit time and queue position. The
// loop must not change the state.
func (v *View) Running() iter.Seq[RunningJob] {
	return func(yield func(RunningJob) bool) {
		v.running.Scan(func(p queued) bool {
			r := v.jobs.Find(p.job.ID)
			return yield(RunningJob{Job: r.job, Start: r.start, End: r.end, Placement: r.placement, Pinned: r.pinned, Yields: r.yields})
		})
	}
}

// IsRunning reports whether the job runs.
func (v *View) IsRunning(id JobID) bool {
	r := v.jobs.Find(id)
	return r != nil && r.phase == running
}

// IsWaiting reports whether the job is in the queue.
func (v *View) IsWaiting(id JobID) bool {
	r := v.jobs.Find(id)
	return r != nil && r.phase == waiting
}

// Key returns a job's key in the queue's order, lower first, or 0 if there is no such job. Jobs
// with equal keys stand by submit time, then queue position.
func (v *View) Key(id JobID) float64 {
	if r := v.jobs.Find(id); r != nil {
		return v.keyOf(r)
	}
	return 0
}

// Planned returns a waiting job's reservation; ok is false if it has none.
func (v *View) Planned(id JobID) (start Time, at Placement, ok bool) {
	r := v.jobs.Find(id)
	if r == nil || r.phase != waiting || r.placement == nil {
		return 0, nil, false
	}
	return r.start, r.placement, true
}

// Compare compares two jobs by the queue's order: the result is negative if a comes before b.
func (v *View) Compare(a, b *Job) int {
	return cmp.Or(cmp.Compare(v.Key(a.ID), v.Key(b.ID)), Compare(a, b))
}

// Guaranteed returns the latest start that a job was promised; ok is false if it has no guarantee.
func (v *View) Guaranteed(id JobID) (latest Time, ok bool) {
	r := v.jobs.Find(id)
	if r == nil || !r.promised {
		return 0, false
	}
	return r.guarantee, true
}

// Profile returns what is free when, beside running jobs and reservations. Only the cycle's events
// and actions change it; clone it to try other plans.
func (v *View) Profile() *profile.View { return &v.profile.View }

// Request returns what the profile is asked for on behalf of the job: its chunks, estimate,
// candidates, and what it takes of rows.
func (v *View) Request(j *Job) profile.Request {
	return profile.Request{
		Chunk: j.chunk(), Nodes: j.Nodes, Whole: j.Whole, Duration: j.Estimate, ToEnd: j.Unestimated,
		Candidates: v.candidates[j.Candidates], Takes: j.Takes,
	}
}
