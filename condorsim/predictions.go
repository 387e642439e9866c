package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
)

// Predicted are the run times that a job which started was planned with.
func (r *Result) Predicted(id backfill.JobID) estimate.Uses {
	if r.Predictions != nil {
		return r.Predictions[id]
	}
	requested := r.Outcomes[id].Estimate
	return estimate.Uses{Order: requested, Backfill: requested, Running: requested}
}

// predictions says how good the run times were that the jobs which ran were planned
// with: once if all uses had the same, else for each use. The accuracy is the smaller
// of predicted and actual run time over the larger (Tsafrir et al., 2007); the actual
// one counts as at least 1 s, as predictions do.
func (r *Result) predictions() (list metrics.Measures) {
	if r.Predictions == nil {
		return nil
	}
	uses := []struct {
		name, label string
		of          func(estimate.Uses) backfill.Time
	}{
		{"_order", " (order)", func(u estimate.Uses) backfill.Time { return u.Order }},
		{"_backfill", " (backfill)", func(u estimate.Uses) backfill.Time { return u.Backfill }},
		{"_running", " (running)", func(u estimate.Uses) backfill.Time { return u.Running }},
	}
	if !slices.ContainsFunc(r.Predictions, func(u estimate.Uses) bool { return u.Backfill != u.Order || u.Running != u.Order }) {
		uses = uses[:1]
		uses[0].name, uses[0].label = "", ""
	}
	for _, use := range uses {
		var n, accuracy, under, off float64
		for i, o := range r.Outcomes {
			if !o.Ended {
				continue
			}
			predicted, ran := use.of(r.Predictions[i]), max(1, o.End-o.Start)
			n++
			accuracy += float64(min(predicted, ran)) / float64(max(predicted, ran))
			if predicted < ran {
				under++
			}
			off += float64(max(predicted, ran) - min(predicted, ran))
		}
		n = max(n, 1)
		list = append(
			list,
			metrics.Measure{Name: "prediction_accuracy" + use.name, Label: "accuracy of predictions" + use.label, Unit: metrics.Share, Value: accuracy / n},
			metrics.Measure{Name: "prediction_too_short" + use.name, Label: "predicted too short" + use.label, Unit: metrics.Share, Value: under / n},
			metrics.Measure{Name: "prediction_error" + use.name, Label: "mean error of predictions" + use.label, Unit: metrics.Seconds, Value: off / n},
		)
	}
	return list
}
