package backfill

import (
	"cmp"
	"fmt"
	"strings"
)

// JobID identifies a job for as long as the host knows the job. The host chooses it, in no
// particular order.
type JobID int64

// Job is what a policy may know of a job. A Job never changes; a job that is edited becomes another
// Job with the same ID.
type Job struct {
	ID JobID
	// Submit is when the job came into its queue.
	Submit Time
	// Release is the earliest instant at which the job may start; 0: any. Until then the job waits and
	// blocks nobody; it may have a reservation from then on.
	Release Time
	// Position orders jobs that were submitted in the same second.
	Position QueuePosition
	// Nodes is the number of chunks: 1, or more for a gang, whose chunks start together (HTCondor's
	// parallel universe).
	Nodes int
	// Request is what each chunk needs.
	Request Vector
	// Estimate is the run time that is planned with, at least 1.
	Estimate Time
	// Running is the run time that is planned with once the job runs; 0: the same as
	// Estimate. Under a policy that gives guarantees it does not count: what was
	// promised must not rest on a prediction.
	Running Time
	// Limit is the run time at which the job is killed; 0: the same as
	// Estimate.
	Limit Time
	// Candidates is the ID of the job's candidate set.
	Candidates int
	// Correction is what is expected of the job once it has outlived what was predicted.
	Correction Correction
	// Unestimated marks a job that came without an estimate and got the
	// configured default.
	Unestimated bool
	// Whole says that the job takes one bundle of its candidates, all of it, whatever
	// it requests. It has one chunk.
	Whole bool
	// Takes is what the job takes of rows while it runs, by ascending row. Shared between jobs; never
	// changed.
	Takes []Take
	// Labels are the job's owner, group, project, account, qos, executable… as
	// far as they are known. Shared between jobs; never changed.
	Labels map[string]string
}

// QueuePosition is where a job stands among those with the same submit time: its number in the
// workload, or on a real pool the schedd's name, ClusterId and ProcId.
type QueuePosition struct {
	Queue         string
	Cluster, Proc int64
}

// Compare compares two jobs by submit time, then queue position, then ID. This is the "order of
// jobs", which breaks every tie between jobs in the project.
func Compare(a, b *Job) int {
	if a.Submit != b.Submit { // the usual case, kept fast
		return cmp.Compare(a.Submit, b.Submit)
	}
	return cmp.Or(
		strings.Compare(a.Position.Queue, b.Position.Queue),
		cmp.Compare(a.Position.Cluster, b.Position.Cluster),
		cmp.Compare(a.Position.Proc, b.Position.Proc),
		cmp.Compare(a.ID, b.ID),
	)
}

// Width returns the number of cpus of all chunks together.
func (j *Job) Width() int64 { return int64(j.Nodes) * j.Request[0] }

// Early reports whether the job may not start yet at a time; see Release.
func (j *Job) Early(at Time) bool { return j.Release != 0 && at < j.Release }

// NotBefore returns the given time, or the job's earliest start if that is later.
func (j *Job) NotBefore(t Time) Time {
	if j.Early(t) {
		return j.Release
	}
	return t
}

// Waited returns how long the job has been in its queue by now, or 0 if its submit time is in the
// future, because clocks may disagree.
func (j *Job) Waited(now Time) Time { return max(0, now-j.Submit) }

// Total returns what all chunks of the job need together, of each resource.
func (j *Job) Total() Vector {
	total := make(Vector, len(j.Request))
	total.AddScaled(j.Request, int64(j.Nodes))
	return total
}

// runs returns the run time that is expected of the job once it runs: its estimate, not a
// prediction, if the active policy gives guarantees.
func (j *Job) runs(guarantees bool) Time {
	if guarantees || j.Running == 0 {
		return j.Estimate
	}
	return j.Running
}

// chunk returns what each chunk takes of a slot: the request, or nil for the whole slot.
func (j *Job) chunk() Vector {
	if j.Whole {
		return nil
	}
	return j.Request
}

// limit returns the run time at which the job is killed.
func (j *Job) limit() Time { return cmp.Or(j.Limit, j.Estimate) }

// validate returns an error if a number of the job is beyond its limits, if the job requests
// nothing, or if its request does not have the given number of resources.
func (j *Job) validate(resources int) error {
	switch {
	case j.Nodes < 1 || j.Nodes > MaxChunks:
		return fmt.Errorf("job %d: %d chunks: must be from 1 to %d", j.ID, j.Nodes, MaxChunks)
	case int(j.Correction) >= len(corrections):
		return fmt.Errorf("job %d: correction %d: there is none", j.ID, j.Correction)
	case j.Whole && j.Nodes != 1:
		return fmt.Errorf("job %d: %d chunks: must be 1, as it takes a bundle whole", j.ID, j.Nodes)
	case j.Estimate < 1 || j.Estimate > MaxTime:
		return fmt.Errorf("job %d: estimate of %d s: must be from 1 to %d", j.ID, j.Estimate, MaxTime)
	case j.Running < 0 || j.Running > MaxTime:
		return fmt.Errorf("job %d: estimate of %d s for when it runs: must be from 0 to %d", j.ID, j.Running, MaxTime)
	case j.Limit < 0 || j.Limit > MaxTime:
		return fmt.Errorf("job %d: limit of %d s: must be from 0 to %d", j.ID, j.Limit, MaxTime)
	case j.Release < 0 || j.Release > MaxTime:
		return fmt.Errorf("job %d: may not start before %d: must be from 0 to %d", j.ID, j.Release, MaxTime)
	case len(j.Request) != resources:
		return fmt.Errorf("job %d: asks for %d resources, the pool has %d", j.ID, len(j.Request), resources)
	}
	for _, amount := range j.Request {
		if amount < 0 || amount > MaxAmount/int64(j.Nodes) {
			return fmt.Errorf("job %d: asks for %d times %v: amounts must be at least 0 and at most %d in all", j.ID,
				j.Nodes, j.Request, MaxAmount)
		}
	}
	if j.Request.Zero() {
		return fmt.Errorf("job %d: asks for nothing: some amount must be at least 1", j.ID)
	}
	return nil
}
