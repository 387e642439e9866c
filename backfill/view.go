package backfill

import (
	"iter"

	"github.com/tidwall/btree"

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
	candidates []*Candidates
	profile    *profile.Profile
	use        Vector // by running jobs
	capacity   Vector // of the slots that are up
	wakes      []Time // ascending

	// The jobs by ID, and five sorted indexes of them. All are copied on write.
	jobs    *table
	queue   *queue                 // waiting, by the queue's order
	planned *calendar              // waiting with a place, by planned start
	running *btree.BTreeG[planned] // by expected end
	held    *btree.BTreeG[queued]  // out of the queue, by their former position in it
	beyond  *btree.BTreeG[queued]  // see Cycle.Beyond; empty unless the active policy gives guarantees

	freed freedLog // what jobs gave back recently
}

// Now returns the instant of the last cycle.
func (v *View) Now() Time { return v.now }

// Revision returns how many decisions led to this state.
func (v *View) Revision() uint64 { return v.revision }

// Policy returns the name of the active policy and whether it gives guarantees. The name is ""
// until a policy has decided.
func (v *View) Policy() (name string, guarantees bool) { return v.policy, v.guarantees }

// Resources returns the names of the pool's resources, cpus first.
func (v *View) Resources() []string { return v.resources }

// Slots returns all slots that the pool ever had, by SlotID.
func (v *View) Slots() []Slot { return v.slots }

// SlotUp reports whether the slot is in the pool now.
func (v *View) SlotUp(id SlotID) bool { return v.profile.Up(id) }

// CandidateSets returns what the candidate sets hold, by ID.
func (v *View) CandidateSets() []*Candidates { return v.candidates }

// Free returns what is free on a slot at t, according to the plan.
func (v *View) Free(id SlotID, t Time) Vector { return v.profile.Free(id, t) }

// Use returns how much of each resource the running jobs use. The result must not be changed.
func (v *View) Use() Vector { return v.use }

// Capacity returns the summed capacity of the slots that are up. The result must not be changed.
func (v *View) Capacity() Vector { return v.capacity }

// Waiting returns the number of jobs in the queue.
func (v *View) Waiting() int { return v.queue.Len() }

// Held returns the number of held jobs: neither running nor in the queue.
func (v *View) Held() int { return v.held.Len() }

// RunningJobs returns the number of running jobs.
func (v *View) RunningJobs() int { return v.running.Len() }

// RunningJob is a job that runs.
type RunningJob struct {
	Job        *Job
	Start, End Time // End is expected
	Placement  Placement
}

// Running iterates over the running jobs by expected end, then submit time and queue position. The
// loop must not change the state.
func (v *View) Running() iter.Seq[RunningJob] {
	return func(yield func(RunningJob) bool) {
		v.running.Scan(func(p planned) bool {
			r := v.jobs.Find(p.job.ID)
			return yield(RunningJob{Job: r.job, Start: r.start, End: r.end, Placement: r.placement})
		})
	}
}

// Job returns a job that runs, waits or is held; nil if there is none of that ID.
func (v *View) Job(id JobID) *Job {
	if r := v.jobs.Find(id); r != nil {
		return r.job
	}
	return nil
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
		return r.key
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
