package negotiator

import "github.com/condor-backfill/condor-backfill/backfill"

// jobs are the jobs that wait, run or are held, by ID.
type jobs struct{ backfill.JobTable[known] }

// known is what the negotiator knows of a job.
type known struct {
	job       *Job // nil until the cycle in which it comes makes its event
	cluster   int  // its autocluster
	clustered bool // it has one
	// matched is when the job was started, while it is not known to run; began is since when it runs.
	// 0: not known.
	matched, began backfill.Time
}

// get returns a job, or nil if there is none of that ID.
func (j *jobs) get(id backfill.JobID) *Job {
	if k := j.Find(id); k != nil {
		return k.job
	}
	return nil
}

// naming returns what calls the callback, which may be nil, with refusals that tell of jobs by their names.
func (j *jobs) naming(refused func(backfill.Refusal)) func(backfill.Refusal) {
	if refused == nil {
		return nil
	}
	return func(r backfill.Refusal) {
		refused(r.Named(func(id backfill.JobID) string {
			if job := j.get(id); job != nil {
				return job.Name
			}
			return ""
		}))
	}
}

// ids lists the IDs of all jobs in ascending order.
func (j *jobs) ids() []backfill.JobID {
	ids := make([]backfill.JobID, 0, j.Len())
	j.Scan(func(id backfill.JobID, k *known) bool {
		if k.job != nil {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}
