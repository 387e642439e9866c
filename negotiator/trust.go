package negotiator

import (
	"cmp"
	"maps"
	"slices"

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

// reviews are the users whose words count otherwise than before, true: for longer times at once, and
// when their waiting jobs were last planned anew for it. A user may have very many, so shorter times
// wait for a while.
type reviews struct {
	due    map[string]bool
	last   map[string]backfill.Time
	broken bool // a job of a user who is not believed outlives its place in this cycle
}

// mostYield is how many jobs yield to others at once, the first ones by their planned starts: the
// others are in nobody's way until later.
const mostYield = 100

// reviewEvery is the shortest time between two plans of a user's jobs for a better record.
const reviewEvery backfill.Time = 60

// review takes into the record what a delta shows of how far users' words hold: the runs that end, and
// those that go on beyond their places. It comes before jobs are planned.
func (n *Negotiator) review(d *Delta) {
	record := n.predictions.record
	for _, run := range d.Outliving {
		if place := n.placeOf(run); run.Job.Estimate != 0 && place.Taken > place.Planned {
			record.Outlives(run.Job.word(), run.Job.ID, place)
		}
	}
	for _, id := range d.Completed {
		job := n.jobs.get(id)
		ran, told := d.Ran[id]
		if !told {
			run, _ := n.State().Reason(id)
			ran = d.Now - run.At
		}
		n.ended(PastRun{job, ran})
	}
	for _, id := range slices.Concat(d.Removed, d.StartFailed) {
		record.Ended(n.jobs.get(id).word(), id)
	}
	for _, run := range d.Taught {
		n.ended(run)
	}
	for word, longer := range record.Changed() {
		n.reviews.due[word.User] = n.reviews.due[word.User] || longer
	}
	n.reviews.broken = false
	for run := range n.State().Running() {
		if run.End > d.Now || n.reviews.broken || !n.predictions.guarantees {
			break
		}
		n.reviews.broken = !n.reported.Has(run.Job.ID) && record.Doubts(n.jobs.get(run.Job.ID).word())
	}
}

// ended takes a run that is over into the record. What a job without an estimate takes is no lie.
func (n *Negotiator) ended(run PastRun) {
	switch record := n.predictions.record; {
	case run.Job.Estimate == 0:
	case run.Ran < 0:
		record.Ended(run.Job.word(), run.Job.ID)
	default:
		record.Over(run.Job.word(), run.Job.ID, n.placeOf(run))
	}
}

// placeOf returns the place of a run, by the time that its job states.
func (n *Negotiator) placeOf(run PastRun) estimate.Place {
	p := estimate.Place{Planned: n.predictions.stated(run.Job) + n.predictions.slack, Taken: run.Ran}
	if planned := n.State().Job(run.Job.ID); planned != nil {
		p.Cpus = planned.Request[0] * int64(planned.Nodes)
	} else if request, err := n.schema.Request(run.Job.Ad, run.Job.Nodes); err == nil {
		p.Cpus = request[0] * int64(run.Job.Nodes)
	}
	return p
}

// reconsider adds to the arrivals the waiting jobs of users whose words count otherwise than before.
func (n *Negotiator) reconsider(d *Delta) {
	r := &n.reviews
	maps.DeleteFunc(r.last, func(_ string, at backfill.Time) bool { return at+reviewEvery <= d.Now })
	now := map[string]bool{}
	for user, longer := range r.due {
		if _, lately := r.last[user]; longer || !lately {
			now[user], r.last[user] = true, d.Now
			delete(r.due, user)
		}
	}
	again := func(id backfill.JobID) {
		if n.queued(id) && n.reported.Add(id) {
			n.arrivals = append(n.arrivals, arrival{
				kind: backfill.Changed, job: n.jobs.get(id), predict: true, replanned: n.State().Job(id), distrusted: true,
			})
		}
	}
	if r.broken {
		for _, id := range n.yielding() {
			again(id)
		}
	}
	if len(now) == 0 {
		return
	}
	for _, id := range n.jobs.ids() {
		if now[n.jobs.get(id).word().User] {
			again(id)
		}
	}
}

// yielding lists the first waiting jobs with reservations of users who are not believed: whom the run
// of one of them delays comes before the others.
func (n *Negotiator) yielding() (ids []backfill.JobID) {
	planned := slices.DeleteFunc(n.State().Settled(), func(j backfill.JobState) bool {
		return j.Running || j.Placement == nil || !n.predictions.record.Doubts(n.jobs.get(j.Job.ID).word())
	})
	slices.SortFunc(planned, func(a, b backfill.JobState) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job, b.Job))
	})
	for _, j := range planned[:min(len(planned), mostYield)] {
		ids = append(ids, j.Job.ID)
	}
	return ids
}

// next returns when users' jobs are to be planned anew.
func (r *reviews) next() backfill.Time {
	next := backfill.Forever
	for user := range r.due {
		next = min(next, r.last[user]+reviewEvery)
	}
	return next
}

// outdated reports that a job is planned with another run time than it would be now.
func (n *Negotiator) outdated(id backfill.JobID) bool {
	job, planned := n.jobs.get(id), n.State().Job(id)
	if job == nil || planned == nil {
		return false
	}
	now := *planned
	n.predictions.plan(&now, job)
	return now.Estimate != planned.Estimate
}

// Stretched returns the run time that a job states and the longer one that counts, if its user's word
// does not count as it is; false if it does.
func (n *Negotiator) Stretched(id backfill.JobID) (stated, counts backfill.Time, ok bool) {
	job := n.jobs.get(id)
	if job == nil {
		return 0, 0, false
	}
	stated, counts = n.predictions.stated(job), n.predictions.requested(job)
	return stated, counts, stated != counts
}

// LearnedWords returns what was learned of users' words since the last call, for the record of the
// next negotiator.
func (n *Negotiator) LearnedWords() []estimate.SavedWord { return n.predictions.record.Unsaved() }
