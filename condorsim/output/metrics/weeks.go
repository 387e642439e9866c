package metrics

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Week has the sums over the jobs that were submitted in one week.
type Week struct {
	// Week counts from the first submission; the first week is 0. Weeks without jobs are left out.
	Week int64 `json:"week"`
	Jobs int64 `json:"jobs"`

	Wait            float64 `json:"wait"`
	Uwait           float64 `json:"uwait"`
	Response        float64 `json:"response"`
	Slowdown        float64 `json:"slowdown"`
	BoundedSlowdown float64 `json:"bounded_slowdown"`
}

// Weeks are the weeks of a schedule, in their order. They say how far its means are due to chance.
type Weeks []Week

// ComputeWeeks sums up the jobs of each week, which must be as for [Compute], with the usual bound
// of slowdowns.
func ComputeWeeks(jobs []Job) Weeks {
	const week = 7 * 24 * 3600
	var all Weeks
	for i := range jobs {
		j := &jobs[i]
		at := (j.Submit - jobs[0].Submit) / week
		if len(all) == 0 || all[len(all)-1].Week != at {
			all = append(all, Week{Week: at})
		}
		all[len(all)-1].add(Week{
			Jobs: 1, Wait: j.wait(), Uwait: j.uwait(), Response: j.response(), Slowdown: j.slowdown(),
			BoundedSlowdown: j.boundedSlowdown(DefaultBound),
		})
	}
	return all
}

func (w *Week) add(other Week) {
	w.Jobs += other.Jobs
	w.Wait += other.Wait
	w.Uwait += other.Uwait
	w.Response += other.Response
	w.Slowdown += other.Slowdown
	w.BoundedSlowdown += other.BoundedSlowdown
}

// sum returns the sum that a mean is computed from, and whether there is one.
func (w *Week) sum(mean string) (float64, bool) {
	switch mean {
	case "mean_wait":
		return w.Wait, true
	case "mean_uwait":
		return w.Uwait, true
	case "mean_response":
		return w.Response, true
	case "mean_slowdown":
		return w.Slowdown, true
	case "mean_bounded_slowdown":
		return w.BoundedSlowdown, true
	default:
		return 0, false
	}
}

// Pooled adds up the weeks of several schedules, each week with those of the same number.
func Pooled(schedules ...Weeks) Weeks {
	all := slices.Concat(schedules...)
	slices.SortStableFunc(all, func(a, b Week) int { return cmp.Compare(a.Week, b.Week) })
	var pooled Weeks
	for _, w := range all {
		if n := len(pooled); n > 0 && pooled[n-1].Week == w.Week {
			pooled[n-1].add(w)
			continue
		}
		pooled = append(pooled, w)
	}
	return pooled
}

// The least number of batches that an interval is made of, and the greatest: with more, batches
// would be shorter and so depend more on each other, and the interval would hardly be narrower
// (Schmeiser, Batch size effects in the analysis of simulation output, Operations Research 1982).
const (
	minBatches = 4
	maxBatches = 30
)

// HalfWidth returns half the width of the 95 % interval of a mean by batch means, where a batch is
// one week or several that follow each other; false if there are fewer than 4 weeks, or if the
// weeks have no sums of it. The mean is named as in [Metrics].
func (w Weeks) HalfWidth(mean string) (float64, bool) {
	size := (len(w) + maxBatches - 1) / maxBatches
	var batches []batch
	for i := range w {
		sum, known := w[i].sum(mean)
		if !known {
			return 0, false
		}
		if i%size == 0 {
			batches = append(batches, batch{})
		}
		last := &batches[len(batches)-1]
		last.sum += sum
		last.size += float64(w[i].Jobs)
	}
	return halfWidth(batches)
}

// HalfWidth returns half the width of the 95 % interval of the mean of independent values; false if
// they are fewer than 4.
func HalfWidth(values []float64) (float64, bool) {
	batches := make([]batch, len(values))
	for i, v := range values {
		batches[i] = batch{sum: v, size: 1}
	}
	return halfWidth(batches)
}

// batch is a part of the jobs.
type batch struct{ sum, size float64 }

// halfWidth returns half the width of the 95 % interval of the mean over all batches together: that
// of the ratio of two sums, as batches differ in size (Law, Simulation Modeling and Analysis,
// section 9.5.3: batch means, and ratios in the regenerative method). With k equal batches it is
// Student's t with k−1 degrees of freedom times the standard error of their means.
func halfWidth(batches []batch) (float64, bool) {
	k := float64(len(batches))
	if k < minBatches {
		return 0, false
	}
	var all batch
	for _, b := range batches {
		all.sum += b.sum
		all.size += b.size
	}
	if !(all.size > 0) { // damaged results may say so
		return 0, false
	}
	mean, squares := all.sum/all.size, 0.0
	for _, b := range batches {
		off := b.sum - mean*b.size
		squares += off * off
	}
	t := distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(0.975)
	half := t * math.Sqrt(k/(k-1)*squares) / all.size
	return half, !math.IsNaN(half) && !math.IsInf(half, 0)
}
