package condorsim

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// LearnFrom moves the first jobs of the workload to its history: the given share of all, from 0 to
// less than 1. They are not simulated. They count as started when they were submitted, and as ended
// when the first of the remaining jobs is submitted, if not before.
func (w *Workload) LearnFrom(share float64) {
	n := min(int(share*float64(len(w.Jobs))+1e-9), len(w.Jobs)-1) // the addition keeps 0.29 of 100 at 29
	if n <= 0 {
		return
	}
	first := w.Jobs[n].Submit
	ended := make([]estimate.Ended, n)
	w.Drops = slices.Clip(w.Drops) // other workloads of the trace share them
	for i, j := range w.Jobs[:n] {
		if id, err := strconv.ParseInt(j.Name, 10, 64); err == nil {
			w.Drops = append(w.Drops, workload.Drop{ID: id, Why: workload.WhyLearned})
		}
		ended[i] = estimate.Ended{Job: j.asked(), Ran: j.runs(), At: min(j.Submit+j.runs(), first)}
	}
	w.Jobs = w.Jobs[n:]
	for i, j := range w.Jobs {
		j.ID = backfill.JobID(i)
	}
	w.Cleaning.Learned += n
	w.countLeft()
	w.remember(ended, 0)
}

// countLeft counts what the cleaning says of the jobs that are left.
func (w *Workload) countLeft() {
	count := &w.Cleaning
	count.EstimateUnknown, count.EstimateRaised, count.Dependent, count.PrecedingAbsent = 0, 0, 0, 0
	count.SubmittedLater = 0
	there := w.predecessors()
	for _, j := range w.Jobs {
		switch j.Origin {
		case workload.Stated:
		case workload.Assumed:
			count.EstimateUnknown++
		case workload.Raised:
			count.EstimateRaised++
		}
		switch {
		case j.After != nil && there[j.After.Job]:
			count.Dependent++
			if j.After.Later {
				count.SubmittedLater++
			}
		case j.After != nil || j.Orphan:
			count.PrecedingAbsent++
		}
	}
	count.JobsLeft = len(w.Jobs)
}

// Remember adds jobs that ran under another clock to the history. It shifts their times so that the
// last of them ends when the first job of the workload is submitted.
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

// asked returns what estimators may know of a job.
func (j Job) asked() estimate.Job {
	requested, unestimated := j.requested()
	return estimate.Job{Name: j.Name, Requested: requested, Unestimated: unestimated, Labels: j.Labels, Cpus: j.Cpus}
}

// requested returns the run time that a job requests. If it requests none, the time is the default
// and unestimated is true.
func (j Job) requested() (t backfill.Time, unestimated bool) {
	return cmp.Or(j.Estimate, negotiator.DefaultEstimate), j.Estimate == 0
}

// Estimators returns estimators for a run of the workload, which have learned from its history; nil
// if the settings plan every job with its requested time. guarantees says that the policy gives
// guarantees; open opens the files that the settings name.
func (w *Workload) Estimators(s estimate.Settings, guarantees bool,
	open func(name string) (io.ReadCloser, error),
) (*estimate.Set, error) {
	set, err := w.set(s, guarantees, open)
	if err != nil || set.Requested() {
		return nil, err // nothing to predict
	}
	return set, nil
}

// Matches is [estimate.Set.Matches] for the jobs of the workload; the set may be nil.
func (w *Workload) Matches(set *estimate.Set) (warnings []string, err error) {
	if set == nil {
		return nil, nil
	}
	names := make([]string, len(w.Jobs))
	for i := range w.Jobs {
		names[i] = w.Jobs[i].Name
	}
	return set.Matches(names)
}

// unpacked returns what opens files that may be compressed.
func unpacked(open func(name string) (io.ReadCloser, error)) func(name string) (io.ReadCloser, error) {
	if open == nil {
		return nil
	}
	return func(name string) (io.ReadCloser, error) { return packed.Open(open, name) }
}

// set is Estimators, but never nil without an error.
func (w *Workload) set(s estimate.Settings, guarantees bool,
	open func(name string) (io.ReadCloser, error),
) (*estimate.Set, error) {
	h := estimate.NewHistory(len(w.History) + len(w.Jobs)) // no job is forgotten
	set, err := estimate.New(s, h, guarantees, true, unpacked(open))
	if err != nil {
		return nil, err
	}
	for _, e := range w.History {
		set.Learn(e)
	}
	return set, nil
}

// actual returns how long a job will really run: until its end or its limit; -1 if it is none of the
// workload's, such as one that is only asked about.
func (w *Workload) actual(id backfill.JobID) backfill.Time {
	if int64(id) >= int64(len(w.Jobs)) {
		return -1
	}
	return w.Jobs[id].runs()
}

// Predicted returns the run times that a started job was planned with.
func (r *Result) Predicted(id backfill.JobID) estimate.Uses {
	if r.Predictions != nil {
		return r.Predictions[id]
	}
	requested := r.Outcomes[id].Estimate
	return estimate.Uses{Order: requested, Backfill: requested, Running: requested}
}

// predictions measures how well the completed jobs' run times were predicted: once if the
// predictions for order, backfill and running jobs are the same, else for each of the three; nil
// without predictions. The accuracy is the smaller of predicted and actual run time over the larger
// (Tsafrir et al., 2007); the actual one counts as at least 1 s, as predictions do.
func (r *Result) predictions() (list metrics.Measures) {
	if r.Predictions == nil {
		return nil
	}
	uses := []struct {
		name, label string
		prediction  func(estimate.Uses) backfill.Time
	}{
		{"_order", " (order)", func(u estimate.Uses) backfill.Time { return u.Order }},
		{"_backfill", " (backfill)", func(u estimate.Uses) backfill.Time { return u.Backfill }},
		{"_running", " (running)", func(u estimate.Uses) backfill.Time { return u.Running }},
	}
	if !slices.ContainsFunc(r.Predictions,
		func(u estimate.Uses) bool { return u.Backfill != u.Order || u.Running != u.Order }) {
		uses = uses[:1]
		uses[0].name, uses[0].label = "", ""
	}
	for _, use := range uses {
		accuracy, overruns, off := r.quality(use.prediction)
		list = append(
			list,
			metrics.Measure{
				Name: "prediction_accuracy" + use.name, Label: "accuracy of predictions" + use.label,
				Unit: metrics.Share, Value: accuracy,
			},
			metrics.Measure{
				Name: "prediction_too_short" + use.name, Label: "predicted too short" + use.label,
				Unit: metrics.Share, Value: overruns,
			},
			metrics.Measure{
				Name: "prediction_error" + use.name, Label: "mean error of predictions" + use.label,
				Unit: metrics.Seconds, Value: off,
			},
		)
	}
	return list
}

// quality returns how good the predictions are that the function selects, over the completed jobs:
// their mean accuracy, the share of the jobs that ran longer than predicted, and their mean error.
func (r *Result) quality(prediction func(estimate.Uses) backfill.Time) (accuracy, overruns, off float64) {
	var n float64
	for i, o := range r.Outcomes {
		if !o.Ended || r.Workload.Jobs[i].Scavenger {
			continue
		}
		predicted, ran := prediction(r.Predictions[i]), max(1, o.End-o.Start)
		n++
		accuracy += float64(min(predicted, ran)) / float64(max(predicted, ran))
		if predicted < ran {
			overruns++
		}
		off += float64(max(predicted, ran) - min(predicted, ran))
	}
	n = max(n, 1)
	return accuracy / n, overruns / n, off / n
}
