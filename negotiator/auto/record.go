package auto

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// record knows who arrived lately and how long each job ran or is taken to run.
type record struct {
	window  backfill.Time // for how long arrivals are remembered
	most    int           // how many are remembered at most
	past    *estimate.Set // predicts run times, apart from the estimators that jobs are planned with
	known   map[backfill.JobID]*arrived
	whose   func(backfill.JobID) string // says who a job's user is; nil: it does not matter
	arrived []*arrived                  // of the window, in the order in which they came
	period  *period                     // to be played once it is over; nil: there is none
	crowded bool                        // none begins, and that was told
}

// arrived is a job that waits, runs or is in the window.
type arrived struct {
	negotiator.Expected
	runs  backfill.Time // for how long it ran, or is taken to
	began backfill.Time // since when it runs; below 0: it does not
	ended bool
	user  string // where it matters
}

// remembered is how many completed jobs the predictions rest on.
const remembered = 50_000

func newRecord(window backfill.Time, most int) (*record, error) {
	past, err := estimate.New(estimate.Settings{All: "combined"}, estimate.NewHistory(remembered), false, false, nil)
	return &record{window: window, most: most, past: past, known: map[backfill.JobID]*arrived{}}, err
}

// restart forgets all jobs, whose IDs others may have from now on.
func (r *record) restart() {
	r.known, r.arrived, r.period, r.crowded = map[backfill.JobID]*arrived{}, nil, nil, false
}

// begin takes in what there was before the first cycle that is reported: the jobs of the pool and, unless
// the record has runs of its own, how long former ones ran.
func (r *record) begin(report *negotiator.Report) {
	if r.past.History().Len() == 0 {
		for ended := range report.Negotiator().Learned() {
			r.past.Learn(ended)
		}
	}
	for _, j := range report.State.FirstWaiting(report.State.Waiting()) {
		r.take(report, j.ID)
	}
	for run := range report.State.Running() {
		if a := r.take(report, run.Job.ID); a != nil {
			a.began = run.Start
		}
	}
}

// see takes in what a cycle reports.
func (r *record) see(report *negotiator.Report) {
	d := &report.Delta
	r.seeGone(report)
	for _, j := range d.Submitted {
		if a := r.take(report, j.ID); a != nil {
			r.period.come(a, d.Now)
			if r.window > 0 {
				r.arrived = append(r.arrived, a)
			}
		}
	}
	for _, j := range d.Changed {
		r.take(report, j.ID)
	}
	for _, run := range d.Found {
		if a := r.take(report, run.Job.ID); a != nil {
			a.began = run.Start
		}
	}
	for i := range report.Decision.Started {
		if a := r.known[report.Decision.Started[i].Job.ID]; a != nil {
			a.began = d.Now
		}
	}
	r.forgetOld(d.Now)
}

// seeGone takes in who ended, left, or lost its place.
func (r *record) seeGone(report *negotiator.Report) {
	d := &report.Delta
	for _, id := range d.Completed {
		a := r.known[id]
		if delete(r.known, id); a == nil {
			continue
		}
		ran, said := d.Ran[id]
		if !said && a.began >= 0 {
			ran, said = d.Now-a.began, true
		}
		if said && ran >= 0 {
			a.runs, a.ended = max(1, ran), true
			r.past.Learn(estimate.Ended{Job: a.describe(), Ran: ran, At: d.Now})
		} else {
			a.leave(d.Now)
		}
	}
	for _, id := range d.Removed {
		if a := r.known[id]; a != nil {
			a.leave(d.Now)
			delete(r.known, id)
		}
	}
	for _, id := range d.StartFailed {
		if a := r.known[id]; a != nil {
			a.began = -1
		}
	}
	if len(d.SlotsDown) > 0 {
		r.noteLost(report)
	}
}

// forgetOld forgets who came before the window, and the first of those that are too many.
func (r *record) forgetOld(now backfill.Time) {
	old := 0
	for old < len(r.arrived) && (len(r.arrived)-old > r.most || r.arrived[old].Job.Submit <= now-r.window) {
		old++
	}
	clear(r.arrived[:old])
	r.arrived = r.arrived[old:]
}

// leave notes that a job is gone which did not run to its end: what it took is what it ran so far.
func (a *arrived) leave(now backfill.Time) {
	if a.began >= 0 {
		a.runs, a.ended = max(1, now-a.began), true
	}
}

// noteLost notes which jobs do not run any more, as they lost their slots.
func (r *record) noteLost(report *negotiator.Report) {
	for id, a := range r.known {
		if !report.State.IsRunning(id) {
			a.began = -1
		}
	}
}

// take notes a job as it is after a cycle; nil if it is gone.
func (r *record) take(report *negotiator.Report, id backfill.JobID) *arrived {
	e, ok := report.Expect(id)
	if !ok {
		delete(r.known, id)
		return nil
	}
	a := r.known[id]
	if a == nil {
		if a = (&arrived{began: -1}); r.whose != nil {
			a.user = r.whose(id)
		}
		r.known[id] = a
	}
	a.Expected = e
	asked := a.describe()
	a.runs = r.past.Estimate(&asked, report.Delta.Now).Order
	return a
}

// draw returns a run time drawn from what is known of past jobs like this one, given that it has run
// until now. It is the same draw in every play: what a prediction, one number, does not show is that some
// of those who request a day end at once, and have waited in vain.
func (a *arrived) draw(past *estimate.Records, now backfill.Time) backfill.Time {
	asked := a.describe()
	asked.Cpus = 0 // by request, user and project, as the default portfolio was measured
	spread := past.Spread(&asked)
	if spread.Empty() {
		return a.runs
	}
	so := backfill.Time(0)
	if a.began >= 0 {
		so = now - a.began
	}
	return min(a.Requested, spread.Draw(scattered(uint64(a.Ad.ID)), a.Requested, so))
}

// scattered maps consecutive numbers to such as are evenly spread over all, and apart from each other.
// It is the finalizer of SplitMix64.
func scattered(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// describe returns the job in the form that estimators take.
func (a *arrived) describe() estimate.Job {
	return estimate.Job{
		Name: a.Ad.Name, Requested: a.Requested, Unestimated: a.Ad.Estimate == 0, Labels: a.Ad.Labels,
		Cpus: a.Job.Width(),
	}
}

// runTime returns how long a job is taken to run.
func (r *record) runTime(j *backfill.Job) backfill.Time {
	if a := r.known[j.ID]; a != nil {
		return a.runs
	}
	return j.Estimate
}

// work returns the cpu seconds that the waiting jobs are taken to need.
func (r *record) work(s *backfill.State) (sum float64) {
	for _, j := range s.FirstWaiting(s.Waiting()) {
		sum += float64(j.Width()) * float64(r.runTime(j))
	}
	return sum
}

// firstAgain is the ID of the first of the jobs that come again, above those of a pool.
const firstAgain backfill.JobID = 1 << 50

// future returns what is to be played: the schedule after a cycle, and the window's jobs again.
// They come at the intervals at which they came, beginning now.
func (r *record) future(report *negotiator.Report) Future {
	now := report.Delta.Now
	runs := make(map[backfill.JobID]backfill.Time, len(r.known)+len(r.arrived))
	past := r.past.Records()
	r.noteLost(report)
	for id, a := range r.known {
		runs[id] = a.draw(past, now)
	}
	f := Future{waiting: report.State.Waiting(), runs: runs, whose: r.users(r.known)}
	again := make([]negotiator.Expected, 0, len(r.arrived))
	var span backfill.Time
	if len(r.arrived) > 0 {
		span = min(r.window, now-r.arrived[0].Job.Submit+1)
	}
	for i, a := range r.arrived {
		j := *a.Job
		j.ID, j.Submit = firstAgain+backfill.JobID(i), j.Submit+span
		e := a.Expected
		e.Job = &j
		again, f.Arrivals = append(again, e), append(f.Arrivals, &j)
		if runs[j.ID] = a.runs; !a.ended {
			runs[j.ID] = a.draw(past, now)
		}
		if f.whose != nil {
			f.whose[j.ID] = a.user
		}
	}
	f.grain = grain(runs)
	f.Outlook = outlook.New(report.Negotiator()).Expecting(again)
	return f
}

// grain returns the multiples on which jobs end in plays: a small part of the mean run time.
func grain(runs map[backfill.JobID]backfill.Time) backfill.Time {
	const part = 32
	var all float64
	for _, t := range runs {
		all += float64(t)
	}
	return backfill.Time(all / float64(part*max(1, len(runs))))
}

// users returns whose jobs are; nil: it does not matter.
func (r *record) users(jobs map[backfill.JobID]*arrived) map[backfill.JobID]string {
	if r.whose == nil {
		return nil
	}
	all := make(map[backfill.JobID]string, len(jobs))
	for id, a := range jobs {
		all[id] = a.user
	}
	return all
}
