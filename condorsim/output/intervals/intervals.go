// Package intervals says how far the mean of a measure, and the difference of two, is due to chance:
// half the width of the 95 % interval. It is apart from package metrics, which is in every negotiator, as the quantiles of
// Student's t come from a large library.
package intervals

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// The least number of batches that an interval is made of, and the greatest: with more, batches
// would be shorter and so depend more on each other, and the interval would hardly be narrower
// (Schmeiser, Batch size effects in the analysis of simulation output, Operations Research 1982).
const (
	minBatches = 4
	maxBatches = 30
)

// OfMean returns half the width of the 95 % interval of a mean by batch means, where a batch is
// one week or several that follow each other; false if there are fewer than 4 weeks, or if the
// weeks have no sums of it. The mean is named as in [metrics.Metrics].
func OfMean(weeks metrics.Weeks, mean string) (float64, bool) {
	together := batchSize(len(weeks))
	var batches []batch
	for i := range weeks {
		sum, size, known := weeks[i].Sum(mean)
		if !known {
			return 0, false
		}
		if i%together == 0 {
			batches = append(batches, batch{})
		}
		last := &batches[len(batches)-1]
		last.sum += sum
		last.size += size
	}
	return halfWidth(batches)
}

// OfValues returns half the width of the 95 % interval of the mean of independent values; false if
// they are fewer than 4.
func OfValues(values []float64) (float64, bool) {
	batches := make([]batch, len(values))
	for i, v := range values {
		batches[i] = batch{sum: v, size: 1}
	}
	return halfWidth(batches)
}

// batchSize is how many of so many weeks make a batch.
func batchSize(weeks int) int { return (weeks + maxBatches - 1) / maxBatches }

// batch is a part of the jobs.
type batch struct{ sum, size float64 }

// halfWidth returns half the width of the 95 % interval of the mean over all batches together: that
// of the ratio of two sums, as batches differ in size (Law, Simulation Modeling and Analysis,
// section 9.5.3: batch means, and ratios in the regenerative method). With k equal batches it is
// Student's t with k−1 degrees of freedom times the standard error of their means.
func halfWidth(batches []batch) (float64, bool) {
	var all batch
	for _, b := range batches {
		all.sum += b.sum
		all.size += b.size
	}
	if !(all.size > 0) { // damaged results may say so
		return 0, false
	}
	offs := make([]float64, len(batches))
	for i, b := range batches {
		offs[i] = all.off(b)
	}
	return halfOf(offs)
}

// off is by how much a batch moves the mean over all batches together off the mean that it has.
func (all batch) off(b batch) float64 { return (b.sum - all.sum/all.size*b.size) / all.size }

// halfOf returns half the width of the 95 % interval of a mean by how much each batch moves it; false
// if there are too few.
func halfOf(offs []float64) (float64, bool) {
	k := float64(len(offs))
	if k < minBatches {
		return 0, false
	}
	squares := 0.0
	for _, off := range offs {
		squares += off * off
	}
	t := distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(0.975)
	half := t * math.Sqrt(k/(k-1)*squares)
	return half, !math.IsNaN(half) && !math.IsInf(half, 0)
}
