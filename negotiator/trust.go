package negotiator

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// A place in the plan is as long as the job's stated run time, and promises to others rest on it. So
// that time counts as far as the pool enforces it or the user's record bears it out, see
// [estimate.Trust].

// stated is the run time that a job states, or the default.
func (p *predictions) stated(job *Job) backfill.Time { return cmp.Or(job.Estimate, p.unknown) }

// enforced reports that the pool ends a job by the time that it states.
func (j *Job) enforced() bool {
	return j.Estimate != 0 && (j.Enforced || j.Limit != 0 && j.Limit <= j.Estimate)
}

// word is whose word a job's stated run time is.
func (j *Job) word() estimate.Word { return estimate.WordOf(j.payer(), j.enforced()) }

// ownWord is the word of the job's user alone.
func (j *Job) ownWord() estimate.Word { return estimate.WordOf(j.payer(), false) }

// requested is the run time that a job is taken to request: the one that it states as far as that
// counts, or the default. The limit at which the pool ends the job bounds by how much it is stretched.
func (p *predictions) requested(job *Job) backfill.Time {
	stated := p.stated(job)
	if p.trust == estimate.TrustAll || job.Estimate == 0 {
		return stated
	}
	counts, enforced := stated, job.enforced()
	if !enforced && p.trust == estimate.TrustEnforced {
		counts = max(counts, p.unknown)
	}
	counts = max(counts, p.record.Counts(job.word(), stated+p.slack, p.unknown+p.slack)-p.slack)
	if job.Limit != 0 && !enforced && !p.record.Doubts(estimate.WordOf(job.payer(), true)) {
		counts = max(stated, min(counts, job.Limit))
	}
	return counts
}

// believed reports that a job's stated run time counts as it is.
func (p *predictions) believed(job *Job) bool { return p.requested(job) == p.stated(job) }

// distrusted returns the users whose words do not count as they are; nil: there are none.
func (p *predictions) distrusted() map[string]bool {
	if p.trust == estimate.TrustAll {
		return nil
	}
	return p.record.Doubted()
}

// reviews are the users whose words count otherwise than before, true: for longer times at once, and
// when their waiting jobs were last planned anew for it. A user may have very many, so shorter times
// wait for a while.
type reviews struct {
	due    map[string]bool
	last   map[string]backfill.Time
	broken bool // a job of a user who is not believed outlives its place in this cycle
	lifted []lifted
}

// lifted is the promise of a job that arrives anew in this cycle, as its user is not believed.
type lifted struct {
	job    backfill.JobID
	latest backfill.Time
}

// reviewEvery is the shortest time between two plans of a user's jobs for a better record.
const reviewEvery backfill.Time = 60

// next returns when users' jobs are to be planned anew.
func (r *reviews) next() backfill.Time {
	next := backfill.Forever
	for user := range r.due {
		next = min(next, r.last[user]+reviewEvery)
	}
	return next
}

// payer is the user who pays for what the job's expressions cost to evaluate.
func (j *Job) payer() string {
	if j.User != "" {
		return j.User // without a look at the labels
	}
	return j.Labels["owner"]
}
