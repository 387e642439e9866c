package negotiator

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// predictions are the run times that jobs are planned with, where they differ from the requested
// ones. A job's run times are predicted when it arrives, and those of all jobs anew when other
// estimators become active; estimators may ask for more, see relearn.go.
type predictions struct {
	set    *estimate.Set // nil: jobs are planned with what they request
	trust  estimate.Trust
	record *estimate.TrackRecord // of what users state
	actual func(backfill.JobID) backfill.Time
	// guarantees says that the active policy gives guarantees. Such a policy plans with requested
	// times; only the order of the queue uses predictions.
	guarantees bool
	slack      backfill.Time // is added to all planned times
	unknown    backfill.Time // the requested time of jobs that request none
	jobs       *jobs         // the negotiator's
	known      *backfill.JobTable[prediction]
	apart      int                     // the number of entries of known with apart set
	anew       bool                    // the next cycle predicts the run times of all jobs anew
	replanned  map[backfill.JobID]bool // the jobs that got other run times in this cycle
	learned    []estimate.Ended        // in this cycle
	now        backfill.Time           // of the cycle
	waiting    queues
	reordered  []backfill.JobID // the jobs whose run time for the order has changed in this cycle
	cpus       func(*Job) int64 // what all chunks of a job request; 0: not known
}

// prediction holds the run times of a job for the uses of [estimate.Uses], at least one of which
// differs from the requested time.
type prediction struct {
	estimate.Uses
	apart bool // the order uses another run time than the plan
	// ordered is a copy of a job that gets the run time that the queue's order sees; plain is that
	// job.
	ordered, plain *backfill.Job
}

// idle reports that there are no estimators, or that they predict the requested time.
func (p *predictions) idle() bool { return p.set == nil || p.set.Requested() }

// planned reports that jobs are planned with predicted run times.
func (p *predictions) planned() bool { return !p.idle() && !p.guarantees }

// describe returns a job in the form that estimators take.
func (p *predictions) describe(job *Job) estimate.Job {
	return estimate.Job{
		Name: job.Name, Requested: p.requested(job), Stated: p.stated(job), Unestimated: job.Estimate == 0,
		Labels: job.Labels, Cpus: p.cpus(job),
	}
}

// predict asks the estimators for a job's run times, and keeps them if they differ from the
// requested one. It returns those that the job was planned with, and those that it is planned with
// now.
func (p *predictions) predict(job *Job) (before, now estimate.Uses) {
	if p.idle() {
		before = usesOf(p.known.Find(job.ID), p.requested(job))
		return before, before
	}
	j := p.describe(job)
	before = usesOf(p.known.Find(job.ID), j.Requested)
	if p.actual != nil && p.set.Knows() {
		if j.Actual = p.actual(job.ID); j.Actual < 0 {
			j.Actual = j.Requested
		}
	}
	if now = p.set.Estimate(&j, p.now); now == asRequested(j.Requested) {
		p.forget(job.ID)
		return before, now
	}
	planned := now.Backfill
	if p.guarantees {
		planned = j.Requested
	}
	known := p.known.Put(job.ID)
	if known.apart {
		p.apart--
	}
	if known.Uses, known.apart = now, now.Order != planned; known.apart {
		p.apart++
	}
	return before, now
}

// asRequested returns the run times of a job that is planned with the one that it requests.
func asRequested(r backfill.Time) estimate.Uses {
	return estimate.Uses{Order: r, Backfill: r, Running: r}
}

// usesOf returns the run times that a job is planned with by what is known of it; nil: nothing.
func usesOf(known *prediction, requested backfill.Time) estimate.Uses {
	if known != nil {
		return known.Uses
	}
	return asRequested(requested)
}

// predictAnew predicts the run times of all jobs anew, if p.anew is set.
func (p *predictions) predictAnew() {
	p.replanned = nil
	if !p.anew {
		return
	}
	p.anew, p.known, p.apart = false, new(backfill.JobTable[prediction]), 0
	p.replanned = map[backfill.JobID]bool{}
	for _, id := range p.jobs.ids() {
		p.predict(p.jobs.get(id))
	}
}

// forget drops the prediction of a job.
func (p *predictions) forget(id backfill.JobID) {
	if known := p.known.Find(id); known != nil {
		if known.apart {
			p.apart--
		}
		p.known.Delete(id)
	}
}

// plan sets the run times of j, package backfill's form of the job, with the slack added. The limit
// is never a predicted time.
func (p *predictions) plan(j *backfill.Job, job *Job) {
	requested := p.requested(job)
	j.Estimate, j.Limit, j.Unestimated = requested, job.Limit, job.Estimate == 0
	if u := p.known.Find(job.ID); u != nil && !p.guarantees && (u.Backfill != requested || u.Running != requested) {
		j.Estimate, j.Limit, j.Correction = u.Backfill, p.limit(job), p.set.Correction()
		if u.Running != u.Backfill {
			j.Running = u.Running + p.slack
		}
	}
	j.Estimate += p.slack
	if j.Limit != 0 {
		j.Limit += p.slack
	}
}

// limit returns the run time beyond which no prediction goes.
func (p *predictions) limit(job *Job) backfill.Time { return cmp.Or(job.Limit, p.requested(job)) }

// runs returns how long a job is expected to run, counted from its start.
func runs(j *backfill.Job) backfill.Time { return cmp.Or(j.Running, j.Estimate) }

// order wraps the queue's order, so that it sees jobs with the run times predicted for the order.
func (p *predictions) order(order backfill.Order) backfill.Order {
	if p.idle() || order == nil {
		return order
	}
	return func(j *backfill.Job, at backfill.Moment) (key float64, moves backfill.Moves) {
		return order(p.ordered(j), at)
	}
}

// ordered returns the job by which the queue is ordered: a copy with another run time, if the order
// does not use the plan's, else the job itself. The copy holds until the next prediction.
func (p *predictions) ordered(j *backfill.Job) *backfill.Job {
	if p.apart == 0 {
		return j
	}
	known := p.known.Find(j.ID)
	if known == nil || !known.apart {
		return j
	}
	if known.plain != j {
		ordered := *j
		known.ordered, known.plain = &ordered, j
	}
	known.ordered.Estimate = known.Order + p.slack
	return known.ordered
}

// expectedEnd returns when a running job ends by its predicted run time, corrected if it has
// outlived that, or by the one that counts in the place of the one that it states. The parameter
// end is when the job ends by its stated run time; expectedEnd returns that one if the other end is
// not in the future.
func (p *predictions) expectedEnd(end End, now backfill.Time) backfill.Time {
	job := p.jobs.get(end.Job)
	start := end.At - p.stated(job)
	if known := p.known.Find(end.Job); known != nil && p.planned() {
		if at, within := p.set.Correction().End(start, known.Running, p.limit(job), now); within {
			return at
		}
	}
	if at := start + p.requested(job); at > now {
		return at
	}
	return end.At
}

// under returns the predictions for other estimators, or for a policy that differs in giving
// guarantees. If run times may differ then, the next cycle predicts all of them anew.
func (p *predictions) under(set *estimate.Set, guarantees bool) *predictions {
	next := *p
	next.set, next.guarantees = set, guarantees
	others := p.set != next.set && (!p.idle() || !next.idle())
	next.anew = p.anew || others || p.guarantees != next.guarantees && !next.idle()
	return &next
}

// inherit makes the estimators learn what those of from have learned, unless they share a history.
func (p *predictions) inherit(from *predictions) {
	if p.set == nil || from.set == nil || p.set == from.set || p.set.History() == from.set.History() {
		return
	}
	for ended := range from.set.History().All() {
		p.set.Learn(ended)
	}
}
