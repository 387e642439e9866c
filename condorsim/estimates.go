package condorsim

import (
	"cmp"
	"io"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// LearnFrom takes the first share of the jobs, from 0 to less than 1, out of the
// workload and into its history. They count as started when they were submitted, and
// as ended before the first of the others comes: nothing is simulated of them.
func (w *Workload) LearnFrom(share float64) {
	n := min(int(share*float64(len(w.Jobs))+1e-9), len(w.Jobs)-1) // 0.29 of 100 are 29
	if n <= 0 {
		return
	}
	first := w.Jobs[n].Submit
	ended := make([]estimate.Ended, n)
	for i, j := range w.Jobs[:n] {
		ended[i] = estimate.Ended{Job: j.asked(), Ran: j.runs(), At: min(j.Submit+j.runs(), first)}
	}
	w.Jobs = w.Jobs[n:]
	for i, j := range w.Jobs {
		j.ID = backfill.JobID(i)
	}
	w.Cleaning.Learned += n
	w.Cleaning.JobsLeft -= n
	w.remember(ended, 0)
}

// Remember adds jobs of another clock to the history: the last of them counts as ended
// when the first job of the workload is submitted.
func (w *Workload) Remember(ended []estimate.Ended) {
	if len(ended) == 0 {
		return
	}
	w.remember(ended, w.Jobs[0].Submit-slices.MaxFunc(ended, byEnd).At)
}

func (w *Workload) remember(ended []estimate.Ended, later backfill.Time) {
	for _, e := range ended {
		e.At += later
		w.History = append(w.History, e)
	}
	slices.SortStableFunc(w.History, byEnd)
}

func byEnd(a, b estimate.Ended) int { return cmp.Compare(a.At, b.At) }

// asked is what estimators may know of a job.
func (j Job) asked() estimate.Job {
	requested, unestimated := j.requested()
	return estimate.Job{Name: j.Name, Requested: requested, Unestimated: unestimated, Labels: j.Labels}
}

// requested is the run time that a job asks for, or what is planned with where it
// asks for none.
func (j Job) requested() (t backfill.Time, unestimated bool) {
	return cmp.Or(j.Estimate, negotiator.DefaultEstimate), j.Estimate == 0
}

// Estimators makes estimators for a run of the workload under a policy that gives
// guarantees, or not; nil if jobs are planned with what they request. They know its
// history. Files are opened by open.
func (w *Workload) Estimators(s estimate.Settings, guarantees bool, open func(name string) (io.ReadCloser, error)) (*estimate.Set, error) {
	h := estimate.NewHistory(len(w.History) + len(w.Jobs)) // all are kept
	set, err := estimate.New(s, h, guarantees, true, open)
	if err != nil || set.Requested() {
		return nil, err // nothing needs to be learned
	}
	for _, e := range w.History {
		set.Learn(e)
	}
	return set, nil
}

// actual is for how long a job will run.
func (w *Workload) actual(id backfill.JobID) backfill.Time { return w.Jobs[id].runs() }
