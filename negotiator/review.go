package negotiator

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// mostYield is how many jobs yield to others at once, the first ones by their planned starts: the
// others are in nobody's way until later.
const mostYield = 100

// review takes into the record what a delta shows of how far users' words hold: the runs that end,
// and those that go on beyond their places. It comes before jobs are planned.
func (n *Negotiator) review(d *Delta) {
	record := n.predictions.record
	for _, run := range d.Outliving {
		if place := n.placeOf(run); run.Job.Estimate != 0 && place.Taken > place.Planned {
			for word := range wordsOf(run.Job, place) {
				record.Outlives(word, run.Job.ID, place)
			}
		}
	}
	for _, id := range d.Completed {
		job := n.jobs.get(id)
		ran, told := d.Ran[id]
		if !told {
			run, _ := n.State().Reason(id)
			ran = d.Now - run.At
		}
		n.ended(PastRun{job, ran}, false)
	}
	for _, id := range slices.Concat(d.Removed, d.StartFailed) {
		record.Ended(n.jobs.get(id).word(), id, true)
		record.Ended(n.jobs.get(id).ownWord(), id, true)
	}
	for _, run := range d.Taught {
		n.ended(run, true)
	}
	for word, longer := range record.Changed() {
		n.reviews.due[word.User] = n.reviews.due[word.User] || longer
	}
	n.reviews.broken, n.reviews.lifted = false, n.reviews.lifted[:0]
	for run := range n.State().Running() {
		if run.End > d.Now || n.reviews.broken || !n.predictions.guarantees {
			break
		}
		n.reviews.broken = !n.reported.Has(run.Job.ID) && record.Doubts(n.jobs.get(run.Job.ID).word())
	}
}

// ended takes a run that is over into the record. What a job without an estimate takes is no lie. A
// run of an unknown time may go on beside the plan and be told of again, unless its end is certain.
func (n *Negotiator) ended(run PastRun, certain bool) {
	switch record := n.predictions.record; {
	case run.Job.Estimate == 0:
	case run.Ran < 0:
		record.Ended(run.Job.word(), run.Job.ID, certain)
		record.Ended(run.Job.ownWord(), run.Job.ID, certain)
	default:
		place := n.placeOf(run)
		for word := range wordsOf(run.Job, place) {
			record.Over(word, run.Job.ID, place)
		}
		record.Ended(run.Job.ownWord(), run.Job.ID, true)
	}
}

// wordsOf iterates over whose word a place is. If the pool was said to end a job and plainly does not,
// the place was its user's own word, too.
func wordsOf(job *Job, place estimate.Place) iter.Seq[estimate.Word] {
	return func(yield func(estimate.Word) bool) {
		word := job.word()
		if yield(word) && word.Enforced && place.Taken > 2*place.Planned {
			yield(job.ownWord())
		}
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

// reconsider adds to the arrivals the waiting jobs of users whose words count otherwise than
// before.
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

// forgive takes back that promises were broken to jobs that run and started late by no more than the
// start slack. A job is often promised the very instant at which it may start, as its slot opens then or
// it is released; its cycle comes when the one before is over and the pool was looked at. Nor is a promise
// broken where several jobs were started at once of which limits that depend on the slot let in only some:
// nobody had told the others of a start.
func (n *Negotiator) forgive(d *Delta, decision *backfill.Decision) {
	decision.Broken = slices.DeleteFunc(slices.Clone(decision.Broken), func(b backfill.Broken) bool {
		late := b.Cause == backfill.CauseStartLate && b.Now-b.Promised <= n.predictions.slack && n.State().IsRunning(b.Job.ID)
		return late || b.Cause == backfill.CauseStartFailed && slices.Contains(d.Unadmitted, b.Job.ID)
	})
}

// reportLifted adds the promises of jobs that arrived anew to those that were broken, unless they
// are as they were.
func (n *Negotiator) reportLifted(d *backfill.Decision) {
	for _, before := range n.reviews.lifted {
		job := n.State().Job(before.job)
		now, _ := n.State().Reason(before.job)
		if now.Promised && now.Latest == before.latest {
			continue
		}
		d.Broken = append(slices.Clip(d.Broken), backfill.Broken{
			Job: job, Promised: before.latest, Now: max(now.Latest, now.At), Cause: backfill.CauseNotBelieved,
		})
	}
}

// yielding lists the first waiting jobs with reservations of users who are not believed: whom the
// run of one of them delays comes before the others.
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

// WhyStretched says why a job is planned with a longer run time than the one that it states; "" if
// it is not.
func (n *Negotiator) WhyStretched(id backfill.JobID) string {
	job := n.jobs.get(id)
	if job == nil || n.predictions.believed(job) {
		return ""
	}
	why := "only what HTCondor enforces counts"
	if n.predictions.record.Doubts(job.word()) {
		why = "the user's last jobs ran beyond their run times"
		if !job.enforced() {
			why += " (what HTCondor enforces would count: allowed_execute_duration)"
		}
	}
	return fmt.Sprintf("planned with a run time of %s, not the %s that it states: %s",
		inwords.Duration(float64(n.predictions.requested(job)), 0), inwords.Duration(float64(job.Estimate), 0), why)
}

// LearnedWords returns what was learned of users' words since the last call, for the record of the
// next negotiator.
func (n *Negotiator) LearnedWords() []estimate.SavedWord { return n.predictions.record.Unsaved() }
